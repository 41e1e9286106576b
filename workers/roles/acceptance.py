"""The acceptance checks of a step that its reviser must keep, and what becomes of dropped ones."""

from dataclasses import replace

from shared.domain.acceptance import (
    CONFIRM,
    Proofs,
    acceptance_of,
    confirm_drops,
    missing_checks,
)
from shared.domain.config import AUTO
from shared.domain.outcome import GREEN
from shared.domain.plan import DroppedCheck, Revision
from workers.planning import RevisionDraft
from workers.store import StepBrief


def acceptance_in_force(brief: StepBrief, proofs: Proofs) -> tuple[str, ...]:
    """The checks of the first plan that stand for the step's result.

    A check stays in force if the person who was asked about its dropping has not confirmed it.
    """
    return acceptance_of([_confirmed(brief, each) for each in brief.revisions], proofs)


def with_drops(
    draft: RevisionDraft, brief: StepBrief, acceptance: tuple[str, ...]
) -> RevisionDraft:
    """The draft as it is to be carried out, with every check that it gives up.

    A person must confirm what its author gives up, unless the task goes on by itself
    (`autonomy: auto`). A library, which people have written, gives up checks without saying so:
    that is recorded with the reason for its alternative.
    """
    dropped = draft.dropped_checks
    named = {each.check for each in dropped}
    silent = tuple(
        DroppedCheck(check, draft.reason)
        for check in missing_checks(acceptance, draft.subtasks)
        if check not in named
    )
    subtasks = draft.subtasks
    if brief.task.policy.autonomy != AUTO:
        subtasks = confirm_drops(subtasks, dropped)
    return replace(draft, subtasks=subtasks, dropped_checks=(*dropped, *silent))


def _confirmed(brief: StepBrief, revision: Revision) -> Revision:
    """The revision, with the checks that it really gave up."""
    asked = next((s.ordinal for s in revision.subtasks if s.key == CONFIRM), None)
    if asked is None or any(
        attempt.outcome in GREEN
        for attempt in brief.attempts
        if (attempt.revision, attempt.subtask) == (revision.revision, asked)
    ):
        return revision
    return replace(revision, dropped_checks=())
