"""When a session publishes what it has accepted, and how it ends."""

from dataclasses import replace

import pytest

from orchestrator.core.decisions import (
    CloseInterventions,
    Decision,
    EndCheckpoint,
    Enqueue,
    OpenIntervention,
    SettleDelivery,
)
from orchestrator.core.intervention_kind import InterventionKind
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.delivery import Checkpoint, CheckpointEnding, CheckpointPhase, DeliveryStatus
from shared.domain.jobs import JobKind, LossSign
from shared.domain.task import RunPhase, StepPhase
from tests.unit.core.deliveries import Session, refused_by_the_remote, session
from tests.unit.core.given import Run, plan, step, submitted

BEGUN = f.CheckpointRequested("ann")


def publishes(decided: tuple[Decision, ...]) -> bool:
    """Whether a checkpoint was asked for."""
    return any(isinstance(d, Enqueue) and d.kind is JobKind.CHECKPOINT for d in decided)


def opened(decided: tuple[Decision, ...]) -> list[InterventionKind]:
    """What a person was asked about."""
    return [d.kind for d in decided if isinstance(d, OpenIntervention)]


def failure(run: Session) -> f.JobFailed:
    """The fact that the checkpoint under way could not be made."""
    at = run.state.checkpoint
    place = JobKind.CHECKPOINT, None, 0, at.number
    return f.JobFailed(*place, "transient", "publish", "no route", postponed=at.postponed)


def test_steps_are_done_once_their_deliveries_are_on_the_remote() -> None:
    """S2.17."""
    run = session(step(1), step(2))
    assert not publishes(run.is_accepted(1)), "step 2 is at work"
    assert run.phases() == ["accepted", "ready"]
    assert publishes(run.is_accepted(2))
    decided = run.checkpoint_ends()
    assert [d.status for d in decided if isinstance(d, SettleDelivery)] == [
        DeliveryStatus.CHECKPOINTED
    ] * 2
    assert run.phases() == ["done", "done"]
    assert run.state.phase is RunPhase.DONE


def test_what_was_accepted_meanwhile_is_published_next() -> None:
    run = session(step(1), step(2))
    run.is_accepted(1)
    run.tell(BEGUN)
    assert run.tell(BEGUN) == (), "it is under way"
    run.is_accepted(2)
    decided = run.checkpoint_ends(accepted=1)
    assert run.phases() == ["done", "accepted"]
    assert publishes(decided)
    assert run.state.checkpoint.number == 2


def test_what_the_remote_did_not_take_can_be_tried_again_by_a_person() -> None:
    """Also where one wanted another one while it was under way."""
    for fact in (BEGUN, f.ResumeRequested()):
        run = session(step(1), step(2))
        run.is_accepted(1)
        run.tell(BEGUN)
        run.is_accepted(2)
        run.tell(BEGUN)
        assert run.state.checkpoint.wanted
        assert opened(run.checkpoint_ends(CheckpointEnding.DIVERGED)) == [
            InterventionKind.CHECKPOINT
        ]
        assert run.state.phase is RunPhase.WAITING
        decided = run.tell(fact)
        assert publishes(decided)
        assert CloseInterventions(kind=InterventionKind.CHECKPOINT) in decided


def test_a_person_who_wants_it_while_it_is_put_off_does_not_lose_it() -> None:
    """The failure of the job that is under way is heard as before."""
    run = session(step(1), step(2))
    run.is_accepted(1)
    run.tell(BEGUN)
    run.tell(failure(run))
    run.is_accepted(2)
    late = failure(run)
    run.tell(BEGUN)
    assert publishes(run.tell(late))


def test_what_was_wanted_and_is_published_is_not_wanted_any_more() -> None:
    """Otherwise the next delivery would be published without a word."""
    run = session(step(1), step(2), step(3), checkpoint="by_hand")
    run.is_accepted(1)
    run.tell(BEGUN)
    run.is_accepted(2)
    run.tell(BEGUN)
    run.checkpoint_ends()
    assert not run.state.checkpoint.wanted
    assert not publishes(run.is_accepted(3))


def test_by_hand_only_a_persons_word_for_it_publishes() -> None:
    run = session(step(1), step(2), checkpoint="by_hand")
    run.pass_ends(Ending.BLOCKED, 2)
    assert opened(run.is_accepted(1)) == [InterventionKind.CHECKPOINT]
    assert run.state.checkpoint.phase is CheckpointPhase.HELD
    assert not publishes(run.tell(f.ResumeRequested())), "it says nothing about publishing"
    decided = run.pass_ends(ordinal=2)
    assert opened(decided) == [InterventionKind.CHECKPOINT]
    assert run.tell(f.ResumeRequested()) == ()
    assert publishes(run.tell(BEGUN))


def test_a_checkpoint_is_put_off_and_then_waits_for_an_operator() -> None:
    run = session(max_transient_failures=1)
    run.is_accepted()
    decided = run.tell(failure(run))
    (again,) = (d for d in decided if isinstance(d, Enqueue))
    assert (again.kind, again.step, again.pass_no, again.postponed) == (
        JobKind.CHECKPOINT,
        None,
        1,
        1,
    )
    assert opened(run.tell(failure(run))) == [InterventionKind.CHECKPOINT]
    assert run.state.checkpoint.phase is CheckpointPhase.WAITING


@pytest.mark.parametrize("ending", CheckpointEnding)
def test_the_end_of_another_checkpoint_is_overtaken(ending: CheckpointEnding) -> None:
    run = refused_by_the_remote()
    late, failed = run.checkpoint(ending), failure(run)
    run.tell(BEGUN)
    lost = f.WorkerLost(JobKind.CHECKPOINT, None, 0, 1, "w", LossSign.LEASE)
    for fact in (late, lost, failed):
        assert run.tell(fact) == ()


