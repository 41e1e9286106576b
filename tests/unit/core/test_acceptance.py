"""How deliveries come to the head of their session, one after the other, or back to their authors.

Walks of a whole world of them are in `test_session_world`.
"""

import dataclasses

import pytest

from orchestrator.core.decisions import (
    Decision,
    Enqueue,
    Learn,
    OpenIntervention,
    SettleDelivery,
)
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.state import WaitsFor
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.delivery import DeliveryStatus, Judgement, Line, Rejection, Stage
from shared.domain.errors import Defect
from shared.domain.jobs import JobKind, LossSign
from shared.domain.plan import OnFailure, Recovery
from shared.domain.task import StepPhase
from tests.unit.core.deliveries import (
    CONFLICT,
    RED,
    Session,
    commit_of,
    session,
    shown_to_a_person,
)
from tests.unit.core.given import step, subtasks


def asked(decided: tuple[Decision, ...]) -> list[tuple[JobKind, int | None]]:
    """The jobs that were asked for."""
    return [(d.kind, d.step) for d in decided if isinstance(d, Enqueue)]


def settled(decided: tuple[Decision, ...]) -> list[tuple[int, DeliveryStatus]]:
    """What became of deliveries."""
    return [(d.step, d.status) for d in decided if isinstance(d, SettleDelivery)]


def three(**policy: object) -> Session:
    """Three steps have published, in the order of their numbers."""
    run = session(step(1), step(2), step(3), **policy)
    for ordinal in (1, 2, 3):
        run.publishes(ordinal)
    return run


def test_each_is_judged_behind_the_head_and_all_that_is_ahead_of_it() -> None:
    run = three(accept_at_once=2)
    first, second = (run.acceptance(n).published.delivery for n in (1, 2))
    assert run.acceptance(1).line == Line(None)
    assert run.acceptance(2).line == Line(None, (first,))
    assert run.acceptance(3).line is None, "only two are judged at once"
    assert asked(run.is_judged(1)) == [(JobKind.ACCEPT, 3)]
    assert run.state.head == commit_of(None, first)
    assert run.acceptance(2).line == Line(run.state.head)
    assert run.acceptance(3).line == Line(run.state.head, (second,))


def test_what_is_green_out_of_turn_waits_for_those_before_it() -> None:
    run = three()
    run.is_judged(3)
    run.is_judged(2)
    assert run.phases() == ["accepting"] * 3
    run.is_judged(1)
    assert run.phases() == ["accepted"] * 3
    assert [run.step(n).accepted_as for n in (1, 2, 3)] == [1, 2, 3]


def test_one_that_fails_drops_out_and_those_behind_it_are_judged_anew() -> None:
    run = three()
    run.is_judged(3)
    decided = run.is_judged(1, RED)
    assert settled(decided) == [(1, DeliveryStatus.REJECTED)]
    assert asked(decided) == [
        (JobKind.EXECUTE, 1),
        (JobKind.ACCEPT, 2),
        (JobKind.ACCEPT, 3),
    ]
    assert [run.acceptance(n).turn for n in (2, 3)] == [2, 2]
    run.is_judged(2)
    run.is_judged(3)
    assert [run.step(n).accepted_as for n in (2, 3)] == [1, 2]


def test_red_behind_what_drops_out_is_not_a_rejection() -> None:
    run = three()
    assert settled(run.is_judged(2, CONFLICT)) == []
    run.is_judged(1, RED)
    assert run.acceptance(2).judgement is None


def test_a_judgement_that_accepts_names_a_commit() -> None:
    """It would become the head."""
    with pytest.raises(Defect, match="names no commit"):
        Judgement(None, None)


def test_what_others_have_seen_is_accepted_as_it_was_judged_for_them() -> None:
    run = session()
    run.publishes(reviewed=True, allowed=True, why="it changes the hooks")
    assert asked(run.is_judged()) == [(JobKind.REVIEW, 1)]
    run.is_reviewed()
    assert run.step().waits_for is WaitsFor.ACCEPTANCE
    assert asked(run.is_allowed()) == [(JobKind.CHECKPOINT, None)]
    assert run.phase() is StepPhase.ACCEPTED


@pytest.mark.parametrize("allowed", [False, True], ids=["by trust", "for the hooks, too"])
def test_what_no_reviewer_can_judge_a_person_accepts_or_rejects(*, allowed: bool) -> None:
    """Nobody pays the same reviewers again, neither with their word nor with a resumption."""
    run = unreviewed(allowed=allowed)
    assert run.step().waits_for is WaitsFor.ACCEPTANCE
    assert run.step().reason.startswith("no usable answer")
    assert ("the hooks" in run.step().reason) is allowed
    assert run.acceptance().stage is Stage.ALLOWING
    assert run.tell(f.ResumeRequested()) == ()
    assert asked(run.is_allowed()) == [(JobKind.CHECKPOINT, None)]
    run = unreviewed(allowed=allowed)
    assert settled(run.is_rejected()) == [(1, DeliveryStatus.REJECTED)]
    assert run.phase() is StepPhase.READY


