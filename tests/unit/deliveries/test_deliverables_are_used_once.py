"""S2.1: what was said about one piece of work must not be taken for what is said of another.

The naive form keeps it in a file in the workspace, which outlives attempts and is copied along.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from shared.contracts.deliverables import validate_deliverables
from shared.domain.errors import Rejected
from tests.unit.deliveries.test_claims import attempt
from workers.agents.deliverable import DELIVERABLES
from workers.deliveries.claims import claim_of

FIRST, SECOND = "L-000001", "L-000002"


def said(issue: str, *files: str) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "issue_id": issue,
        "summary": [f"What was done for {issue}."],
        "changed_files": list(files),
        "how_to_verify": ["make test"],
        "risks": [],
    }


def naive(workspace: Path) -> dict[str, Any]:
    """What a publisher takes for the deliverables of the work in a folder."""
    found: dict[str, Any] = json.loads((workspace / "deliverables.json").read_text())
    assert found["schema_version"] == 1
    assert found["summary"]
    return found


def test_a_file_is_taken_for_what_is_said_of_other_work(tmp_path: Path) -> None:
    """The naive form: the second attempt says nothing, and publishes what the first one said."""
    (tmp_path / "deliverables.json").write_text(json.dumps(said(FIRST, "a.py")))
    (tmp_path / "b.py").write_text("the work of the second attempt\n")
    assert naive(tmp_path)["issue_id"] == FIRST


def test_what_an_earlier_attempt_said_is_never_taken() -> None:
    """It lives in the answer of its attempt; a file of that name is a file like any other."""
    changed = ("b.py", "deliverables.json")
    made = claim_of(
        SECOND,
        [attempt(None, files=changed)],
        tree="t1",
        changed=changed,
        title="Do the second",
        checks=("make test",),
    )
    found = validate_deliverables(made.value, issue_id=SECOND, changed_files=changed)
    assert (found.issue_id, found.composed) == (SECOND, True)
    assert found.changed_files == ["b.py", "deliverables.json"]


@pytest.mark.parametrize(
    "copied", [said(FIRST, "b.py"), said(SECOND, "a.py"), {**said(SECOND, "b.py"), "summary": []}]
)
def test_what_an_agent_copies_is_refused(copied: dict[str, Any]) -> None:
    """Of another issue, about other files, or not valid."""
    answered = attempt({DELIVERABLES: copied}, files=("b.py",))
    made = claim_of(SECOND, [answered], tree="t1", changed=("b.py",), title="Do the second")
    with pytest.raises(Rejected) as refused:
        validate_deliverables(made.value, issue_id=SECOND, changed_files=("b.py",))
    assert refused.value.stage == "deliverables"
    assert refused.value.next_step is not None
