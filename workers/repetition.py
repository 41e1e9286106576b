"""Refuses answers of a planner that would only repeat what has failed; pure."""

from collections.abc import Iterable, Sequence

from shared.domain.acceptance import is_added
from shared.domain.errors import Rejected
from shared.domain.plan import Revision, Subtask


def refuse_repetition(
    subtasks: Sequence[Subtask], rollback: Sequence[str], earlier: Iterable[Revision]
) -> None:
    """Raise Rejected for a list that has already failed, and for a rollback that does not exist.

    Two lists are the same if their commands, checks and preconditions are equal and the new one
    gives no command more time; what the program has added to a list does not count. The goal of an
    agent is another one for another runner, and with other files or sentences beside it. A list
    that undoes something first is never a repetition.
    """
    known = tuple(earlier)
    for key in rollback:
        _refuse_unknown(key, known)
    if rollback:
        return
    for revision in known:
        if _is_repeated(subtasks, revision.subtasks):
            raise Rejected(
                f"this repeats revision {revision.revision} of the step, whose commands have "
                "failed: propose another way, or first look at what the evidence does not show",
                stage="revise",
            )


def _refuse_unknown(key: str, known: Sequence[Revision]) -> None:
    named = [s for revision in known for s in revision.subtasks if s.key == key]
    if not named:
        raise Rejected(f"rollback: no revision of this step had a subtask {key!r}", stage="revise")
    if all(subtask.rollback is None for subtask in named):
        raise Rejected(
            f"rollback: subtask {key!r} has no rollback command; "
            "if it must be undone, add a subtask that undoes it",
            stage="revise",
        )


def _is_repeated(proposed: Sequence[Subtask], failed: Sequence[Subtask]) -> bool:
    proposed, failed = ([s for s in given if not is_added(s)] for given in (proposed, failed))
    return len(proposed) == len(failed) and all(
        _given(new) == _given(old) and new.timeout <= old.timeout
        for new, old in zip(proposed, failed, strict=True)
    )


def _given(subtask: Subtask) -> tuple[object, ...]:
    """What whoever carries it out is given."""
    work = subtask.agent
    told = () if work is None else (work.chain, work.context, work.acceptance)
    return (subtask.command, subtask.check, subtask.preconditions, *told)
