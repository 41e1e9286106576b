"""What any store must promise the coordinator and the workers; fake and real alike."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.coordinator import Coordinator
from orchestrator.ports import Ledger, Unit
from shared.domain.author import Author, PlanningRole
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.facts import (
    BundleReady,
    CancelRequested,
    Fact,
    JobFailed,
    PassFinished,
    StepRevised,
)
from shared.domain.jobs import Job, JobKind
from shared.domain.plan import Plan, Step, Subtask
from shared.domain.task import RunPhase, StepPhase, TaskPhase
from shared.store.database import Database
from tests.contract.store_under_test import LEASE, MemoryUnderTest, SqlUnderTest, StoreUnderTest

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "runbook")
SUBTASKS = (Subtask(1, "a", "a", "true"),)
PLAN = Plan(
    (
        Step(1, "one", "One", "", AUTHOR, subtasks=SUBTASKS),
        Step(2, "two", "Two", "", AUTHOR, depends_on=(1,), subtasks=SUBTASKS),
    )
)


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    if request.param == "memory":
        yield MemoryUnderTest()
        return
    database = Database(request.getfixturevalue("database_url"))
    yield SqlUnderTest(database)
    database.close()


def submitted(store: StoreUnderTest, *targets: str, plan: Plan | None = PLAN) -> int:
    task_id = store.submit(targets or ("web1",), Policy(), plan)
    settle(store)
    return task_id


def settle(store: StoreUnderTest) -> int:
    return Coordinator(store.ledger).drain()


def work(store: StoreUnderTest, fact: Fact) -> Job:
    """Claim the only waiting job, end it with the fact, and let the coordinator decide."""
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    assert store.finish(job, fact)
    settle(store)
    return job


def finished(step: int, pass_no: int, ending: Ending, *, revision: int = 0) -> PassFinished:
    return PassFinished(step, revision, pass_no, ending, errors=4, reason="because")


def test_a_task_runs_through_its_steps(store: StoreUnderTest) -> None:
    task_id = submitted(store)
    work(store, finished(1, 1, Ending.DONE))
    work(store, finished(2, 1, Ending.DONE))
    assert store.task(task_id).phase is TaskPhase.DONE
    assert [run.phase for run in store.runs(task_id).values()] == [RunPhase.DONE]
    assert store.waiting() == []


def test_the_chain_from_threshold_to_revision(store: StoreUnderTest) -> None:
    """D.7: threshold -> bundle -> the author's queue -> next pass, each link a job."""
    task_id = submitted(store)
    kinds = [
        work(store, finished(1, 1, Ending.THRESHOLD)).kind,
        work(store, BundleReady(1, 0, 1, bundle_id=7)).kind,
        work(store, StepRevised(1, 1, AUTHOR, SUBTASKS, "another way")).kind,
        work(store, finished(1, 2, Ending.DONE, revision=1)).kind,
    ]
    assert kinds == [JobKind.EXECUTE, JobKind.GATHER, JobKind.REVISE, JobKind.EXECUTE]
    (run,) = store.runs(task_id).values()
    assert run.steps[1].phase is StepPhase.DONE
    assert (run.steps[1].revision, run.steps[1].errors) == (1, 4)


def test_one_commit_writes_state_event_and_outbox(store: StoreUnderTest) -> None:
    task_id = store.submit(["web1"], Policy(), PLAN)
    assert store.waiting() == []
    with pytest.raises(RuntimeError):
        Coordinator(_Breaking(store.ledger)).drain()
    assert store.waiting() == []
    assert store.events(task_id) == []
    assert store.task(task_id).phase is TaskPhase.SUBMITTED
    settle(store)
    assert len(store.waiting()) == 1
    assert store.events(task_id) == ["TaskSubmitted", "RunStarted", "RunChanged"]


def test_a_duplicate_leaves_no_trace(store: StoreUnderTest) -> None:
    task_id = submitted(store)
    (run_id,) = store.runs(task_id)
    work(store, finished(1, 1, Ending.DONE))
    before = store.events(task_id), store.runs(task_id), store.waiting()
    store.send([(task_id, run_id, finished(1, 1, Ending.DONE))])
    store.send([(task_id, run_id, finished(1, 1, Ending.THRESHOLD))])
    assert settle(store) == 2
    assert (store.events(task_id), store.runs(task_id), store.waiting()) == before


def test_a_job_is_claimed_once(store: StoreUnderTest) -> None:
    submitted(store)
    (job_id,) = store.waiting()
    assert store.claim(job_id) is not None
    assert store.claim(job_id) is None
    assert store.waiting() == []


