"""The work of agents in words, for people and for planners."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from rich.console import Console

from orchestrator.acts.check_warnings import CheckFault, warnings_on_list
from orchestrator.cli.agent_text import show_goal
from orchestrator.views.approvals import approval_view
from orchestrator.words.agents import describe_result, describe_work
from orchestrator.words.approvals import describe
from shared.contracts.bundle import bundle_from_json, bundle_to_json
from shared.contracts.exchange import request_of
from shared.domain.agent import (
    AgentWork,
    ExecutionMode,
    RunnerChoice,
    StuckStrategy,
    Trigger,
    Watchdog,
)
from shared.domain.approval import ApprovalRequest, Subject, SubtaskPart, SubtaskPlace
from shared.domain.attempt import AgentResult, AgentStatus, Attempt
from shared.domain.author import Author, PlanningRole
from shared.domain.compliance import ProtocolRule, Severity, Violation
from shared.domain.config import Policy
from shared.domain.host import LOCALHOST
from shared.domain.outcome import Outcome
from shared.domain.plan import Step, Subtask, SubtaskKind
from shared.domain.question import Question
from shared.domain.spending import Cap, CapReached, Unpaid
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from tests.unit.passes.given import attempt
from tests.unit.planning.given import bundle
from workers.evidence.causes import failures
from workers.evidence.hypotheses import hypotheses
from workers.llm.evidence import evidence
from workers.roles.escalation import agent_entry
from workers.secrets import mask_attempt, mask_unpaid

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WORK = AgentWork(
    context=("a.py",),
    acceptance=("no test is skipped",),
    runners=(
        RunnerChoice("codex", 2, None, Trigger.ON_TIMEOUT),
        RunnerChoice("claude-code", 1, 2700.0),
    ),
    mode=ExecutionMode.AUTONOMOUS,
    time_budget=5400.0,
    allowed_tools=("Edit",),
    watchdog=Watchdog(strategy=StuckStrategy.NEXT_RUNNER, check_interval=30.0),
)
GOAL = Subtask(
    1, "1", "Mend", "mend the parser", timeout=5400.0, kind=SubtaskKind.AGENT, agent=WORK
)
RESULT = AgentResult(
    AgentStatus.PARTIAL,
    "two of three tests pass",
    NOON,
    NOON,
    changed_files=("a.py", "b.py"),
    tokens=1200,
    cost=Decimal("0.25"),
    runner="codex",
    version="0.169.0",
    question=Question("which hunter2?"),
    violations=(Violation(ProtocolRule.TIME_BUDGET, Severity.WARNING, "5 minutes"),),
)


def test_everything_that_was_asked_for_is_told() -> None:
    assert dict(describe_work(WORK)) == {
        "agent": "claude-code (at most 45 min), then codex if that takes too long",
        "limits": "90 min an attempt, must not ask a person",
        "tools": "Edit",
        "reads first": "a.py",
        "accepted when": "no test is skipped",
        "when stuck": "the next runner after 30 s",
    }
    assert dict(describe_work(AgentWork()))["agent"] == "any that the repository allows"


def test_a_plan_shows_the_goal_and_the_check_of_an_agent() -> None:
    console = Console(record=True, width=200)
    show_goal(console, replace(GOAL, command="mend\n  the [parser]", check="pytest -q"))
    show_goal(console, replace(GOAL, title="Again"))
    show_goal(console, Subtask(3, "3", "Look", "ls"))
    told = [line.rstrip() for line in console.export_text().splitlines()]
    assert told[:3] == [
        "  1. Mend (the work of an agent)",
        "     goal: mend the [parser]",
        "     agent: claude-code (at most 45 min), then codex if that takes too long",
    ]
    assert "     check: pytest -q" in told
    assert told[-1] == "     check: none, so it is done when the agent says so"


def test_what_came_of_it_is_told() -> None:
    told = dict(describe_result(RESULT))
    assert told["spent"] == "1200 tokens, $0.2500"
    assert told["changed"] == "2 files: a.py, b.py"
    assert told["violation"] == "TIME_BUDGET (warning): 5 minutes"
    nothing = replace(RESULT, changed_files=(), cost=None)
    assert dict(describe_result(nothing))["changed"] == "no file"
    assert "cost unknown" in dict(describe_result(nothing))["spent"]


def test_who_approves_a_goal_sees_all_that_is_signed() -> None:
    app = Repository("app", "localhost", path="/srv/app", branch="main")
    subject = Subject(
        7, SubtaskPlace(1, 0, 1), GOAL.command, LOCALHOST, "v1", repository=app, work=WORK
    )
    asked = ApprovalRequest(SubtaskPart.COMMAND, subject, "critical", "it is critical")
    told = dict(describe(approval_view(asked)))
    assert told["goal"] == "mend the parser"
    assert told["tools"] == "Edit"
    assert "in a workspace of app (/srv/app, branch main) on localhost" in told["where"]


def test_a_planner_reads_a_goal_as_a_goal() -> None:
    """In the evidence of its step, and in what was already tried."""
    given = bundle()
    (first, *_), (tried, *_) = given.subtasks, given.attempts
    given = replace(
        given,
        subtasks=(replace(first, command=GOAL.command, kind="agent", agent=WORK),),
        attempts=(replace(tried, command=GOAL.command, agent=agent_entry(RESULT)),),
    )
    text = evidence(given)
    for line in (
        "goal: mend the parser",
        "done by: claude-code, then codex",
        "must hold: no test is skipped",
        "done by the agent codex, which says partial; 1200 tokens, cost $0.25",
        "files that differ now: a.py, b.py",
    ):
        assert line in text
    assert f"$ {GOAL.command}" not in text
    assert bundle_from_json(bundle_to_json(given)) == given


def test_a_goal_names_nothing_on_the_host() -> None:
    """It is no command: what it says is not looked for."""
    failed = _failed()
    (failure,) = failures([failed])
    assert failure.commands == ()
    assert "had the agent codex work" in hypotheses([failed], {})[0]


def test_secrets_are_masked_in_all_that_an_agent_says() -> None:
    said = replace(RESULT, summary="hunter2", changed_files=("hunter2.txt",))
    masker = Masker([Secret("PW", "hunter2")])
    masked = mask_attempt(replace(_failed(), result=said), masker)
    assert "hunter2" not in repr(masked)


def test_secrets_are_masked_in_what_an_agent_could_not_pay() -> None:
    """An agent chooses the name of the model that it asks for."""
    nothing = Decimal(0)
    reached = CapReached(Cap.PRICE, nothing, nothing, nothing, "hunter2", "unknown: hunter2")
    masker = Masker([Secret("PW", "hunter2")])
    said = replace(RESULT, status=AgentStatus.ERROR, unpaid=reached)
    masked = mask_attempt(replace(_failed(), result=said), masker)
    assert "hunter2" not in repr(masked)
    assert "unknown: " in repr(masked)
    unpaid = mask_unpaid(Unpaid(1, reached), masker)
    assert unpaid is not None
    assert (unpaid.subtask, unpaid.reached.cap) == (1, Cap.PRICE)
    assert "hunter2" not in repr(unpaid)
    assert mask_unpaid(None, masker) is None


def test_an_agent_without_a_check_is_warned_of() -> None:
    (warning,) = warnings_on_list(1, (GOAL,))
    assert warning.fault is CheckFault.MISSING
    assert "it is done when the agent says so" in warning.note.reason
    assert warnings_on_list(1, (replace(GOAL, check="test -e a"),)) == ()


def test_a_request_has_the_work_of_its_agents() -> None:
    step = Step(1, "s", "Mend", "", Author(PlanningRole.HUMAN, "human"), subtasks=(GOAL,))
    request = request_of(step, step.subtasks, Policy(), ref="T1.1", corr_id="1", task="t")
    (entry,) = request.inputs["subtasks"]
    assert (entry["kind"], entry["agent"]["time_budget"]) == ("agent", 5400)


def _failed() -> Attempt:
    return replace(
        attempt(),
        command="rm /etc/nginx.conf",
        outcome=Outcome.CHECK_FAILED,
        result=RESULT,
        check=None,
    )
