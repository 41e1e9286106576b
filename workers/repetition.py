"""Which answers of a planner would only do again what has failed; pure."""

from collections.abc import Iterable, Sequence

from shared.domain.errors import Rejected
from shared.domain.plan import Revision, Subtask


def refuse_repetition(
    subtasks: Sequence[Subtask], rollback: Sequence[str], earlier: Iterable[Revision]
) -> None:
    """Raise Rejected for a list that has failed already, and for a rollback that nothing has.

    It is the same list when no command, check or precondition of it differs and none has more time
    than it had; after undoing something it is another attempt.
    """
    known = tuple(earlier)
    for key in rollback:
        _refuse_unknown(key, known)
    if rollback:
        return
    for revision in known:
        if _is_repeated(subtasks, revision.subtasks):
            raise Rejected(
                f"this is revision {revision.revision} of the step again, whose commands have "
                "failed: give another way, or look first at what the evidence does not show",
                stage="revise",
            )


def _refuse_unknown(key: str, known: Sequence[Revision]) -> None:
    named = [s for revision in known for s in revision.subtasks if s.key == key]
    if not named:
        raise Rejected(f"rollback: no list of this step had a subtask {key!r}", stage="revise")
    if all(subtask.rollback is None for subtask in named):
        raise Rejected(
            f"rollback: subtask {key!r} says no command that would undo it; "
            "if it must be undone, make that a subtask",
            stage="revise",
        )


def _is_repeated(proposed: Sequence[Subtask], failed: Sequence[Subtask]) -> bool:
    return len(proposed) == len(failed) and all(
        (new.command, new.check, new.preconditions) == (old.command, old.check, old.preconditions)
        and new.timeout <= old.timeout
        for new, old in zip(proposed, failed, strict=True)
    )
