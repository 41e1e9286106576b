"""What a remembered fix has done where it did not help: undone before the next list, or named."""

from collections.abc import Iterator

from shared.domain.plan import Subtask
from shared.store import fixes
from shared.store.database import Database
from workers.store import StepBrief


def fix_behind(database: Database, brief: StepBrief) -> int | None:
    """The number of the fix that the newest list of a step comes from; None if from a planner."""
    newest = brief.revisions[-1].revision
    with database.begin() as connection:
        return fixes.fix_of(connection, brief.run_id, brief.step.ordinal, newest)


def to_undo(brief: StepBrief) -> tuple[str, ...]:
    """The subtasks, by key, that the newest list added and that have a rollback."""
    return tuple(subtask.key for subtask in _added(brief) if subtask.rollback is not None)


def left_changed(brief: StepBrief, number: int) -> tuple[str, ...]:
    """What the fix of that number has done to the host, and whether it is undone, in words."""
    return tuple(
        f"fix F{number} of the memory ran `{subtask.command}`; "
        + (
            "it has no rollback, so what it did stays"
            if subtask.rollback is None
            else f"before the next list `{subtask.rollback}` undoes it"
        )
        for subtask in _added(brief)
    )


def _added(brief: StepBrief) -> Iterator[Subtask]:
    """The subtasks of the newest list that earlier lists do not have and that have run."""
    *earlier, newest = brief.revisions
    known = {s.command for revision in earlier for s in revision.subtasks}
    keys = {s.key for revision in earlier for s in revision.subtasks}
    ran = {
        attempt.subtask
        for attempt in brief.attempts
        if attempt.revision == newest.revision
        and not attempt.rollback
        and attempt.result is not None
    }
    for subtask in newest.subtasks:
        if subtask.ordinal in ran and subtask.command not in known and subtask.key not in keys:
            yield subtask