def test_what_keeps_reviewers_from_their_work_is_put_right_and_they_are_asked_again() -> None:
    run = session()
    run.publishes(reviewed=True)
    run.is_judged()
    run.job_fails(JobKind.REVIEW, "misconfigured")
    assert run.step().waits_for is WaitsFor.DECISION
    assert asked(run.tell(f.ResumeRequested())) == [(JobKind.REVIEW, 1)]


def unreviewed(*, allowed: bool) -> Session:
    """A session in which no reviewer has given an answer that can be used."""
    run = session()
    run.publishes(reviewed=True, allowed=allowed, why="it changes the hooks")
    run.is_judged()
    failed = run.job_failure(JobKind.REVIEW, "rejected")
    decided = run.tell(dataclasses.replace(failed, reason="no usable answer"))
    (opened,) = (each for each in decided if isinstance(each, OpenIntervention))
    assert opened.kind is InterventionKind.DELIVERY
    return run


def test_what_was_judged_for_a_reviewer_does_not_count_behind_others() -> None:
    """With a queue of one at once, it would be accepted by the failure of another's job."""
    run = session(step(1), step(2), accept_at_once=1)
    run.publishes(2, reviewed=True)
    run.is_judged(2)
    run.publishes(1)
    run.is_reviewed(2)
    assert run.acceptance(2).judgement is None
    decided = run.job_fails(JobKind.ACCEPT, "misconfigured", 1)
    assert asked(decided) == [(JobKind.ACCEPT, 2)]
    assert run.phases() == ["waiting", "accepting"]


def test_an_operator_brings_a_delivery_back_and_it_goes_to_the_end_of_the_queue() -> None:
    run = three()
    run.job_fails(JobKind.ACCEPT, "misconfigured", 1)
    assert run.step(1).waits_for is WaitsFor.DECISION
    decided = run.tell(f.ResumeRequested())
    assert asked(decided) == [(JobKind.ACCEPT, 1)]
    assert run.acceptance(1).turn == 2
    ahead = tuple(run.acceptance(n).published.delivery for n in (2, 3))
    assert run.acceptance(1).line == Line(None, ahead)


