"""Answers from the fix memory: a revision instead of a planner's, or hints for a planner."""

import json
from collections.abc import Iterable

from shared.domain.bundle import Bundle
from shared.domain.config import FixMemory
from shared.domain.facts import StepRevised
from shared.domain.fitting import Fitting, align, fit
from shared.domain.fix import FailurePattern, essence, step_digest
from shared.domain.host import scope_of
from shared.domain.plan import Subtask
from shared.guard.remembered import Obstacle, ObstacleKind, harm, names_more, unproven
from shared.store import fixes
from shared.store.bundles import StoredBundle
from shared.store.database import Database
from shared.store.fixes import StoredFix
from workers.fixes.signature import failure_of
from workers.store import StepBrief

MOST_HINTS = 5
LONGEST_HINT = 4000
"""How many fixes a planner is told, at most, and in how many characters each."""


def failure_to_learn_from(brief: StepBrief, bundle: Bundle) -> FailurePattern | None:
    """The signature of a step's failure; None if the memory is switched off.

    None, too, for a step with the work of an agent: the memory knows only commands.
    """
    agents = any(subtask.agent is not None for subtask in brief.subtasks)
    if agents or brief.task.policy.fix_memory is FixMemory.OFF:
        return None
    return failure_of(bundle, brief.host.name, brief.host.address)


def recall(
    database: Database, brief: StepBrief, stored: StoredBundle, note: str
) -> StepRevised | None:
    """The revision that has fixed the same failure before; None if a planner is to decide.

    It is a fix against which nothing stands (`obstacles`), so it can do no harm. The memory does
    not answer if a person has left a note for the planner (`note`), nor twice in a row: if its
    revision fails, the planner is next. It never repeats what this step has already tried. Its
    answer is a revision like any other: the guard and approvals apply to it.
    """
    failure = stored.failure
    if failure is None or note or brief.task.policy.fix_memory is not FixMemory.AUTO:
        return None
    ordinal, newest = brief.step.ordinal, brief.revisions[-1].revision
    with database.begin() as connection:
        if fixes.fix_of(connection, brief.run_id, ordinal, newest) is not None:
            return None
        known = fixes.matching(connection, failure)
    for each in known:
        fitting = fit(each.fix, brief.subtasks, failure)
        if fitting is None or fitting.subtasks is None or _was_tried(fitting.subtasks, brief):
            continue
        if not obstacles(each, fitting, brief, stored, rivals=[k for k in known if k != each]):
            return StepRevised(
                step=ordinal,
                revision=newest + 1,
                author=brief.author,
                subtasks=fitting.subtasks,
                reason=_reason(each),
                fix=each.id,
            )
    return None


def obstacles(
    known: StoredFix,
    fitting: Fitting,
    brief: StepBrief,
    stored: StoredBundle,
    *,
    rivals: Iterable[StoredFix] = (),
) -> tuple[Obstacle, ...]:
    """Everything that stands against carrying out a fix by itself on that step; none: it may."""
    if fitting.subtasks is None or stored.failure is None:
        return (Obstacle(ObstacleKind.DOES_NOT_FIT),)
    found = list(harm(fitting.window, fitting.replacement))
    if known.fix.step != step_digest(brief.subtasks):
        output = _output(stored.bundle, stored.failure)
        found += names_more(fitting.window, fitting.replacement, output)
    if known.vague or stored.failure.vague:
        found.append(Obstacle(ObstacleKind.VAGUE))
    found += unproven(known.proofs, scope_of(brief.host.labels))
    worked, failed = known.recent
    if failed > worked:
        found.append(Obstacle(ObstacleKind.FAILED))
    others = tuple(
        f"F{rival.id}" for rival in rivals if rival.fix.replacement != known.fix.replacement
    )
    if others:
        found.append(Obstacle(ObstacleKind.RIVALS, others))
    return tuple(found)


def hints(database: Database, brief: StepBrief, stored: StoredBundle) -> tuple[str, ...]:
    """Fixes for failures like this one, for a planner: at most `MOST_HINTS`, each as JSON.

    Each says which thing there stands for which one here (`names`), and what the step becomes. None
    holds a line of output: that of another host is not this planner's.
    """
    failure = stored.failure
    if failure is None or brief.task.policy.fix_memory is FixMemory.OFF:
        return ()
    with database.begin() as connection:
        known = fixes.matching(connection, failure)
        alike = fixes.similar(connection, failure, limit=MOST_HINTS)
    listed = {each.id: each for each in (*known, *alike)}
    told = (_hint(each, brief, failure) for each in listed.values())
    return tuple(hint for hint in told if len(hint) <= LONGEST_HINT)[:MOST_HINTS]


def _output(bundle: Bundle, failure: FailurePattern) -> tuple[str, ...]:
    """What the failed subtasks printed."""
    return tuple(
        text
        for attempt in bundle.attempts
        if attempt.subtask in failure.failed
        for text in (attempt.stdout, attempt.stderr, attempt.check_output)
    )


def _was_tried(subtasks: tuple[Subtask, ...], brief: StepBrief) -> bool:
    wanted = [essence(subtask) for subtask in subtasks]
    return any(wanted == [essence(s) for s in revision.subtasks] for revision in brief.revisions)


def _reason(known: StoredFix) -> str:
    counted = known.worked + known.failed
    worth = f"worked {known.worked} of {counted} times since" if counted else "first use"
    return f"from fix F{known.id}, learnt from {known.learnt_from} ({worth}): {known.reason}"


def _hint(known: StoredFix, brief: StepBrief, failure: FailurePattern) -> str:
    """A fix as JSON: with the names of this step where they are known, else as it helped there."""
    fitting = fit(known.fix, brief.subtasks, failure)
    names = align(known.fix, brief.subtasks) if fitting is None else fitting.mapping
    said: dict[str, object] = {
        "fix": f"F{known.id}",
        "where": _likeness(known, failure),
        "names": dict(names),
    }
    if fitting is not None and fitting.subtasks is not None:
        said["this_step_with_it"] = [_said(subtask) for subtask in fitting.subtasks]
    else:
        said["replaced_there"] = [_said(subtask) for subtask in known.fix.replaced]
        said["helped_there"] = [_said(subtask) for subtask in known.fix.replacement]
    return json.dumps(said, ensure_ascii=False)


def _likeness(known: StoredFix, failure: FailurePattern) -> str:
    if known.signature == failure.signature:
        why = ", which may have another cause" if failure.vague else ""
        return f"a step failed in the same way{why}"
    shared = set(known.cues) & set(failure.cues)
    if any(cue.startswith("because") for cue in shared):
        return "the cause was the same"
    if any(cue.startswith(("line", "like")) for cue in shared):
        return "the same message came from another command"
    return "the same program failed with another message"


def _said(subtask: Subtask) -> dict[str, object]:
    said = {
        "command": subtask.command,
        "check": subtask.check,
        "preconditions": subtask.preconditions,
        "rollback": subtask.rollback,
    }
    return {name: value for name, value in said.items() if value}
