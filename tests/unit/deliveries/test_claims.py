"""What the author of a delivery says about it, from the attempts of its pass."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.contracts.deliverables import validate_deliverables
from shared.domain.attempt import AgentResult, AgentStatus, Attempt
from shared.domain.errors import Rejected
from shared.domain.outcome import Outcome
from workers.agents.deliverable import DELIVERABLES
from workers.deliveries.claims import claim_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ISSUE = "L-000123"


def said(**changed: object) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "issue_id": ISSUE,
        "summary": ["It is mended."],
        "changed_files": ["a.py"],
        "how_to_verify": ["make test"],
        "risks": [],
    } | changed


def attempt(
    structured: dict[str, Any] | None, tree: str = "t1", files: tuple[str, ...] = ("a.py",)
) -> Attempt:
    result = AgentResult(
        AgentStatus.OK,
        "I mended it.",
        NOW,
        NOW,
        changed_files=files,
        tree=tree,
        structured=structured,
    )
    return Attempt(
        "key", 1, 1, 1, 1, 1, 0, 1, "Mend it.", Outcome.OK, NOW, NOW, result=result
    )  # fmt: skip


def claimed(*attempts: Attempt, tree: str = "t1", changed: tuple[str, ...] = ("a.py",)) -> Any:
    made = claim_of(
        ISSUE, attempts, tree=tree, changed=changed, title="Mend a.py", checks=("make test",)
    )
    assert made.issue_id == ISSUE
    return made.value


def test_what_an_agent_says_is_its_claim() -> None:
    assert claimed(attempt({DELIVERABLES: said()})) == said()


@pytest.mark.parametrize("structured", [None, {"status": "ok", "summary": "Done."}])
def test_for_a_runner_that_cannot_say_it_replan_does(structured: dict[str, Any] | None) -> None:
    value = claimed(attempt(structured), changed=("b.py", "a.py"))
    assert value == {
        "schema_version": 1,
        "issue_id": ISSUE,
        "summary": ["Mend a.py", "I mended it."],
        "changed_files": ["a.py", "b.py"],
        "how_to_verify": ["make test"],
        "risks": [],
        "composed": True,
    }
    found = validate_deliverables(value, issue_id=ISSUE, changed_files=["a.py", "b.py"])
    assert found.composed
    assert found.as_json() == value


def test_commands_alone_are_told_by_replan() -> None:
    made = claim_of(ISSUE, (), tree="t", changed=("a",), title=" ")
    found = validate_deliverables(made.value, issue_id=ISSUE, changed_files=("a",))
    assert (found.summary, found.composed) == ([ISSUE], True)


def test_an_agent_that_owes_deliverables_gets_none_from_replan() -> None:
    """S2.84: they are required of whoever can say them."""
    value = claimed(attempt({DELIVERABLES: None}))
    with pytest.raises(Rejected) as caught:
        validate_deliverables(value, issue_id=ISSUE, changed_files=["a.py"])
    assert caught.value.stage == "deliverables"


def test_what_a_failed_attempt_has_said_does_not_count() -> None:
    """S2.85: what was said of one work is not said of another."""
    failed = replace(attempt({DELIVERABLES: said()}), outcome=Outcome.CHECK_FAILED)
    assert claimed(failed)["composed"] is True
    undone = replace(attempt({DELIVERABLES: said()}), rollback=True)
    assert claimed(undone)["composed"] is True


def test_what_commands_changed_afterwards_is_added() -> None:
    """As a command does that writes a lock file: the agent could not name it."""
    first = attempt({DELIVERABLES: said(changed_files=["a.py", "tmp"])}, files=("a.py", "tmp"))
    value = claimed(first, tree="t2", changed=("a.py", "lock"))
    assert value["changed_files"] == ["a.py", "lock"]


def test_what_an_agent_got_wrong_stays_wrong() -> None:
    first = attempt({DELIVERABLES: said(changed_files=["b.py"])})
    assert claimed(first, tree="t2", changed=("a.py", "lock"))["changed_files"] == ["b.py", "lock"]


def test_all_agents_of_a_pass_have_their_say() -> None:
    first = attempt({DELIVERABLES: said(risks=["It is slow."], summary=["First."])})
    last = attempt({DELIVERABLES: said(changed_files=["a.py", "b.py"])}, files=("a.py", "b.py"))
    value = claimed(first, last, changed=("a.py", "b.py"))
    assert value == said(
        summary=["First.", "It is mended."],
        changed_files=["a.py", "b.py"],
        risks=["It is slow."],
    )


@pytest.mark.parametrize("wrong", [3, "text", [], {"summary": 3, "changed_files": "a"}])
def test_whatever_an_agent_says_is_taken_as_it_is(wrong: object) -> None:
    value = claimed(attempt({DELIVERABLES: said()}), attempt({DELIVERABLES: wrong}), tree="t2")
    with pytest.raises(Rejected):
        validate_deliverables(value, issue_id=ISSUE, changed_files=["a.py"])