@pytest.mark.parametrize(
    "fact",
    [
        f.RevisionRequested(1, "another way"),
        f.StepRevised(1, 1, step().author, subtasks("again")),
        f.CancelRequested(),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_what_is_worked_on_again_withdraws_its_delivery(fact: f.RunFact) -> None:
    run = session()
    run.publishes()
    assert (1, DeliveryStatus.WITHDRAWN) in settled(run.tell(fact))
    assert run.step().acceptance is None


@pytest.mark.parametrize(
    "fact",
    [
        f.RevisionRequested(1, "another way"),
        f.CancelRequested(),
        f.PassFinished(1, 0, 1, Ending.THRESHOLD, 4),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_what_a_pass_may_have_published_unheard_is_withdrawn_with_it(fact: f.RunFact) -> None:
    """Its worker wrote the delivery down and could not tell of it any more."""
    run = session()
    run.pass_starts()
    assert SettleDelivery(1, DeliveryStatus.WITHDRAWN) in run.tell(fact)


@pytest.mark.parametrize("ending", [Ending.FORGOTTEN, None])
def test_a_pass_that_is_driven_on_keeps_what_it_has_published(ending: Ending | None) -> None:
    run = session()
    run.pass_starts()
    if ending is None:
        decided = run.job_fails(JobKind.EXECUTE, "misconfigured")
    else:
        decided = run.pass_ends(ending)
    assert settled(decided) == []


def test_a_pass_that_has_nothing_to_deliver_is_done() -> None:
    run = session()
    run.pass_ends()
    assert run.phase() is StepPhase.DONE


def test_a_rejected_delivery_goes_to_its_author_then_to_its_planner() -> None:
    run = session(max_delivery_attempts=2)
    run.publishes()
    decided = run.is_judged(1, CONFLICT)
    (enqueued,) = (d for d in decided if isinstance(d, Enqueue))
    assert (enqueued.kind, enqueued.pass_no) == (JobKind.EXECUTE, 2)
    assert run.step().reason == CONFLICT.reason
    run.publishes()
    assert asked(run.is_judged(1, RED)) == [(JobKind.GATHER, 1)]
    assert asked(run.bundle_is_ready()) == [(JobKind.REVISE, 1)]
    run.is_revised()
    assert run.step().rejections == 0


def test_what_the_gates_refuse_counts_as_a_rejection() -> None:
    run = session(max_delivery_attempts=2)
    assert asked(run.pass_ends(Ending.REFUSED, errors=1)) == [(JobKind.EXECUTE, 1)]
    assert asked(run.pass_ends(Ending.REFUSED, errors=1)) == [(JobKind.GATHER, 1)]


@pytest.mark.parametrize("strategy", ["fixed", "model"])
def test_a_step_that_recovers_by_retrying_is_not_retried_for_ever(strategy: str) -> None:
    """X5: what was rejected too often goes to a person, whoever decides about retries."""
    run = session(step(recovery=Recovery.RETRY), max_delivery_attempts=1, retry_strategy=strategy)
    run.publishes()
    assert asked(run.is_judged(1, RED)) == [(JobKind.GATHER, 1)]
    run.bundle_is_ready()
    assert run.step().waits_for is WaitsFor.SENDING


@pytest.mark.parametrize("recovery", Recovery)
def test_a_step_that_the_plan_can_do_without_ends_in_error(recovery: Recovery) -> None:
    careless = step(on_failure=OnFailure.CONTINUE, recovery=recovery)
    run = session(careless, step(2), max_delivery_attempts=1, human_escalation_threshold=0)
    run.publishes()
    run.is_judged(1, RED)
    assert run.phases() == ["error", "ready"]


def test_a_person_rejects_with_a_note() -> None:
    run = session()
    run.publishes(allowed=True)
    run.is_judged()
    decided = run.is_rejected()
    (told,) = (d for d in decided if isinstance(d, SettleDelivery))
    assert (told.rejection, told.reason, told.settled_by) == (
        Rejection.PERSON,
        "not like this",
        "ann",
    )
    assert run.phase() is StepPhase.READY


def test_a_revision_is_learnt_once_its_delivery_is_judged() -> None:
    """What is rejected in the end has not worked, whatever its own checks said."""
    run = session(max_delivery_attempts=1)
    run.escalates()
    run.is_revised()
    assert not [d for d in run.publishes() if isinstance(d, Learn)]
    rejected = Session(run.state)
    assert Learn(1, 1, worked=False) in rejected.is_judged(1, RED)
    assert Learn(1, 1, worked=True) in run.is_judged()


def test_a_resumption_clears_the_rejections_of_what_is_at_work() -> None:
    """S1.13 says all counters."""
    run = session(step(1), step(2))
    run.publishes(1)
    run.is_judged(1, RED)
    assert run.step(1).rejections == 1
    run.pass_ends(Ending.BLOCKED, 2)
    run.tell(f.ResumeRequested())
    assert run.step(1).rejections == 0


def test_one_step_alone_is_resumed_and_a_skipped_one_waits_for_what_it_needs() -> None:
    run = session(step(1), step(2, depends_on=(1,)), step(3))
    run.pass_ends(Ending.BLOCKED, 1)
    run.pass_ends(Ending.BLOCKED, 3)
    run.tell(f.StepAbandoned(1))
    run.tell(f.ResumeRequested(2))
    assert run.phases() == ["error", "skipped", "blocked"]
    run.tell(f.ResumeRequested(1))
    run.tell(f.ResumeRequested(2))
    assert run.phases() == ["ready", "not_started", "blocked"]


# --- duplicates and stragglers --------------------------------------------------------------------


def test_the_failure_of_an_earlier_judgement_puts_nothing_off() -> None:
    run = session()
    run.publishes(reviewed=True)
    late = run.job_failure(JobKind.ACCEPT)
    lost = f.WorkerLost(JobKind.ACCEPT, 1, 0, 1, "w", LossSign.LEASE)
    run.tell(late)
    run.is_judged()
    assert run.acceptance().stage is Stage.REVIEWING
    assert run.tell(late) == run.tell(lost) == ()


def test_what_waits_outside_the_window_awaits_no_judgement() -> None:
    run = three(accept_at_once=1)
    assert run.job_fails(JobKind.ACCEPT, ordinal=2) == ()
    stray = f.DeliveryJudged(*run.delivery(2), 0, RED)
    assert run.tell(stray) == ()


def test_a_judgement_of_an_earlier_turn_is_overtaken() -> None:
    run = three()
    late = run.judgement(2)
    run.is_judged(1, RED)
    assert run.tell(late) == ()
    assert run.acceptance(2).judgement is None


def test_a_judgement_that_is_put_off_counts_on_when_its_line_changes() -> None:
    """Otherwise the failure of the old one would be taken for that of the new one."""
    run = three()
    late = run.job_failure(JobKind.ACCEPT, ordinal=2)
    run.tell(late)
    decided = run.is_judged(1, RED)
    (again,) = (d for d in decided if isinstance(d, Enqueue) and d.step == 2)
    assert (again.postponed, again.delay) == (1, 0.0)
    assert run.tell(late) == ()


def test_what_was_said_of_an_earlier_delivery_is_overtaken() -> None:
    run = session()
    run.publishes(allowed=True)
    run.is_judged()
    said = f.DeliveryAllowed(*run.delivery(), 7, "ann")
    other = dataclasses.replace(said, delivery="another")
    assert run.tell(other) == ()
    run.tell(said)
    assert run.tell(said) == ()


def test_what_repeats_a_rejected_delivery_goes_to_the_planner_at_once() -> None:
    """Commands would do the same once more, however many tries are left."""
    run = shown_to_a_person()
    assert asked(run.is_rejected()) == [(JobKind.EXECUTE, 1)]
    again = dataclasses.replace(run.pass_end(Ending.REFUSED), repeated=True)
    assert asked(run.tell(again)) == [(JobKind.GATHER, 1)]
