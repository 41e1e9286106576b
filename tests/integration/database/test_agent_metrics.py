"""The figures about agents come from the rows of their attempts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.coordinator import Coordinator
from orchestrator.views.agent_figures import metrics_line
from orchestrator.views.agent_metrics import agent_metrics
from orchestrator.views.repositories import repository_view
from orchestrator.words.agents import describe_suggestion
from shared.domain.agent import ExecutionMode
from shared.domain.attempt import AgentResult, AgentStatus, Attempt, CommandResult
from shared.domain.compliance import ProtocolRule, Severity, Violation
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.outcome import Outcome
from shared.domain.target import Repository
from shared.store import attempts, repositories
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from tests.contract.store_under_test import SqlUnderTest
from tests.journeys.plans import plan, step

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
GOOD = AgentResult(
    AgentStatus.OK,
    "done",
    NOON,
    NOON + timedelta(minutes=42),
    runner="claude-code",
    mode=ExecutionMode.AUTONOMOUS,
    time_budget=45 * 60,
)
ASKED = replace(
    GOOD,
    status=AgentStatus.ERROR,
    questions=2,
    stuck=1,
    violations=(Violation(ProtocolRule.NO_QUESTIONS_TO_USER, Severity.CRITICAL, "asked"),),
)
A_COMMAND = CommandResult("true", 0, b"", b"", NOON, NOON)
FIRST = Attempt("k1", 1, 1, 0, 1, 1, 0, 1, "mend it", Outcome.FAILED, NOON, NOON, result=ASKED)


def test_metrics_are_read_from_attempts(database: Database) -> None:
    """Two tries of an agent, and one of a command, which does not count."""
    store = SqlUnderTest(database)
    store.submit(("web1",), Policy(), plan(replace(step(["mend it", "true"]), key="db-schema")))
    Coordinator(store.ledger).drain()
    job = store.claim(store.waiting()[0])
    assert job is not None
    assert job.run_id is not None
    made = [
        FIRST,
        replace(FIRST, key="k2", try_no=1, number=2, outcome=Outcome.OK, result=GOOD),
        replace(FIRST, key="k3", subtask=2, outcome=Outcome.OK, result=A_COMMAND),
    ]
    writes = [
        AttemptWrite(job.claim, replace(each, run_id=job.run_id), True, "worker") for each in made
    ]
    with database.begin() as connection:
        attempts.record(connection, writes)
        found = agent_metrics(connection)
        with pytest.raises(Rejected, match="there is no task T999"):
            agent_metrics(connection, ref=Ref(999))
        assert agent_metrics(connection, ref=Ref(job.task_id), newest=1) == found
    assert [metrics_line(run) for run in found.runs] == [
        '{"task_id":"db-schema","runner":"claude-code","mode":"autonomous","asked_questions":2,'
        '"time_actual":42,"time_budget":45,"compliant":false}',
        '{"task_id":"db-schema","runner":"claude-code","mode":"autonomous","asked_questions":0,'
        '"time_actual":42,"time_budget":45,"compliant":true}',
    ]
    assert found.runs[0].place == f"T{job.task_id}.1.1@web1"
    figures = found.figures
    assert (figures.attempts, figures.tasks, figures.watchdog_triggers) == (2, 1, 1)
    assert (figures.compliance_rate, figures.retry_rate) == (0.0, 1.0)
    assert figures.effectiveness[0].rate == 0.5
    assert found.suggestions == ()


def test_s4_58_a_repository_tells_how_long_agents_need_there(database: Database) -> None:
    """Only what was done in it counts, and only from five attempts on."""
    store = SqlUnderTest(database)
    there = replace(step(["mend it"]), repository="app")
    store.submit(("web1",), Policy(), plan(there, step(["mend it"])))
    Coordinator(store.ledger).drain()
    job = store.claim(store.waiting()[0])
    assert job is not None
    assert job.run_id is not None
    made = [
        replace(FIRST, key=f"{at}-{n}", step=at, number=n, outcome=Outcome.OK, result=GOOD)
        for at, count in ((1, 5), (2, 9))
        for n in range(1, count + 1)
    ]
    with database.begin() as connection:
        repositories.save(connection, Repository("app", "localhost", path="/srv"), replace=False)
        writes = [
            AttemptWrite(job.claim, replace(each, run_id=job.run_id), True, "worker")
            for each in made
        ]
        attempts.record(connection, writes)
        found = repository_view(connection, "app")
    (suggestion,) = found.suggestions
    assert (suggestion.attempts, suggestion.seconds) == (5, 55 * 60)
    assert describe_suggestion(suggestion) == (
        "55 min for task by claude-code, from 5 attempts that succeeded"
    )
