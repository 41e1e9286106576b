"""What an agent did is an attempt as any other, and comes back from its row as it was."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from sqlalchemy import event

from orchestrator.coordinator import Coordinator
from orchestrator.views.attempts import attempt_view, list_attempts
from orchestrator.views.report import report
from orchestrator.views.task_lists import list_tasks
from orchestrator.views.tasks import task_view
from orchestrator.words.agents import describe_attempt, describe_result
from orchestrator.words.spending import summary_lines
from shared.domain.attempt import AgentResult, AgentStatus, Attempt, EndedBy
from shared.domain.config import Policy
from shared.domain.ids import Ref
from shared.domain.jobs import Job
from shared.domain.outcome import Outcome
from shared.domain.spending import AGENT
from shared.domain.target import RepositoryNotice
from shared.domain.transcript import RunnerOutput, Transcript, TranscriptKind, TranscriptLine
from shared.domain.workspace import LeftOut, Notice, Why, WorkspaceRemarks
from shared.store import attempts, model_calls
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from shared.store.model_calls import BegunCall, EndedCall
from tests.contract.store_under_test import SqlUnderTest, claim_pass
from tests.journeys.plans import plan, step

NOW = datetime.now(UTC)
RESULT = AgentResult(
    AgentStatus.PARTIAL,
    "two of three tests pass",
    NOW,
    NOW,
    changed_files=("a.py", "b.py"),
    tokens=1200,
    cost=Decimal("0.25"),
    session="s1",
    tree="4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    ended_by=EndedBy.TIMEOUT,
    left_over=("7(python)",),
)
ATTEMPT = Attempt(
    "R1-1-r0-1-p1-t0", 1, 1, 0, 1, 1, 0, 1, "mend it", Outcome.FAILED, NOW, NOW, result=RESULT
)


def test_an_agent_s_result_is_kept_whole(database: Database) -> None:
    """Its columns say how it ended, as a command's do; its body all the rest, as people see it."""
    store = SqlUnderTest(database)
    store.submit(("web1",), Policy(), plan(step(["mend it"])))
    Coordinator(store.ledger).drain()
    job = store.claim(store.waiting()[0])
    assert job is not None
    assert job.run_id is not None
    attempt = replace(ATTEMPT, run_id=job.run_id)
    with database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, attempt, True, "worker")])
        (found,) = attempts.of_step(connection, job.run_id, 1)
        view = attempt_view(connection, Ref(job.task_id, 1, 1))
    assert found == attempt
    assert (view.result, view.work) == (RESULT, None)


OUTPUT = RunnerOutput(
    Transcript((TranscriptLine(TranscriptKind.SAID, "I look."),), head=1),
    b'{"type":"said"}\n',
    b"",
)
REMARKS = WorkspaceRemarks(
    (Notice(RepositoryNotice.LFS),), (".env.test",), (LeftOut("big.bin", Why.LARGE_OR_UNREADABLE),)
)


@pytest.fixture
def job(database: Database) -> Job:
    """The pass of a step that agents carry out."""
    return claim_pass(database, "mend it")


def recorded(database: Database, job: Job, *made: Attempt) -> None:
    """Attempts of that pass in their rows."""
    assert job.run_id is not None
    with database.begin() as connection:
        attempts.record(
            connection,
            [
                AttemptWrite(job.claim, replace(each, run_id=job.run_id), True, "worker")
                for each in made
            ],
        )


def spend(database: Database, job: Job, attempt: str | None, cost: str) -> None:
    """A call to a model by a planner, or by the agent of an attempt; of 30 tokens."""
    role = "planner" if attempt is None else AGENT
    call = BegunCall(
        job.task_id,
        None if attempt is None else job.run_id,
        None if attempt is None else 1,
        0,
        None,
        role,
        role,
        "p",
        "opus",
        None,
        {},
        attempt_key=attempt,
    )
    ended = EndedCall(10, 5, 5, 10, Decimal(cost), 1.0, "end", None, None, "", "text")
    with database.begin() as connection:
        model_calls.end(connection, model_calls.begin(connection, call), ended)


def test_what_a_runner_wrote_is_read_again_beside_its_result(database: Database, job: Job) -> None:
    made = replace(ATTEMPT, result=replace(RESULT, output=OUTPUT, workspace=REMARKS))
    recorded(database, job, made)
    with database.begin() as connection:
        view = attempt_view(connection, Ref(job.task_id, 1, 1))
    assert (view.transcript, view.stdout) == (OUTPUT.transcript, '{"type":"said"}\n')
    assert view.result == replace(RESULT, workspace=REMARKS)
    assert view.attempt.said == "two of three tests pass"
    told = dict(describe_result(view.result, view.attempt.agent))
    assert ".env.test" in told["not there"]
    assert "big.bin: too large" in told["not kept"]
    assert told["status"] == "partial, ended by its time limit"


def test_costs_are_the_ledger_s_or_else_the_runner_s(database: Database, job: Job) -> None:
    """Planners and agents apart and together; what both have counted is counted once."""
    through = replace(ATTEMPT, result=replace(RESULT, runner="codex", version="0.169.0"))
    beside = replace(through, key="R1-1-r0-1-p1-t1", try_no=1, number=2)
    recorded(database, job, through, beside)
    spend(database, job, None, "0.02")
    spend(database, job, through.key, "0.01")
    spend(database, job, through.key, "0.03")
    with database.begin() as connection:
        view = task_view(connection, Ref(job.task_id))
        (listed,) = list_tasks(connection).tasks
        lines = list_attempts(connection, Ref(job.task_id)).attempts
    spent = view.spending
    assert (spent.planners.cost, spent.planners.tokens) == (0.02, 30)
    assert (spent.agents.cost, spent.agents.tokens) == (0.29, 1260)
    assert (spent.cost, spent.tokens, spent.reported) == (0.31, 1290, 0.25)
    assert [(str(each.ref), each.together.cost) for each in spent.steps] == [
        (f"T{job.task_id}.1@web1", 0.29)
    ]
    assert (listed.cost, listed.tokens) == (0.31, 1290)
    counted = [(each.agent.calls, each.agent.tokens, each.agent.cost) for each in view.agents]
    assert counted == [(2, 60, 0.04), (0, 1200, 0.25)]
    assert [line.agent for line in lines] == [each.agent for each in view.agents]
    told = "\n".join(summary_lines(spent))
    assert "agents: 2 calls, 1260 tokens, $0.2900" in told
    assert "$0.2500 of it are what agents report" in told
    first, second = map(describe_attempt, view.agents)
    assert first.startswith("codex 0.169.0, says partial, 2 calls, 60 tokens, $0.0400, 2 changed")
    assert "$0.2500 by its own count" in second
    assert "ended by its time limit, session s1, tree 4b825dc642cb" in second


def test_a_task_takes_as_many_statements_for_forty_agents_as_for_one(
    database: Database, job: Job
) -> None:
    def statements() -> int:
        seen: list[str] = []
        with database.begin() as connection:
            event.listen(connection, "before_cursor_execute", lambda *given: seen.append(given[2]))
            task_view(connection, Ref(job.task_id))
            list_tasks(connection)
            report(connection, Ref(job.task_id))
        return len(seen)

    recorded(database, job, ATTEMPT)
    one = statements()
    more = [replace(ATTEMPT, key=f"k{n}", try_no=n, number=n) for n in range(2, 41)]
    recorded(database, job, *more)
    for each in more:
        spend(database, job, each.key, "0.01")
    assert statements() == one
