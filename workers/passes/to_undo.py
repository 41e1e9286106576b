"""What a revision undoes before it starts (S0.56): only what ran, the last first; pure."""

from collections.abc import Iterable, Sequence

from shared.domain.attempt import Answer, Attempt
from shared.domain.outcome import GREEN, Outcome
from shared.domain.plan import Revision, Subtask
from shared.secrets.sent import rollback_as_sent
from workers.passes.ports import Undo


def to_undo(revisions: Sequence[Revision], attempts: Iterable[Attempt]) -> tuple[Undo, ...]:
    """The rollbacks that the newest revision asks for and that nobody has carried out yet.

    `attempts` are those of the step in this run, oldest first. A subtask counts as run once its
    command has started, however it ended. If subtasks of several revisions have the same rollback
    command, it runs once.
    """
    if not revisions:
        return ()
    wanted = _requested_rollbacks(revisions)
    ran: dict[tuple[int, int], int] = {}
    undone: dict[tuple[int, int], int] = {}
    for moment, attempt in enumerate(attempts):
        place = (attempt.revision, attempt.subtask)
        if place not in wanted:
            continue
        if not attempt.rollback and _has_run(attempt):
            ran[place] = moment
        if attempt.rollback and attempt.outcome in GREEN:
            undone[place] = moment
    last_first = sorted(ran, key=ran.__getitem__, reverse=True)
    latest = {wanted[place].rollback: place for place in reversed(last_first)}
    return tuple(
        Undo(place[0], rollback_as_sent(wanted[place]))
        for place in last_first
        if latest[wanted[place].rollback] == place and undone.get(place, -1) < ran[place]
    )


def _requested_rollbacks(revisions: Sequence[Revision]) -> dict[tuple[int, int], Subtask]:
    *earlier, newest = revisions
    return {
        (revision.revision, subtask.ordinal): subtask
        for revision in earlier
        for subtask in revision.subtasks
        if subtask.key in newest.rollback and subtask.rollback is not None
    }


def _has_run(attempt: Attempt) -> bool:
    if attempt.outcome is Outcome.UNKNOWN:
        return attempt.told_by_person is not Answer.NOT_RUN
    return attempt.result is not None