def test_an_expired_lease_goes_to_another_and_the_late_one_is_refused(
    store: StoreUnderTest,
) -> None:
    task_id = submitted(store)
    (job_id,) = store.waiting()
    first = store.claim(job_id)
    assert first is not None
    store.pass_time(LEASE + 1)
    second = store.claim(job_id)
    assert second is not None
    assert second.fence > first.fence
    assert second.claims == 2
    assert not store.renew(first)
    assert not store.finish(first, finished(1, 1, Ending.THRESHOLD))
    assert store.finish(second, finished(1, 1, Ending.DONE))
    settle(store)
    (run,) = store.runs(task_id).values()
    assert run.steps[1].phase is StepPhase.DONE


def test_a_renewed_lease_keeps_the_job(store: StoreUnderTest) -> None:
    submitted(store)
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    store.pass_time(LEASE - 1)
    assert store.renew(job)
    store.pass_time(LEASE - 1)
    assert store.claim(job_id) is None


def test_a_job_put_off_is_not_due_before_its_time(store: StoreUnderTest) -> None:
    submitted(store)
    failed = JobFailed(
        JobKind.EXECUTE, 1, 0, 1, family="transient", stage="connect", reason="no route"
    )
    work(store, failed)
    assert store.waiting() == []
    store.pass_time(3600)
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    assert (job.pass_no, job.postponed) == (1, 1)


def test_cancelling_withdraws_the_job_of_a_worker_at_it(store: StoreUnderTest) -> None:
    task_id = submitted(store)
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    store.send([(task_id, None, CancelRequested())])
    settle(store)
    assert store.task(task_id).phase is TaskPhase.CANCELLED
    assert not store.renew(job)
    assert not store.finish(job, finished(1, 1, Ending.DONE))
    assert store.waiting() == []


def test_a_report_that_makes_no_sense_is_parked_and_stops_nothing(store: StoreUnderTest) -> None:
    """A run that is not there, and a fact about a run sent to a task."""
    task_id = store.submit(["web1"], Policy(), PLAN)
    store.send([(task_id, 10**6, finished(1, 1, Ending.DONE))])
    store.send([(task_id, None, finished(1, 1, Ending.DONE))])
    assert settle(store) == 3
    assert store.events(task_id).count("Defect") == 2
    assert store.interventions(task_id) == ["operator", "operator"]
    work(store, finished(1, 1, Ending.DONE))
    work(store, finished(2, 1, Ending.DONE))
    assert store.task(task_id).phase is TaskPhase.DONE


def test_interventions_open_and_close(store: StoreUnderTest) -> None:
    task_id = submitted(store)
    work(store, finished(1, 1, Ending.BLOCKED))
    assert store.interventions(task_id) == ["blocked"]
    assert store.task(task_id).phase is TaskPhase.WAITING
    (run_id,) = store.runs(task_id)
    store.send([(task_id, run_id, StepRevised(1, 1, AUTHOR, SUBTASKS))])
    settle(store)
    assert store.interventions(task_id) == []
    assert store.task(task_id).phase is TaskPhase.RUNNING


def test_many_targets_are_many_runs_of_one_plan(store: StoreUnderTest) -> None:
    task_id = submitted(store, "web1", "web2", "web3")
    assert len(store.waiting()) == 3
    for job_id in store.waiting():
        job = store.claim(job_id)
        assert job is not None
        store.finish(job, finished(1, 1, Ending.DONE))
    settle(store)
    for job_id in store.waiting():
        job = store.claim(job_id)
        assert job is not None
        store.finish(job, finished(2, 1, Ending.DONE))
    settle(store)
    assert store.task(task_id).phase is TaskPhase.DONE


def test_a_planned_task_is_what_was_drafted(store: StoreUnderTest) -> None:
    """What is stored comes back equal: the plan, the policy, the counters."""
    policy = Policy(error_threshold_per_step=2, forbidden_commands=("reboot", "naïve 'quoted'"))
    task_id = store.submit(["web1"], policy, PLAN)
    settle(store)
    assert store.task(task_id).plan == PLAN
    assert store.task(task_id).policy == policy


class _Breaking:
    """A ledger whose process dies after everything was decided and before the commit."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @contextmanager
    def open(self, limit: int) -> Iterator[Unit]:
        with self._ledger.open(limit) as unit:
            yield unit
            raise RuntimeError
