"""What any store must promise about single attempts: answers, and ends that are asked for."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.coordinator import Coordinator
from orchestrator.core.state import WaitsFor
from shared.domain.approval import Approval, ApprovalScope
from shared.domain.attempt import SAID, Answer, Attempt, CommandResult, EndedBy, Unknown
from shared.domain.author import Author, PlanningRole
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.facts import (
    AttemptCancelRequested,
    CancelRequested,
    CommandsApproved,
    Fact,
    JobFailed,
    OutcomeTold,
    PassFinished,
    ResumeRequested,
)
from shared.domain.ids import attempt_key
from shared.domain.jobs import Job, JobKind
from shared.domain.outcome import Outcome
from shared.domain.plan import Plan, Step, Subtask
from shared.domain.prediction import Prediction
from shared.domain.task import StepPhase, TaskPhase
from shared.store.database import Database
from tests.contract.store_under_test import LEASE, MemoryUnderTest, SqlUnderTest, StoreUnderTest

LOST = JobFailed(JobKind.EXECUTE, 1, 0, 1, family="transient", stage="s", reason="r")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "runbook")
SUBTASKS = (Subtask(1, "a", "a", "true"),)
PLAN = Plan(
    (
        Step(1, "one", "One", "", AUTHOR, subtasks=SUBTASKS),
        Step(2, "two", "Two", "", AUTHOR, subtasks=SUBTASKS),
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


def settle(store: StoreUnderTest) -> None:
    Coordinator(store.ledger).drain()


def claimed(store: StoreUnderTest, *, steps: int = 1) -> tuple[int, list[Job]]:
    """A task of that many steps, and the jobs of their first passes in a worker's hands."""
    task_id = store.submit(["web1"], Policy(), Plan(PLAN.steps[:steps]))
    settle(store)
    jobs = [store.claim(job_id) for job_id in store.waiting()]
    return task_id, [job for job in jobs if job is not None]


def attempt(job: Job, outcome: Outcome, reason: str = "", *, try_no: int = 0) -> Attempt:
    """An attempt of the only subtask of a job's step."""
    assert job.run_id is not None
    assert job.step is not None
    key = attempt_key(job.run_id, job.step, job.revision, 1, job.pass_no, try_no)
    place = (job.run_id, job.step, job.revision, 1, job.pass_no, try_no, try_no + 1)
    return Attempt(key, *place, "true", outcome, AT, AT, reason=reason)


def ends(store: StoreUnderTest, job: Job, ending: Ending) -> None:
    """A pass ends."""
    assert job.step is not None
    fact = PassFinished(job.step, job.revision, job.pass_no, ending, errors=0, reason="killed")
    assert store.finish(job, fact)
    settle(store)


def report(store: StoreUnderTest, job: Job, fact: Fact) -> None:
    """A fact about a job's run is reported, and the coordinator decides."""
    store.send([(job.task_id, job.run_id, fact)])
    settle(store)


def cancel(store: StoreUnderTest, job: Job, attempt: Attempt) -> None:
    """A person asks for the end of one attempt of a job, and the coordinator decides."""
    place = attempt.step, attempt.revision, attempt.pass_no, attempt.subtask, attempt.number
    report(store, job, AttemptCancelRequested(*place, attempt.key, "ann"))


@pytest.mark.parametrize("answer", Answer)
def test_an_answer_settles_the_last_unknown_attempt_of_its_pass(
    store: StoreUnderTest, answer: Answer
) -> None:
    task_id, (job,) = claimed(store)
    store.record(job, attempt(job, Outcome.UNKNOWN, "rebooted"))
    store.record(job, attempt(job, Outcome.UNKNOWN, "killed", try_no=1))
    ends(store, job, Ending.UNKNOWN)
    assert store.interventions(task_id) == ["unknown"]
    report(store, job, OutcomeTold(1, 0, 1, answer))
    said = SAID[answer]
    expected = ("ok", said) if answer is Answer.RAN else ("unknown", f"killed; {said}")
    assert store.tried() == [("unknown", "rebooted"), expected]
    assert store.interventions(task_id) == []
    (job_id,) = store.waiting()
    again = store.claim(job_id)
    assert again is not None
    assert (again.kind, again.pass_no) == (JobKind.EXECUTE, 2)


@pytest.mark.parametrize(
    "values",
    [
        {"ended_by": EndedBy.TIMEOUT},
        {"ended_by": EndedBy.CANCEL, "left_over": ("7(sleep)", "8(sh)")},
        {"ended_by": EndedBy.OPERATOR},
        {"unknown": Unknown.SHELL_KILLED},
        {"exit_code": 0},
    ],
)
def test_how_a_command_ended_is_read_back_as_it_was(
    store: StoreUnderTest, values: dict[str, Any]
) -> None:
    """Whatever its outcome and its reason say of it."""
    _, (job,) = claimed(store)
    result = replace(CommandResult("true", None, b"out\n", b"err\n", AT, AT), **values)
    store.record(job, replace(attempt(job, Outcome.OK, "any words"), result=result))
    (found,) = store.ended(job)
    assert found.result == result


def test_what_was_foretold_is_read_back_as_it_was(store: StoreUnderTest) -> None:
    _, (job,) = claimed(store)
    for try_no, prediction in enumerate(Prediction):
        foretold = attempt(job, Outcome.SIMULATED, "any words", try_no=try_no)
        store.record(job, replace(foretold, prediction=prediction))
    assert [each.prediction for each in store.ended(job)] == list(Prediction)
    assert store.ended(job)[1].explanation == "dry run: would run: any words"


