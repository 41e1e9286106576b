"""What agents are asked to say about what they deliver, and where nobody asks."""

import json
from dataclasses import replace

import jsonschema
import pytest

from shared.contracts.deliverables import validate_deliverables
from shared.domain.agent import AgentWork
from shared.domain.attempt import AgentStatus
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.host import LOCALHOST
from shared.domain.plan import Step, Subtask, SubtaskKind
from shared.secrets.sent import as_sent
from workers.agents.assigning import Assigning
from workers.agents.deliverable import DELIVERABLES, schema
from workers.agents.events import RunnerEnded
from workers.agents.runners.mini_swe_agent import MiniReader
from workers.agents.runners.port import AgentOrder
from workers.agents.runners.table import find_runner
from workers.agents.task_text import Assignment
from workers.passes.means import Try
from workers.passes.ports import PassOrder

ISSUE = "L-000123"
BASE = "b" * 40
PLAIN = AgentOrder(Assignment("Mend it."), "/ws", "/home", "s", None)
DELIVERING = replace(PLAIN, assignment=Assignment("Mend it.", issue=ISSUE, base=BASE))
SAID = {
    "schema_version": 1,
    "issue_id": ISSUE,
    "summary": ["It is mended."],
    "changed_files": ["a.py"],
    "how_to_verify": ["make test"],
    "risks": [],
}
ANSWER = {"status": "ok", "summary": "Done.", "decisions": [], DELIVERABLES: SAID}


def test_where_nothing_is_delivered_nobody_asks() -> None:
    assert DELIVERABLES not in schema(interactive=False)["properties"]
    assert PLAIN.answer_schema == schema(interactive=False)
    assert PLAIN.task == str(PLAIN.assignment) == "Mend it."


def test_the_form_of_an_answer_asks_for_what_the_contract_wants() -> None:
    form = DELIVERING.answer_schema
    jsonschema.validate(ANSWER, form)
    assert validate_deliverables(SAID, issue_id=ISSUE, changed_files=["a.py"]).issue_id == ISSUE
    assert form["properties"][DELIVERABLES]["required"] == list(SAID)


def test_the_form_holds_deliverables_to_their_issue() -> None:
    """S2.1: what was copied from another issue does not fit it."""
    other = {**ANSWER, DELIVERABLES: {**SAID, "issue_id": "L-000124"}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(other, DELIVERING.answer_schema)


@pytest.mark.parametrize("name", ["claude-code", "codex", "acp", "command", "mini-swe-agent"])
def test_every_runner_is_asked(name: str) -> None:
    command = "tool" if name in {"acp", "command"} else None
    runner = find_runner(name, command)
    for order, asked in ((DELIVERING, True), (PLAIN, False)):
        made = runner.invocation(order)
        sent = json.dumps([*made.argv, made.stdin or "", *made.files.values()])
        assert ("how_to_verify" in sent) is asked
        assert (ISSUE in sent) is asked
        assert (BASE in sent) is asked


def test_a_submission_may_end_with_deliverables() -> None:
    reader = MiniReader()
    told = {
        "event": "ended",
        "exit_status": "Submitted",
        "submission": f"Done.\n{json.dumps(ANSWER)}",
    }
    reader.feed(json.dumps(told).encode() + b"\n")
    outcome = reader.outcome(0)
    assert outcome.structured is not None
    assert (outcome.status, outcome.structured[DELIVERABLES]) == (AgentStatus.OK, SAID)


def test_a_submission_may_be_text() -> None:
    told = {"event": "ended", "exit_status": "Submitted", "submission": "Done."}
    found = MiniReader().feed(json.dumps(told).encode() + b"\n")
    assert [(each.summary, each.structured) for each in found if isinstance(each, RunnerEnded)] == [
        ("Done.", None)
    ]


@pytest.mark.parametrize(
    ("deliver", "key", "issue"),
    [(True, "mend", "L-012003"), (True, "L-000777", "L-000777"), (False, "L-000777", None)],
)
def test_a_step_delivers_under_its_own_id_in_a_session(
    deliver: bool, key: str, issue: str | None
) -> None:
    work = Subtask(1, "1", "Mend", "Mend it.", kind=SubtaskKind.AGENT, agent=AgentWork())
    step = Step(3, key, "Mend", "Mend it.", Author(PlanningRole.PLANNER, "anthropic"))
    subtasks = (as_sent(work),)
    policy = Policy(deliver=deliver)
    order = PassOrder(7, "T12", LOCALHOST, step, subtasks, 1, 1, policy)
    task = Assigning(order, runner="codex").task(subtasks[0], Try("Mend it."))
    assert task.assignment.issue == issue
