"""Why a step stands still or failed: the newest of its commands that failed, in its own words."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.last_words import said_in
from orchestrator.views.titles import TITLE
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.outcome import COUNTED, GREEN, Outcome
from shared.domain.task import StepPhase
from shared.store.sql_list import sql_list

if TYPE_CHECKING:  # a list of tasks has no approvals
    from shared.domain.approval import ApprovalRequest

ESCALATED = frozenset(
    {InterventionKind.ESCALATION, InterventionKind.REVISION, InterventionKind.HELD_BUNDLE}
)
"""What waits for a person after evidence was gathered."""

_FROM_FAILURE = ESCALATED | {InterventionKind.ROLLBACK}

_GREEN, _BAD = sql_list(GREEN), sql_list(COUNTED)

_COLUMNS = """
    a.id, a.run_id, a.step, a.subtask, a.number, a.command, a.outcome, a.reason, a.exit_code,
    a.check_exit_code, a.rollback, a.stdout, a.stderr, a.check_output, a.body, r.task_id, r.target
"""


def _open(each: str) -> str:
    """The newest failures that were not put right, one for each of these columns."""
    return f"""
    SELECT DISTINCT ON ({each}) {_COLUMNS}, {TITLE} AS title
    FROM unnest(CAST(:runs AS bigint[]), CAST(:steps AS bigint[])) AS place (run_id, step)
    JOIN run_steps s ON s.run_id = place.run_id AND s.step = place.step
    JOIN runs r ON r.id = s.run_id
    JOIN attempts a ON a.run_id = s.run_id AND a.step = s.step
    WHERE (
        a.counted AND a.revision = s.revision
        OR a.rollback AND a.pass_no = s.pass_no AND a.outcome IN ({_BAD})
    ) AND NOT EXISTS (
        SELECT FROM attempts later
        WHERE later.run_id = a.run_id AND later.step = a.step AND later.revision = a.revision
          AND later.subtask = a.subtask AND later.id > a.id AND later.outcome IN ({_GREEN})
          AND later.rollback = a.rollback AND NOT later.look
    )
    ORDER BY {each}, a.id DESC
"""  # noqa: S608 - constants


_NEWEST = text(_open("a.run_id, a.step"))
_EACH = text(_open("a.run_id, a.step, a.subtask"))

_BEFORE = text(f"""
    SELECT DISTINCT ON (asked.place) asked.place, {_COLUMNS}, NULL AS title
    FROM unnest(CAST(:tasks AS bigint[]), CAST(:hosts AS text[]), CAST(:inside AS text[]),
            CAST(:texts AS text[]))
        WITH ORDINALITY AS asked (task_id, host, inside, command, place)
    JOIN runs r ON r.task_id = asked.task_id AND r.target IN (asked.host, asked.inside)
    JOIN attempts a ON a.run_id = r.id AND a.command = asked.command AND a.counted
    ORDER BY asked.place, a.id DESC
""")  # noqa: S608 - constants

TROUBLED = frozenset(
    {
        StepPhase.RUNNING,
        StepPhase.REPLANNING,
        StepPhase.WAITING,
        StepPhase.BLOCKED,
        StepPhase.ERROR,
        StepPhase.CANCELLED,
    }
)
"""The phases in which the failure of one of its commands says why a step is there."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A command that failed: an attempt, the title of its subtask, and how it ended.

    `said` is the line of its output that says why, empty if it printed nothing; `reason` is
    replan's own word for its end. A `rollback` was to undo what the subtask had done.
    """

    ref: RefValue
    title: str
    command: str
    outcome: Outcome
    exit_code: int | None
    check_exit_code: int | None
    said: str
    reason: str
    rollback: bool = False


def open_failures(
    connection: Connection, places: Collection[tuple[int, int]]
) -> Mapping[tuple[int, int], tuple[Failure, ...]]:
    """The newest failure of each subtask of these steps, by run and step, in order.

    They are of the current revision; what has been put right since is none.
    """
    found: dict[tuple[int, int], list[Failure]] = defaultdict(list)
    for row in connection.execute(_EACH, _places(places)) if places else ():
        found[row.run_id, row.step].append(_failure(row))
    return {place: tuple(failures) for place, failures in found.items()}


def newest_failures(
    connection: Connection, places: Collection[tuple[int, int]]
) -> Mapping[tuple[int, int], Failure]:
    """The newest failure under the current revision of each of these steps, by run and step.

    The rollbacks before it begins are part of it. What has been put right since is none.
    """
    if not places:
        return {}
    rows = connection.execute(_NEWEST, _places(places))
    return {(row.run_id, row.step): _failure(row) for row in rows}


def failures_behind(connection: Connection, opened: Iterable[Any]) -> Mapping[int, Failure]:
    """What failed in the step of each open intervention that was opened for that, by its id."""
    at = {row.id: (row.run_id, row.step) for row in opened if row.kind in _FROM_FAILURE}
    found = newest_failures(connection, {place for place in at.values() if None not in place})
    return {number: found[place] for number, place in at.items() if place in found}


def failures_before(
    connection: Connection, asked: Iterable["ApprovalRequest"]
) -> Mapping[str, Failure]:
    """How the same command failed on the same target of the task, by the digest of the request."""
    from shared.domain.approval import SubtaskPart

    commands = [
        each
        for each in asked
        if each.part in {SubtaskPart.COMMAND, SubtaskPart.ROLLBACK} and each.subject.task
    ]
    if not commands:
        return {}
    given = {
        "tasks": [each.subject.task for each in commands],
        "hosts": [each.subject.host.name for each in commands],
        "inside": [(each.subject.repository or each.subject.host).name for each in commands],
        "texts": [each.subject.command for each in commands],
    }
    rows = connection.execute(_BEFORE, given)
    return {commands[row.place - 1].subject.digest: _failure(row) for row in rows}


def _places(places: Collection[tuple[int, int]]) -> dict[str, list[int]]:
    listed = sorted(places)
    return {"runs": [run for run, _ in listed], "steps": [step for _, step in listed]}


def _failure(row: Any) -> Failure:
    return Failure(
        ref=Ref(row.task_id, row.step, row.subtask, row.number, target=row.target),
        title=row.title or "",
        command=row.command,
        outcome=Outcome(row.outcome),
        exit_code=row.exit_code,
        check_exit_code=row.check_exit_code,
        said=said_in(row),
        reason=row.reason,
        rollback=row.rollback,
    )
