"""Inputs of planners that may plan with agents: what is offered, and a step that has failed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from shared.domain.agent import AgentWork, ExecutionMode, RunnerChoice, StuckStrategy, Watchdog
from shared.domain.attempt import AgentResult, AgentStatus, Attempt, CommandResult, EndedBy
from shared.domain.author import Author, PlanningRole
from shared.domain.bundle import Bundle
from shared.domain.compliance import ProtocolRule, Severity, Violation
from shared.domain.config import Policy
from shared.domain.host import Host
from shared.domain.outcome import Outcome
from shared.domain.plan import Plan, Revision, Step, Subtask, SubtaskKind
from shared.domain.target import Repository
from workers.planning import AgentHistory, AgentOffer, PlanRequest, ReviseRequest
from workers.roles.escalation import compose
from workers.store import StepBrief, TaskBrief

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROMPT = "Make the parser of app read empty lines, and run the new version on web1"
CHECK = "pytest -q tests/test_empty.py"
APP = Repository(
    "app",
    "localhost",
    path="/srv/app",
    branch="main",
    setup="python3 -m venv .venv && .venv/bin/pip install -e .",
    checks=("pytest -q", "ruff check ."),
    runners=("claude-code", "codex"),
)
SITE = Repository("site", "web1", url="git@example.com:us/site.git")
HISTORY = (
    AgentHistory("claude-code", "app", 12, 10, 540.0, 81_234.0, 0.4213),
    AgentHistory("codex", "app", 3, 1, 42.0, 9_000.0, None),
)
OFFER = AgentOffer((APP, SITE), ("claude-code", "codex"), (), HISTORY, ("web1",))
IN_APP = AgentOffer((APP,), ("claude-code", "codex"), (), HISTORY, ("web1",))
PLAN_REQUEST = PlanRequest(
    PROMPT, ("web1: over SSH, account deploy",), Policy(), agents=OFFER, now="2026-01-01 12:00 UTC"
)

IN_PROJECT = AgentOffer((APP,), ("claude-code", "codex"), (), HISTORY[:1], ("app",))
PROJECT_REQUEST = PlanRequest(
    "The parser of app reads empty lines, and says so in its help",
    ("app: a git repository on the host localhost",),
    Policy(deliver=True, project=True),
    agents=IN_PROJECT,
    hosts=("localhost",),
    now="2026-01-01 12:00 UTC",
)

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
WORK = AgentWork(
    context=("src/parser.py",),
    acceptance=("No test is skipped or deleted.",),
    runners=(RunnerChoice("claude-code", 1), RunnerChoice("codex", 2)),
    mode=ExecutionMode.AUTONOMOUS,
    time_budget=1800.0,
    cost_budget=2.0,
    allowed_tools=("Read", "Edit"),
    watchdog=Watchdog(strategy=StuckStrategy.NEXT_RUNNER),
)
MEND = Subtask(
    1,
    "mend",
    "Mend the parser",
    "Make the parser read empty lines.",
    check=CHECK,
    timeout=1800.0,
    kind=SubtaskKind.AGENT,
    agent=WORK,
)
PARSER = Step(1, "parser", "Mend the parser", "Empty lines are read.", AUTHOR, repository="app")
RELEASE = Step(2, "release", "Run it on web1", "The new version runs.", AUTHOR, depends_on=(1,))


def _result(runner: str, minutes: int, **changes: object) -> AgentResult:
    given = AgentResult(
        AgentStatus.OK,
        "The parser reads empty lines now.",
        NOON,
        NOON + timedelta(minutes=minutes),
        changed_files=("src/parser.py",),
        tokens=52_000,
        cost=Decimal("0.31"),
        tree="1111111111111111111111111111111111111111",
        runner=runner,
        model="claude-sonnet-5-5",
        mode=ExecutionMode.AUTONOMOUS,
        time_budget=1800.0,
    )
    return replace(given, **changes)  # type: ignore[arg-type]


STUCK = _result(
    "codex",
    31,
    status=AgentStatus.TIMEOUT,
    summary="",
    changed_files=("src/parser.py", "tests/test_empty.py"),
    cost=None,
    tree="2222222222222222222222222222222222222222",
    model="",
    stuck=1,
    ended_by=EndedBy.TIMEOUT,
    violations=(Violation(ProtocolRule.TIME_BUDGET, Severity.WARNING, "Exceeded budget by 1 min"),),
)


def _attempt(number: int, outcome: Outcome, result: AgentResult, printed: bytes) -> Attempt:
    check = CommandResult(CHECK, 1, printed, b"", result.ended_at, result.ended_at)
    return Attempt(
        key=f"k{number}",
        run_id=7,
        step=1,
        revision=0,
        subtask=1,
        pass_no=1,
        try_no=number - 1,
        number=number,
        command=MEND.command,
        outcome=outcome,
        started_at=result.started_at,
        ended_at=result.ended_at,
        correction=None if number == 1 else "next_runner",
        reason="the check is red: exit code 1",
        result=result,
        check=check,
    )


ATTEMPTS = (
    _attempt(1, Outcome.CHECK_FAILED, _result("claude-code", 9), b"1 failed: test_blank_at_end\n"),
    _attempt(2, Outcome.TIMED_OUT, STUCK, b"2 failed\n"),
)
BRIEF = StepBrief(
    task=TaskBrief(7, PROMPT, None, Policy(), Plan((PARSER, RELEASE)), ("web1",)),
    run_id=7,
    target="web1",
    host=Host("localhost"),
    step=PARSER,
    author=AUTHOR,
    revisions=(Revision(1, 0, AUTHOR, (MEND,)),),
    attempts=ATTEMPTS,
    reason="All runners failed: 2 errors, the threshold is 2",
    plan=Plan((PARSER, RELEASE)),
    phases={1: "replanning", 2: "not_started"},
    repository=APP,
)


def exhausted() -> Bundle:
    """The bundle of a step whose runners have all failed."""
    return compose(BRIEF, {"disk": "/dev/sda1 20G 4G 16G"})


def revise_request(**changes: object) -> ReviseRequest:
    """The request to revise that step."""
    given = ReviseRequest(
        exhausted(),
        Policy(),
        PARSER,
        (MEND,),
        earlier=BRIEF.revisions,
        target="app: a git repository on the host localhost",
        host="localhost",
        acceptance=(CHECK,),
        agents=IN_APP,
    )
    return replace(given, **changes)  # type: ignore[arg-type]
