"""A fix: what it is made of, where it fits, and when it is worn out."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.agent import AgentWork
from shared.domain.fitting import apply
from shared.domain.fix import MOST_TEXT, Fix, essence, learnt, wears_out
from shared.domain.pieces import exchange, pieces, rest, shape
from shared.domain.plan import Subtask, SubtaskKind, check_subtasks
from tests.unit.fixes.given import bundle, commands, failure, subtasks
from workers.fixes.signature import failure_of

CASES = Path(__file__).parents[2] / "cases" / "fixes"
SHAPES: list[list[str]] = yaml.safe_load((CASES / "shapes.yaml").read_text())
FITS: list[dict[str, Any]] = yaml.safe_load((CASES / "fits.yaml").read_text())

COMMANDS = st.lists(
    st.sampled_from(
        ["apt-get install -y nginx", "touch a", "./serve --port 80", "cat /srv/a/b", "true", "ls"]
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize(("command", "form"), SHAPES)
def test_the_normal_form_of_a_command(command: str, form: str) -> None:
    assert shape(command) == form


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_pieces_are_the_whole_text(text: str) -> None:
    listed = pieces(text)
    assert "".join(p.before + p.text for p in listed) + rest(text) == text
    assert exchange(text, {}) == text


@pytest.mark.parametrize("case", FITS, ids=lambda case: case["name"])
def test_where_a_fix_fits(case: dict[str, Any]) -> None:
    before = subtasks(*case["was"])
    told = failure(*case.get("failed", range(1, len(before) + 1)), hosts=["web1"])
    fix = learnt(before, subtasks(*case["then"]), told)
    assert (fix is None) == case.get("teaches_nothing", False)
    if fix is None:
        return
    here = subtasks(*case["here"])
    failing = failure(*case.get("failing", range(1, len(here) + 1)), hosts=["db2"])
    given = apply(fix, here, failing)
    assert commands(given) == case["gives"]
    if given is not None:
        check_subtasks(given)
        assert [subtask.ordinal for subtask in given] == list(range(1, len(given) + 1))


def test_nothing_is_learnt_from_commands_as_long_as_programs() -> None:
    long = "echo " + "x" * MOST_TEXT
    assert learnt(subtasks("./serve"), subtasks(long, "./serve"), failure(1)) is None
    assert failure_of(bundle({"command": "./serve"}, {"command": long})) is None
    assert failure_of(bundle({"command": "./serve"}, {"command": "true"})) is not None


def test_nothing_is_learnt_from_the_work_of_an_agent() -> None:
    """Neither from what failed nor from what was done in its place."""
    agent = Subtask(1, "a", "", "mend it", kind=SubtaskKind.AGENT, agent=AgentWork())
    assert learnt((agent,), subtasks("./serve"), failure(1)) is None
    assert learnt(subtasks("./serve"), (agent,), failure(1)) is None


def test_what_needs_the_step_that_failed_needs_the_end_of_its_fix() -> None:
    before = subtasks("./serve")
    fix = learnt(before, subtasks("./prepare", "./serve"), failure(1))
    assert fix is not None
    here = subtasks("touch a", {"command": "./serve", "key": "go"}, {"command": "./look"})
    fixed = apply(fix, here, failure(2))
    assert fixed is not None
    needs = {subtask.command: subtask.needs for subtask in fixed}
    by_key = {subtask.key: subtask.command for subtask in fixed}
    assert [by_key[key] for key in needs["./look"]] == ["./serve"]
    assert [by_key[key] for key in needs["./serve"]] == ["./prepare"]
    assert len(by_key) == 4  # keys that would stand twice are kept apart


@settings(max_examples=100, deadline=None)
@given(COMMANDS, COMMANDS, st.data())
def test_a_fix_gives_where_it_was_learnt_what_was_done_there(
    old: list[str], new: list[str], data: st.DataObject
) -> None:
    before, after = subtasks(*old), subtasks(*new)
    failed = data.draw(st.sets(st.sampled_from(range(1, len(old) + 1)), min_size=1))
    told = failure(*sorted(failed))
    fix = learnt(before, after, told)
    if fix is None:
        return
    assert set(map(essence, fix.replaced)) <= set(map(essence, before))
    again = apply(fix, before, told)
    assert again is not None
    # If the same commands appear twice, the fix may go into the first place that fits.
    if len(set(old)) == len(old):
        assert commands(again) == commands(after)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["nginx", "redis", "jq", "python3.11-venv", "postgresql-16"]), COMMANDS)
def test_nothing_of_a_step_is_lost_but_what_is_replaced(package: str, around: list[str]) -> None:
    install = f"apt-get install -y {package}"
    fix = Fix(
        subtasks("apt-get install -y vim"), subtasks("apt-get update", "apt-get install -y vim")
    )
    here = subtasks(*around, install)
    fixed = commands(apply(fix, here, failure(len(here))))
    assert fixed == [*around, "apt-get update", install]


@pytest.mark.parametrize(
    ("worked", "failed", "worn"),
    [
        *((0, 0, False), (0, 1, False), (0, 2, True), (1, 1, False), (1, 2, False), (1, 3, True)),
        *((2, 2, False), (2, 3, True), (9, 9, False), (9, 10, True), (5, 0, False)),
    ],
)
def test_when_a_fix_is_retired(worked: int, failed: int, worn: bool) -> None:
    assert wears_out(worked, failed) is worn
