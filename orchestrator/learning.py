"""What came of a revision, remembered in the commit in which its pass ended."""

import structlog
from sqlalchemy import Connection

from orchestrator.core.decisions import Learn
from shared.domain.facts import StepRevised
from shared.domain.fitting import apply
from shared.domain.fix import FailurePattern, Fix, essence, learnt, lost_checks
from shared.domain.plan import Subtask
from shared.guard.remembered import changes_something
from shared.secrets.written import holds_secret
from shared.store import fixes
from shared.store.fixes import Lesson

log = structlog.get_logger()


def learn(connection: Connection, run_id: int, told: Learn) -> None:
    """Count a use of a fix, or keep a new one where a planner or a person has found it.

    It is kept for the failures of all revisions of the step before it: the first of them is what
    will be seen again first. A failure to learn is logged and skipped: the step
    is done regardless.
    """
    try:
        with connection.begin_nested():
            _learn(connection, run_id, told)
    except Exception:
        log.exception("not_learnt", run=run_id, step=told.step, revision=told.revision)


def _learn(connection: Connection, run_id: int, told: Learn) -> None:
    place = (run_id, told.step, told.revision)
    if fixes.settle(connection, *place, worked=told.worked) or not told.worked:
        return
    lesson = fixes.lesson(connection, *place)
    if lesson is None or lost_checks(lesson.first, lesson.subtasks):
        return
    for failure, before in lesson.failures:
        fix = learnt(before, lesson.subtasks, failure)
        if fix is None or not changes_something(fix, _ran(fix, lesson)):
            continue
        if not holds_secret((*fix.replaced, *fix.replacement)):
            _keep(connection, failure, fix, lesson, before, told.step)


def uses(task_id: int, run_id: int, fact: StepRevised) -> list[dict[str, int]]:
    """The use that a revision makes of a fix, as it is written down; none where it makes none."""
    if fact.fix is None:
        return []
    place = {"run_id": run_id, "step": fact.step, "revision": fact.revision}
    return [{"fix_id": fact.fix, "task_id": task_id, **place}]


def _keep(  # noqa: PLR0917 - what is kept, and where it comes from
    connection: Connection,
    failure: FailurePattern,
    fix: Fix,
    lesson: Lesson,
    before: tuple[Subtask, ...],
    step: int,
) -> None:
    """One that the memory would have given here is the same fix, learnt with other words."""
    found = list(map(essence, lesson.subtasks))
    for known in fixes.matching(connection, failure):
        given = apply(known.fix, before, failure)
        if given is not None and list(map(essence, given)) == found:
            fixes.count_learnt(connection, known.id, lesson)
            return
    fixes.keep(connection, failure, fix, lesson, step)


def _ran(fix: Fix, lesson: Lesson) -> frozenset[int]:
    """Its subtasks that had something to do: what others put right is no fix of ours."""
    return frozenset(subtask.ordinal for subtask in fix.replacement) & lesson.ran