def test_what_reached_the_remote_before_it_was_cancelled_is_said_to_be_there() -> None:
    """The steps stay cancelled, and nothing else follows."""
    run = session(step(1), step(2))
    run.is_accepted(1)
    run.tell(BEGUN)
    told = run.checkpoint()
    run.tell(f.CancelRequested())
    decided = run.tell(told)
    assert [d for d in decided if isinstance(d, SettleDelivery)] == [
        SettleDelivery(1, DeliveryStatus.CHECKPOINTED)
    ]
    assert run.phases() == ["cancelled", "cancelled"]
    assert run.state.phase is RunPhase.CANCELLED
    assert run.tell(told) == ()


@pytest.mark.parametrize("ending", [CheckpointEnding.REFUSED, CheckpointEnding.DIVERGED])
def test_a_checkpoint_that_does_not_complete_after_a_cancellation_is_over(
    ending: CheckpointEnding,
) -> None:
    """Nobody is asked about it; its worker has ended its row."""
    run = session()
    run.is_accepted()
    told = run.checkpoint(ending)
    run.tell(f.CancelRequested())
    assert run.tell(told) == ()
    assert run.state.checkpoint == Checkpoint(1)
    assert run.state.phase is RunPhase.CANCELLED


@pytest.mark.parametrize("family", ["transient", "unavailable", "rejected", "defect"])
def test_a_checkpoint_that_fails_after_a_cancellation_is_not_tried_again(family: str) -> None:
    run = session()
    run.is_accepted()
    failed = replace(failure(run), family=family)
    run.tell(f.CancelRequested())
    assert run.tell(failed) == (EndCheckpoint(1, "the session was cancelled; no route"),)
    assert run.state.checkpoint == Checkpoint(1)
    assert run.tell(failed) == ()


def test_a_checkpoint_that_was_put_off_before_a_cancellation_is_still_heard() -> None:
    run = session()
    run.is_accepted()
    run.tell(failure(run))
    run.tell(f.CancelRequested())
    assert SettleDelivery(1, DeliveryStatus.CHECKPOINTED) in run.checkpoint_ends()


def test_a_checkpoint_that_waits_for_an_operator_ends_with_a_cancellation() -> None:
    run = session(max_transient_failures=0)
    run.is_accepted()
    run.tell(failure(run))
    assert EndCheckpoint(1, "the session was cancelled") in run.tell(f.CancelRequested())
    assert run.state.checkpoint == Checkpoint(1)
    assert run.tell(f.ResumeRequested()) == ()


# --- sessions that are held open, and paused ones -------------------------------------------------


def held_open() -> Session:
    """A session that waits for its first step."""
    run = Session()
    run.tell(f.RunStarted(Policy(deliver=True), plan()))
    return run


def add(run: Run) -> tuple[Decision, ...]:
    """A person adds a step."""
    return run.tell(f.StepsReplaced(max(run.state.steps, default=0), (), (step(1),), "ann"))


def test_a_session_that_is_held_open_publishes_and_does_not_end() -> None:
    run = held_open()
    for ordinal in (1, 2):
        add(run)
        assert publishes(run.is_accepted(ordinal))
        run.checkpoint_ends()
        assert run.state.phase is RunPhase.WAITING
    run.tell(f.SessionClosed("ann"))
    assert run.state.phase is RunPhase.DONE
    assert add(run) == ()


def test_a_cancelled_session_stays_cancelled_though_it_was_held_open() -> None:
    run = held_open()
    add(run)
    run.pass_starts()
    run.tell(f.CancelRequested())
    run.tell(f.CommandLeftRunning(1, 0, 1))
    assert run.state.phase is RunPhase.CANCELLED


def test_a_task_ends_with_a_session_that_waited_to_be_closed() -> None:
    task = submitted(deliver=True)
    task.tell(f.PlanDrafted(plan()))
    task.runs_are(RunPhase.WAITING)
    assert task.runs_are(RunPhase.DONE) == "done"


def test_nothing_begins_while_it_is_paused_and_what_is_at_work_goes_on() -> None:
    run = session(step(1), step(2, depends_on=(1,)))
    run.tell(f.RunPaused("ann"))
    assert publishes(run.is_accepted(1)), "nothing else is at work"
    assert run.phase(2) is StepPhase.NOT_STARTED
    assert run.tell(f.RunPaused("ann")) == ()
    run.checkpoint_ends()
    assert run.state.phase is RunPhase.WAITING
    run.tell(f.ResumeRequested())
    assert run.phase(2) is StepPhase.READY


def test_what_has_ended_is_not_resumed_because_it_was_paused() -> None:
    run = session()
    run.tell(f.RunPaused("ann"))
    run.is_accepted()
    run.checkpoint_ends()
    assert run.state.phase is RunPhase.DONE
    assert run.tell(f.ResumeRequested()) == ()


def test_what_is_taken_up_again_after_its_end_is_not_paused_any_more() -> None:
    run = session(step(1), step(2, depends_on=(1,)))
    run.tell(f.RunPaused("ann"))
    run.pass_ends(Ending.BLOCKED, 1)
    run.tell(f.StepAbandoned(1))
    assert run.state.phase is RunPhase.ERROR
    run.tell(f.ResumeRequested(1))
    run.is_accepted(1)
    run.tell(f.ResumeRequested(2))
    assert run.phases() == ["accepted", "ready"]
