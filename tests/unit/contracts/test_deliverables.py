"""The one validator of deliverables (S2.39-S2.46, S2.84)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.deliverables import (
    STAGE,
    Deliverables,
    compose_deliverables,
    validate_deliverables,
)
from shared.contracts.schemas import schema_of
from shared.domain.delivery import is_issue_id, issue_id
from shared.domain.errors import Rejected
from shared.domain.next_step import command_line

ISSUE = "L-000123"
FILES = ("a.py", "docs/b.md")


def value(**changed: object) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "issue_id": ISSUE,
        "summary": ["It is mended."],
        "changed_files": list(FILES),
        "how_to_verify": ["make test"],
        "risks": [],
    } | changed


def refused(given_: object, files: tuple[str, ...] = FILES) -> str:
    with pytest.raises(Rejected) as caught:
        validate_deliverables(given_, issue_id=ISSUE, changed_files=files)
    assert caught.value.stage == STAGE
    assert command_line(caught.value.next_step) == "replan schema show deliverables"
    return caught.value.reason


def without(name: str) -> dict[str, Any]:
    return {key: each for key, each in value().items() if key != name}


def test_valid_deliverables_are_what_was_said() -> None:
    found = validate_deliverables(value(), issue_id=ISSUE, changed_files=FILES)
    assert isinstance(found, Deliverables)
    assert found.as_json() == value()


def test_risks_may_be_left_out() -> None:
    """S2.45."""
    found = validate_deliverables(without("risks"), issue_id=ISSUE, changed_files=FILES)
    assert found.risks == []


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        (None, "without deliverables"),
        ("text", "is not a mapping"),
        ([], "is not a mapping"),
        (value(schema_version=2), "schema_version"),
        (value(schema_version=True), "schema_version"),
        (without("schema_version"), "schema_version: is missing"),
        (value(issue_id="L-123"), "issue_id"),
        (value(issue_id="l-000123"), "issue_id"),
        (value(issue_id="L-000123\n"), "issue_id"),
        (value(issue_id="L-\u0661\u0662\u0663\u0664\u0665\u0666"), "issue_id"),
        (value(issue_id="L-000124"), "another issue: L-000124, not L-000123"),
        (value(summary=[]), "summary"),
        (value(summary="It is mended."), "summary"),
        (value(summary=[" "]), "summary"),
        (value(summary=[3]), "summary"),
        (value(how_to_verify=[]), "how_to_verify"),
        (value(changed_files=[]), "changed_files"),
        (value(risks=["\0"]), "risks"),
        (value(more=1), "more"),
        (value(changed_files=["a.py"]), "'docs/b.md' were changed and are missing"),
        (value(changed_files=[*FILES, "c.py"]), "'c.py' were not changed"),
        (value(changed_files=["./a.py", "docs/b.md"]), "'./a.py' were not changed"),
        (value(changed_files=[*FILES, "a.py"]), "'a.py' are named twice"),
    ],
)
def test_what_is_not_valid_is_refused(given_: object, told: str) -> None:
    """S2.1, S2.46: the reason says what is wrong."""
    assert told in refused(given_)


def test_many_wrong_files_are_counted() -> None:
    many = tuple(f"{number}.py" for number in range(50))
    assert "and 40 more were changed and are missing" in refused(value(), (*FILES, *many))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*value(), "x"]), inner),
    )
)
def test_nothing_else_is_valid(any_: object) -> None:
    refused(any_)


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
    st.sets(st.text("abc/.", min_size=1), min_size=1),
)
def test_composed_deliverables_are_valid(texts: list[str], files: set[str]) -> None:
    made = compose_deliverables(
        issue_id=ISSUE, summary=["x", *texts], changed_files=files, how_to_verify=["y", *texts]
    )
    found = validate_deliverables(made, issue_id=ISSUE, changed_files=files)
    assert json.loads(json.dumps(found.as_json())) == made


@given(st.integers(1, 10_000), st.integers(1, 999), st.text())
def test_every_step_has_an_issue_id(task: int, step: int, key: str) -> None:
    """S2.41."""
    assert is_issue_id(issue_id(task, step, key))


def test_the_schema_has_exactly_the_fields_of_the_contract() -> None:
    found = schema_of("deliverables")
    assert set(found["required"]) == set(value()) - {"risks"}
    assert found["additionalProperties"] is False
