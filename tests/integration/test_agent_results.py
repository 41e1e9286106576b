"""What an agent did is an attempt as any other, and comes back from its row as it was."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from orchestrator.coordinator import Coordinator
from orchestrator.views.attempts import attempt_view
from shared.domain.attempt import AgentResult, AgentStatus, Attempt, EndedBy, Outcome
from shared.domain.config import Policy
from shared.domain.ids import Ref
from shared.store import attempts
from shared.store.attempts import AttemptWrite
from shared.store.database import Database
from tests.contract.store_under_test import SqlUnderTest
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