def test_what_a_person_said_outlives_what_a_worker_says_late(store: StoreUnderTest) -> None:
    _, (job,) = claimed(store)
    unknown = attempt(job, Outcome.UNKNOWN, "killed")
    store.record(job, unknown)
    ends(store, job, Ending.UNKNOWN)
    report(store, job, OutcomeTold(1, 0, 1, Answer.NOT_RUN))
    store.record(job, unknown)
    (found,) = store.ended(job)
    assert (found.told_by_person, found.reason) == (Answer.NOT_RUN, "killed")


def test_a_person_s_word_is_written_down_once(store: StoreUnderTest) -> None:
    """With the fact that says it, in one commit; the same fact again grants nothing."""
    task_id, (job,) = claimed(store)
    ends(store, job, Ending.NEEDS_APPROVAL)
    assert store.interventions(task_id) == ["approval"]
    assert store.approvals(task_id) == []
    given = Approval("digest", ApprovalScope.ONCE, "ann", datetime(2026, 1, 1, tzinfo=UTC))
    for _ in range(2):
        report(store, job, CommandsApproved(1, 0, 1, 1, (given,)))
        assert store.approvals(task_id) == ["digest"]
    assert store.interventions(task_id) == []
    (run,) = store.runs(task_id).values()
    assert (run.steps[1].phase, run.steps[1].waits_for) == (StepPhase.READY, None)


def test_a_second_answer_changes_nothing(store: StoreUnderTest) -> None:
    task_id, (job,) = claimed(store)
    store.record(job, attempt(job, Outcome.UNKNOWN, "killed"))
    ends(store, job, Ending.UNKNOWN)
    report(store, job, OutcomeTold(1, 0, 1, Answer.RAN))
    before = store.tried(), store.events(task_id), store.waiting()
    report(store, job, OutcomeTold(1, 0, 1, Answer.AGAIN))
    assert (store.tried(), store.events(task_id), store.waiting()) == before


def test_a_resumption_leaves_open_what_waits_for_an_answer(store: StoreUnderTest) -> None:
    task_id, (first, second) = claimed(store, steps=2)
    store.record(first, attempt(first, Outcome.UNKNOWN, "killed"))
    ends(store, first, Ending.UNKNOWN)
    ends(store, second, Ending.NEEDS_APPROVAL)
    assert store.interventions(task_id) == ["unknown", "approval"]
    store.send([(task_id, None, ResumeRequested())])
    settle(store)
    assert store.interventions(task_id) == ["unknown"]
    (run,) = store.runs(task_id).values()
    assert (run.steps[1].phase, run.steps[2].phase) == (StepPhase.WAITING, StepPhase.READY)
    assert run.steps[1].waits_for is WaitsFor.OUTCOME


def test_the_end_of_one_attempt_is_asked_for_until_its_pass_is_over(
    store: StoreUnderTest,
) -> None:
    task_id, (job,) = claimed(store)
    running = attempt(job, Outcome.FAILED)
    cancel(store, job, running)
    store.record(job, running, ended=False)
    assert store.unwanted(job) is None  # it had not begun
    cancel(store, job, running)
    assert store.unwanted(job) == running.key
    assert store.events(task_id).count("AttemptCancelRequested") == 2
    store.pass_time(LEASE + 1)
    (job_id,) = store.waiting()
    another = store.claim(job_id)
    assert another is not None
    assert another.cancel_attempt == running.key
    failed = JobFailed(JobKind.EXECUTE, 1, 0, 1, family="transient", stage="s", reason="r")
    assert store.finish(another, failed)
    settle(store)
    store.pass_time(3600)
    (job_id,) = store.waiting()
    put_off = store.claim(job_id)
    assert put_off is not None
    assert put_off.cancel_attempt == running.key
    assert store.record(put_off, replace(running, reason="ended by an operator"))
    ends(store, put_off, Ending.BLOCKED)
    report(store, put_off, ResumeRequested())
    (job_id,) = store.waiting()
    following = store.claim(job_id)
    assert following is not None
    assert (following.pass_no, following.cancel_attempt) == (2, None)


def test_the_end_of_an_attempt_that_has_ended_is_not_asked_for(store: StoreUnderTest) -> None:
    _, (job,) = claimed(store)
    ended = attempt(job, Outcome.FAILED)
    store.record(job, ended)
    cancel(store, job, ended)
    assert store.unwanted(job) is None


def test_a_cancelled_worker_still_says_how_its_command_ended(store: StoreUnderTest) -> None:
    task_id, (job,) = claimed(store)
    running = attempt(job, Outcome.CANCELLED)
    store.record(job, running, ended=False)
    store.send([(task_id, None, CancelRequested())])
    settle(store)
    cancel(store, job, running)
    assert "AttemptCancelRequested" not in store.events(task_id)
    assert store.sweep() == 0  # its worker may still answer
    told = replace(running, reason="ended by TERM")
    assert not store.record(job, told)  # and learns that the job is no longer its own
    assert not store.finish(job, PassFinished(1, 0, 1, Ending.CANCELLED, 0))
    settle(store)
    assert store.tried() == [("cancelled", "ended by TERM")]
    assert store.sweep() == 0
    assert store.task(task_id).phase is TaskPhase.CANCELLED


def test_a_worker_that_lost_its_lease_before_the_cancellation_says_nothing(
    store: StoreUnderTest,
) -> None:
    task_id, (late,) = claimed(store)
    store.pass_time(LEASE + 1)
    (job_id,) = store.waiting()
    job = store.claim(job_id)
    assert job is not None
    store.send([(task_id, None, CancelRequested())])
    settle(store)
    store.record(late, attempt(late, Outcome.OK))
    assert store.tried() == []
