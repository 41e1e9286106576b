"""Answers from the fix memory: a revision instead of a planner's, or past fixes for a planner."""

from collections.abc import Sequence

from shared.domain.bundle import Bundle
from shared.domain.facts import StepRevised
from shared.domain.fix import FailurePattern, apply, essence
from shared.domain.plan import Subtask
from shared.store import fixes
from shared.store.bundles import StoredBundle
from shared.store.database import Database
from shared.store.fixes import StoredFix
from workers.fixes.signature import failure_of
from workers.store import StepBrief

MOST_FIXES = 5
"""How many fixes a planner is told, at most."""


def failure_to_learn_from(brief: StepBrief, bundle: Bundle) -> FailurePattern | None:
    """The signature of a step's failure; None if the memory is switched off."""
    if not brief.task.policy.fix_memory:
        return None
    return failure_of(bundle, brief.host.address)


def recall(
    database: Database, brief: StepBrief, stored: StoredBundle, note: str
) -> StepRevised | None:
    """The revision that has fixed the same failure before; None if there is none.

    The memory does not answer if a person has left a note for the planner (`note`), nor twice in a
    row: if its revision fails, the planner is next. It never repeats what this step has already
    tried. Its answer is a revision like any other: the guard and approvals apply to it.
    """
    if stored.failure is None or note or not brief.task.policy.fix_memory:
        return None
    ordinal, newest = brief.step.ordinal, brief.revisions[-1].revision
    with database.begin() as connection:
        if fixes.fix_of(connection, brief.run_id, ordinal, newest) is not None:
            return None
        known = fixes.matching(connection, stored.failure)
    for each in known:
        subtasks = apply(each.fix, brief.subtasks, stored.failure)
        if subtasks is not None and not _was_tried(subtasks, brief):
            return StepRevised(
                step=ordinal,
                revision=newest + 1,
                author=brief.author,
                subtasks=subtasks,
                reason=_reason(each),
                fix=each.id,
            )
    return None


def past_fixes(database: Database, targets: Sequence[str]) -> tuple[str, ...]:
    """Fixes that have helped on hosts like these, in words for a planner; at most `MOST_FIXES`.

    Empty for hosts on which nothing has failed yet: their kind is known only from evidence.
    """
    with database.begin() as connection:
        return tuple(map(_describe, fixes.of_targets(connection, targets, limit=MOST_FIXES)))


def past_fixes_for(database: Database, failure: FailurePattern | None) -> tuple[str, ...]:
    """Fixes that have helped on hosts of the kind that failed, in words for a planner."""
    if failure is None:
        return ()
    with database.begin() as connection:
        return tuple(
            map(_describe, fixes.of_families(connection, [failure.family], limit=MOST_FIXES))
        )


def _was_tried(subtasks: tuple[Subtask, ...], brief: StepBrief) -> bool:
    wanted = [essence(subtask) for subtask in subtasks]
    return any(wanted == [essence(s) for s in revision.subtasks] for revision in brief.revisions)


def _reason(known: StoredFix) -> str:
    counted = known.worked + known.failed
    worth = f"worked {known.worked} of {counted} times since" if counted else "first use"
    return f"from fix F{known.id}, learnt from {known.learnt_from} ({worth}): {known.reason}"


def _describe(known: StoredFix) -> str:
    failed = "; ".join(known.told)
    helped = " ; then ".join(subtask.command for subtask in known.fix.replacement)
    return f"On {known.family}, when this failed: {failed}. This put it right: {helped}"
