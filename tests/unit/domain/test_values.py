"""The small tables of the domain: complete, and true to the requirements."""

import dataclasses
from datetime import UTC, datetime

import pytest

from shared.domain.attempt import Attempt, CommandResult
from shared.domain.author import PlanningRole
from shared.domain.bundle import REQUEST
from shared.domain.config import BACKENDS, LIMITS, TASKMASTERS, Policy
from shared.domain.errors import Defect, Misconfigured, Rejected, ReplanError, Transient
from shared.domain.host import LOCALHOST, ConnectionKind
from shared.domain.jobs import JobKind, QueueName, queue_of
from shared.domain.next_step import NextStep, command_line
from shared.domain.outcome import COUNTED, GREEN, Outcome
from shared.domain.task import (
    COARSE,
    ENDED_RUN,
    ENDED_STEP,
    ENDED_TASK,
    RunPhase,
    StepPhase,
    TaskPhase,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_what_counts_as_one_error() -> None:
    """X1, X3, X20: failed, red check, out of time, precondition unmet; nothing else."""
    assert {outcome.value for outcome in COUNTED} == {
        "failed",
        "check_failed",
        "timed_out",
        "precondition_unmet",
    }


def test_a_red_check_after_exit_code_0_is_an_error() -> None:
    """X20, S0.33: the exit code alone is not the verdict."""
    assert Outcome.CHECK_FAILED in COUNTED
    assert Outcome.CHECK_FAILED not in GREEN


def test_what_is_blocked_by_a_failed_need_is_not_counted() -> None:
    """X3: it is skipped, neither done nor an error."""
    assert Outcome.BLOCKED not in COUNTED | GREEN


def test_no_outcome_is_both_done_and_an_error() -> None:
    """And what is forbidden, unapproved or cancelled is neither."""
    assert not GREEN & COUNTED
    assert set(Outcome) - GREEN - COUNTED == {
        Outcome.DENIED,
        Outcome.NEEDS_APPROVAL,
        Outcome.BLOCKED,
        Outcome.CANCELLED,
        Outcome.UNKNOWN,
        Outcome.NEEDS_INPUT,
        Outcome.OVER_BUDGET,
    }


@pytest.mark.parametrize("outcome", Outcome)
def test_an_attempt_knows_whether_it_counts(outcome: Outcome) -> None:
    """X1: one failed attempt is one error."""
    attempt = Attempt("k", 1, 1, 0, 1, 1, 0, 1, "true", outcome, NOW, NOW)
    assert attempt.counted is (outcome in COUNTED)


@pytest.mark.parametrize(("exit_code", "ok"), [(0, True), (1, False), (None, False)])
def test_a_command_is_ok_only_when_it_ended_by_itself_with_0(
    exit_code: int | None, ok: bool
) -> None:
    """None stands for a command that was ended."""
    assert CommandResult("true", exit_code, b"", b"", NOW, NOW).ok is ok


def test_every_number_an_operator_may_set_has_limits_around_its_default() -> None:
    """A key without limits could be set to nonsense."""
    numeric = {
        field.name: field.default
        for field in dataclasses.fields(Policy)
        if type(field.default) in {int, float}
    }
    assert set(numeric) == set(LIMITS)
    for name, default in numeric.items():
        smallest, largest = LIMITS[name]
        assert isinstance(default, int | float)
        assert smallest <= default <= largest


def test_the_defaults_are_those_of_the_requirements() -> None:
    """S0.11, S0.12, S0.15, S1.23."""
    policy = Policy()
    assert policy.error_threshold_per_step == 4
    assert policy.max_retries_per_command == 2
    assert policy.human_escalation_threshold == 3
    assert policy.max_retry_count == 3


def test_the_backend_of_each_planning_role_is_one_that_can_answer() -> None:
    policy = Policy()
    assert policy.taskmaster in TASKMASTERS
    assert {policy.planner, policy.subtask_planner} <= set(BACKENDS)


def test_a_revision_goes_to_the_role_that_planned_the_step() -> None:
    """S0.47, D.7; every other kind of job has one queue."""
    assert queue_of(JobKind.REVISE, PlanningRole.PLANNER) is QueueName.PLANNING
    assert queue_of(JobKind.REVISE, PlanningRole.SUBTASK_PLANNER) is QueueName.SUBTASK_PLANNING
    assert queue_of(JobKind.REVISE, PlanningRole.HUMAN) is QueueName.SUBTASK_PLANNING
    assert queue_of(JobKind.REVISE) is QueueName.SUBTASK_PLANNING


@pytest.mark.parametrize(
    ("kind", "queue"),
    [
        (JobKind.REFINE, QueueName.TASKMASTER),
        (JobKind.PLAN, QueueName.PLANNING),
        (JobKind.DETAIL, QueueName.SUBTASK_PLANNING),
        (JobKind.EXECUTE, QueueName.EXECUTION),
        (JobKind.GATHER, QueueName.ESCALATION),
    ],
)
def test_each_kind_of_job_has_its_queue(kind: JobKind, queue: QueueName) -> None:
    """D.4, D.5: one worker kind a queue, whatever the role."""
    assert {queue_of(kind, role) for role in PlanningRole} == {queue}


def test_every_queue_gets_some_job() -> None:
    """No worker waits for ever."""
    reached = {queue_of(kind, role) for kind in JobKind for role in PlanningRole}
    assert reached == set(QueueName)


def test_every_phase_of_a_step_has_one_of_the_four_names() -> None:
    """S1.22; what has ended other than well is an error, what waits too."""
    assert set(COARSE) == set(StepPhase)
    assert set(COARSE.values()) == {"NotStarted", "Running", "Done", "Error"}
    done = [phase for phase, name in COARSE.items() if name == "Done"]
    assert done == [StepPhase.DONE, StepPhase.REPLACED]  # of which nothing is missing


def test_what_has_ended_has_the_same_names_everywhere() -> None:
    """A task ends as the worst of its runs did: each end of a run is an end of a task."""
    assert {phase.value for phase in ENDED_RUN} == {phase.value for phase in ENDED_TASK}
    assert set(map(str, ENDED_RUN)) < set(map(str, ENDED_STEP))
    assert RunPhase.WAITING not in ENDED_RUN
    assert TaskPhase.WAITING not in ENDED_TASK
    assert not {StepPhase.WAITING, StepPhase.BLOCKED} & ENDED_STEP


@pytest.mark.parametrize("family", [Transient, Rejected, Misconfigured, Defect])
def test_an_error_says_what_where_and_what_to_type(family: type[ReplanError]) -> None:
    """S2.10: stage, reason, next step."""
    error = family("it broke", stage="plan", next_step=NextStep.of("task list"))
    assert str(error) == "it broke"
    assert (error.reason, error.stage, command_line(error.next_step)) == (
        "it broke",
        "plan",
        "replan task list",
    )
    assert error.family == family.__name__.lower()


def test_a_defect_tells_what_led_to_it() -> None:
    """Oldest first, one line each."""
    error = Defect("it broke", stage="plan", story=("first", "then"))
    assert str(error) == "it broke; what led to it:\n  first\n  then"


def test_a_transient_error_may_say_when_to_come_back() -> None:
    """In seconds, when the other side named a span."""
    assert Transient("busy", stage="model", retry_after=30.0).retry_after == 30.0
    assert Transient("busy", stage="model").retry_after is None


def test_the_bundle_asks_what_it_must() -> None:
    """S0.70."""
    for word in ("Revise the step plan", "alternatives", "diagnostics", "recovery"):
        assert word in REQUEST


def test_the_machine_of_the_executor_needs_no_enrolment() -> None:
    """Localhost is reached without a key."""
    assert LOCALHOST.connection is ConnectionKind.LOCAL
    assert LOCALHOST.host_key is None
