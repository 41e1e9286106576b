"""What any store must promise about commands that cancelled steps leave running."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from orchestrator.core.cleanup_rules import CLEANUP_TRIES
from orchestrator.core.state import StepState
from shared.domain.attempt import Attempt
from shared.domain.facts import CancelRequested, CleanupFinished, JobFailed
from shared.domain.jobs import Job, JobKind
from shared.domain.outcome import Outcome
from shared.domain.task import StepPhase, TaskPhase
from shared.store.database import Database
from tests.contract.store_under_test import LEASE, MemoryUnderTest, SqlUnderTest, StoreUnderTest
from tests.contract.test_store_attempts import LOST, attempt, claimed, settle


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[StoreUnderTest]:
    if request.param == "memory":
        yield MemoryUnderTest()
        return
    database = Database(request.getfixturevalue("database_url"))
    yield SqlUnderTest(database)
    database.close()


@pytest.mark.parametrize(
    "answers",
    [None, False, True],
    ids=["its lease ran out", "its pass was put off", "it let go of it"],
)
def test_what_a_cancelled_step_leaves_running_is_told(
    store: StoreUnderTest, *, answers: bool | None
) -> None:
    task_id, (job,) = claimed(store)
    store.record(job, attempt(job, Outcome.FAILED), ended=False)
    assert store.sweep() == 0
    if answers is False:
        assert store.finish(job, LOST)
        settle(store)
        assert store.sweep() == 0  # another worker is to drive it on
    store.send([(task_id, None, CancelRequested())])
    settle(store)
    if answers is None:
        assert store.sweep() == 0
        store.pass_time(LEASE + 1)
    if answers:
        assert not store.finish(job, LOST)
    assert store.sweep() == 1
    assert store.sweep() == 1  # nobody has read it yet
    settle(store)
    assert store.sweep() == 0
    assert store.events(task_id).count("CommandLeftRunning") == 1


def left_running(store: StoreUnderTest) -> tuple[int, Job, Attempt]:
    """A command of a cancelled step that runs on, and a worker that is to end it."""
    task_id, (job,) = claimed(store)
    running = attempt(job, Outcome.CANCELLED)
    store.record(job, running, ended=False)
    assert store.finish(job, LOST)
    settle(store)
    store.send([(task_id, None, CancelRequested())])
    settle(store)
    assert store.sweep() == 1
    settle(store)
    return task_id, taken(store), running


def taken(store: StoreUnderTest) -> Job:
    """The only clean-up that waits, in a worker's hands."""
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    assert (job.kind, job.step, job.pass_no, job.resumed) == (JobKind.CLEAN_UP, 1, 1, True)
    return job


def failure(job: Job) -> JobFailed:
    """A clean-up that failed."""
    return replace(LOST, kind=JobKind.CLEAN_UP, postponed=job.postponed)


def step_of(store: StoreUnderTest, task_id: int) -> StepState:
    """The first step of the only run."""
    (run,) = store.runs(task_id).values()
    return run.steps[1]


def test_a_worker_is_sent_to_end_what_a_cancelled_step_left_running(store: StoreUnderTest) -> None:
    task_id, job, running = left_running(store)
    assert store.waiting() == []
    assert store.sweep() == 0
    assert store.record(job, replace(running, reason="ended by TERM"))
    assert store.finish(job, CleanupFinished(1, 0, 1))
    settle(store)
    assert store.tried() == [("cancelled", "ended by TERM")]
    store.pass_time(3600)
    assert store.waiting() == []
    assert store.sweep() == 0
    assert (step_of(store, task_id).phase, step_of(store, task_id).cleanups) == (
        StepPhase.CANCELLED,
        0,
    )
    assert store.task(task_id).phase is TaskPhase.CANCELLED
    assert store.events(task_id)[-2:] == ["CommandLeftRunning", "CleanupFinished"]


def test_where_none_can_end_it_the_tries_get_rarer_and_it_is_called_unknown(
    store: StoreUnderTest,
) -> None:
    task_id, job, _ = left_running(store)
    for number in range(1, CLEANUP_TRIES + 1):
        assert store.finish(job, failure(job))
        settle(store)
        assert store.waiting() == []
        assert store.sweep() == 0
        if number < CLEANUP_TRIES:
            assert [outcome for outcome, _ in store.tried()] == ["running"]
            store.pass_time(2.0**number - 0.5)
            assert store.waiting() == []
            store.pass_time(1)
            job = taken(store)
    ((outcome, reason),) = store.tried()
    assert outcome == "unknown"
    assert "no worker could end it" in reason
    store.pass_time(3600)
    assert store.waiting() == []
    assert store.sweep() == 0
    assert step_of(store, task_id).cleanups == 0


def test_a_worker_that_vanishes_while_it_ends_something_is_followed_by_another(
    store: StoreUnderTest,
) -> None:
    _, first, running = left_running(store)
    store.pass_time(LEASE + 1)
    assert store.sweep() == 0
    second = taken(store)
    assert not store.record(first, replace(running, outcome=Outcome.OK))
    assert not store.finish(first, CleanupFinished(1, 0, 1))
    assert store.tried() == [("running", "")]
    assert store.finish(second, CleanupFinished(1, 0, 1))


def test_a_clean_up_is_not_withdrawn(store: StoreUnderTest) -> None:
    task_id, job, _ = left_running(store)
    (run_id,) = store.runs(task_id)
    store.send([(task_id, None, CancelRequested()), (task_id, run_id, CancelRequested())])
    settle(store)
    assert store.renew(job)


def test_a_worker_that_was_given_up_says_nothing_beside_the_clean_up(store: StoreUnderTest) -> None:
    """Its command is another's to end once a worker was sent: one of them has the last word."""
    task_id, (late,) = claimed(store)
    running = attempt(late, Outcome.CANCELLED)
    store.record(late, running, ended=False)
    store.send([(task_id, None, CancelRequested())])
    settle(store)
    store.pass_time(LEASE + 1)
    assert store.sweep() == 1
    settle(store)
    assert not store.record(late, replace(running, outcome=Outcome.OK))
    assert not store.renew(late)
    assert store.tried() == [("running", "")]
    job = taken(store)
    assert store.record(job, replace(running, reason="ended by KILL"))
    assert store.tried() == [("cancelled", "ended by KILL")]
