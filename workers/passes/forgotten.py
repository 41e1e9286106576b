"""Ends a pass whose target has records of its step that the database does not know; pure."""

from collections.abc import Iterable
from dataclasses import replace

from shared.domain.budget import Ending
from shared.domain.ids import attempt_key, rollback_key
from shared.domain.records import HostRecord
from workers.passes.ports import PassOrder, PassResult


def forgotten(order: PassOrder, errors: int, records: Iterable[HostRecord]) -> PassResult:
    """The end of the pass: nothing runs until a person has said what becomes of the records."""
    planned = _texts(order)
    marked = tuple(
        replace(record, differs=planned.get(record.key, record.command) != record.command)
        for record in records
    )
    number = len(marked)
    reason = (
        f"the host has a record of {number} command{'s' * (number > 1)} of this step that the "
        "database does not know: it lost its last commits"
    )
    return PassResult(Ending.FORGOTTEN, errors, reason, records=marked)


def _texts(order: PassOrder) -> dict[str, str]:
    """The text that the pass runs first under each key."""
    run, step, pass_no = order.run_id, order.step.ordinal, order.pass_no
    texts = {
        attempt_key(run, step, order.revision, each.ordinal, pass_no, 0): each.command
        for each in order.subtasks
    }
    return texts | {
        rollback_key(run, step, undo.revision, undo.subtask.ordinal, pass_no): undo.subtask.command
        for undo in order.undo
    }
