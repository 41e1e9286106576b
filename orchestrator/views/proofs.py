"""What was proved: for each subtask of a step's last list, by what, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orchestrator.views.attempts import AttemptLine
from orchestrator.views.steps import StepView
from orchestrator.views.values import RefValue
from shared.domain.attempt import Answer
from shared.domain.outcome import Outcome
from shared.domain.plan import DroppedCheck, Subtask
from shared.domain.task import StepPhase


class Proof(StrEnum):
    """What says that a subtask is done, the strongest first."""

    CHECK = "check"  # its check has been red, and is green
    NEVER_RED = "never_red"  # its check is green, and has never been red
    GREEN_BEFORE = "green_before"  # the same, and so its command has not run
    EXIT_CODE = "exit_code"  # it has no check: its command ended with 0
    PERSON = "person"  # a person said that its command ran
    NOTHING = "nothing"  # it is not done


@dataclass(frozen=True, slots=True)
class SubtaskProof:
    """What proves one subtask: `attempt` did, and ended `at` that time; None if nothing does."""

    ref: RefValue
    command: str
    check: str | None
    proof: Proof
    attempt: RefValue | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StepProof:
    """What proves a step under its last revision; `dropped_checks` no longer stand for it."""

    ref: RefValue
    title: str
    phase: StepPhase
    revision: int
    subtasks: tuple[SubtaskProof, ...]
    dropped_checks: tuple[DroppedCheck, ...] = ()

    @property
    def weakest(self) -> Proof:
        """The weakest proof of its subtasks: all of the step is proved at least so well."""
        if self.phase is not StepPhase.DONE:
            return Proof.NOTHING
        order = list(Proof)
        found = (order.index(each.proof) for each in self.subtasks)
        return order[max(found, default=len(order) - 1)]


def prove(step: StepView) -> StepProof:
    """What proves a step, of which every attempt is known."""
    line = step.step
    seen_red = _checks_seen_red(step)
    return StepProof(
        ref=line.ref,
        title=line.title,
        phase=line.phase,
        revision=line.revision,
        subtasks=tuple(
            _subtask(
                each.ref,
                each.planned,
                _tries(step.attempts, line.revision, each.planned),
                seen_red=each.planned.check in seen_red,
            )
            for each in step.subtasks
        ),
        dropped_checks=tuple(dropped for each in step.revisions for dropped in each.dropped_checks),
    )


def _tries(
    attempts: Sequence[AttemptLine], revision: int, subtask: Subtask
) -> Sequence[AttemptLine]:
    return [
        each
        for each in attempts
        if (each.revision, each.ref.subtask) == (revision, subtask.ordinal) and not each.rollback
    ]


def _checks_seen_red(step: StepView) -> set[str | None]:
    """The checks that were red in any attempt of the step, also one under an earlier revision."""
    planned = {
        (revision.revision, subtask.ordinal): subtask.check
        for revision in step.revisions
        for subtask in revision.subtasks
    }
    return {
        planned.get((each.revision, each.ref.subtask or 0))
        for each in step.attempts
        if not each.rollback and _was_red(each)
    } - {None}


def _was_red(attempt: AttemptLine) -> bool:
    """Whether the attempt, or one before it, has seen its check red."""
    done = attempt.outcome in {Outcome.OK, Outcome.SATISFIED}
    return attempt.outcome is Outcome.CHECK_FAILED or (done and not attempt.never_red)


def _subtask(
    ref: RefValue, planned: Subtask, tries: Sequence[AttemptLine], *, seen_red: bool
) -> SubtaskProof:
    proof = _proof(tries[-1], planned) if tries else Proof.NOTHING
    if seen_red and proof in {Proof.NEVER_RED, Proof.GREEN_BEFORE}:
        proof = Proof.CHECK  # an earlier revision has done it
    if proof is Proof.NOTHING:
        return SubtaskProof(ref, planned.command, planned.check, proof)
    last = tries[-1]
    return SubtaskProof(ref, last.command, planned.check, proof, last.ref, last.ended_at)


def _proof(last: AttemptLine, planned: Subtask) -> Proof:
    if last.told_by_person is Answer.RAN:
        return Proof.PERSON
    if last.outcome not in {Outcome.OK, Outcome.SATISFIED}:
        return Proof.NOTHING
    if planned.check is None:
        return Proof.EXIT_CODE
    if not last.never_red:
        return Proof.CHECK
    return Proof.GREEN_BEFORE if last.outcome is Outcome.SATISFIED else Proof.NEVER_RED
