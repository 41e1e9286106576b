"""What is wrong with a plan file is told with line, path, value and what is allowed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.contracts.planfile import load_plan, load_revision
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.next_step import command_line

CASES = Path(__file__).parents[2] / "cases" / "contracts" / "plan_faults.yaml"


@dataclass(frozen=True)
class Case:
    """A text, and what has to be said about it."""

    name: str
    text: str
    says: tuple[str, ...]


def cases(kind: str) -> list[Any]:
    """The cases of one kind of document."""
    listed = yaml.safe_load(CASES.read_text(encoding="utf-8"))[kind]
    return [
        pytest.param(Case(case["name"], case["text"], tuple(case["says"])), id=case["name"])
        for case in listed
    ]


@pytest.mark.parametrize("case", cases("plans"))
def test_a_fault_in_a_plan_is_told(case: Case) -> None:
    with pytest.raises(Rejected) as raised:
        load_plan(case.text, policy=Policy(), source="site.yaml")
    error = raised.value
    assert error.reason.startswith("site.yaml: ")
    assert (error.stage, command_line(error.next_step)) == (
        "plan",
        "${EDITOR:-vi} site.yaml",
    )
    for words in case.says:
        assert words in error.reason


@pytest.mark.parametrize("case", cases("revisions"))
def test_a_fault_in_a_revision_is_told(case: Case) -> None:
    with pytest.raises(Rejected) as raised:
        load_revision(case.text, policy=Policy(), source="fix.yaml")
    error = raised.value
    assert error.reason.startswith("fix.yaml: ")
    assert error.stage == "revise"
    for words in case.says:
        assert words in error.reason


def test_many_faults_are_told_at_once_and_not_endlessly() -> None:
    listed = "\n".join("- {run: 'true', timeout: 0}" for _ in range(20))
    with pytest.raises(Rejected) as raised:
        load_revision(listed, policy=Policy())
    lines = raised.value.reason.splitlines()
    assert "20 faults" in lines[0]
    assert lines[1].strip().startswith("line 1: subtasks[0].timeout: 0 is not a timeout")
    assert lines[-1].strip() == "and 12 more"


def test_a_text_that_unfolds_into_a_huge_one_is_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(Rejected, match="more than 50000 values"):
        load_plan("\n".join(levels), policy=Policy())


def test_a_text_that_is_too_large_is_refused() -> None:
    with pytest.raises(Rejected, match="larger than"):
        load_plan("x" * 1_100_000, policy=Policy())


def test_a_text_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(Rejected, match="nested too deeply"):
        load_plan("[" * 5000 + "]" * 5000, policy=Policy())
