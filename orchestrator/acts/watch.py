"""Polling until there is nothing more to see."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from orchestrator.acts.caller import Caller
from orchestrator.views.at_work import AtWork, LiveChange, at_work, changes
from orchestrator.views.attempts import AttemptView, OutputPiece, attempt_view, live_output
from orchestrator.views.entries import Entry
from orchestrator.views.live import LiveTask, live_task
from orchestrator.views.stalls import stalls
from orchestrator.views.tasks import TaskView, task_view
from orchestrator.views.timeline import BEGINNING, read_timeline
from shared.domain.ids import Ref

LOOK_EVERY = 0.25

Seen = TypeVar("Seen")


def watch(
    caller: Caller,
    ref: Ref,
    tell: Callable[[Sequence[Entry]], None],
    look: Callable[[LiveTask], bool] | None = None,
) -> TaskView:
    """Pass on the entries of a task as they come, and what is at work; returns the last view.

    It returns when the task has ended or waits for a person, unless `look` answers that it has
    changed something: then it looks again at once.
    """
    cursor = BEGINNING
    told_of_stall = False
    while True:
        with caller.reading("task.watch") as connection:
            view = task_view(connection, ref)
            story = read_timeline(connection, ref, cursor)
            entries, cursor = [*story.entries], story.cursor
            live = None if look is None else live_task(connection, ref, view)
            if not told_of_stall:
                stalled = stalls(connection, ref.task)
                told_of_stall = bool(stalled)
                entries += stalled
        tell(entries)
        if look is not None and live is not None and look(live):
            continue
        if view.ended or view.waits:
            return view
        time.sleep(LOOK_EVERY)


def watch_all(
    caller: Caller,
    tell: Callable[[AtWork, Sequence[LiveChange]], None],
    *,
    task: int | None = None,
    target: str | None = None,
) -> None:
    """Pass on everything at work, and what has changed since the last look; it never returns."""
    before = None
    while True:
        with caller.reading("watch") as connection:
            now = at_work(connection, task=task, target=target)
        tell(now, changes(before, now))
        before = now
        time.sleep(LOOK_EVERY)


def tail(caller: Caller, ref: Ref, tell: Callable[[OutputPiece], None]) -> AttemptView:
    """Pass on each piece of output of an attempt as it comes; returns the ended attempt."""
    after = 0
    while True:
        with caller.reading("attempt.tail") as connection:
            view = attempt_view(connection, ref)
            ref = view.attempt.ref  # stay with this one when a newer one begins
            pieces = live_output(connection, view.attempt.key, after)
        for piece in pieces:
            after = piece.id
            tell(piece)
        if view.attempt.ended_at is not None:
            return view
        time.sleep(LOOK_EVERY)


def wait_until(
    look: Callable[[], Seen],
    is_over: Callable[[Seen], bool],
    *,
    timeout: float,
    tell: Callable[[Seen, float], None],
) -> Seen:
    """Look until `is_over`, or for `timeout` seconds; returns what was seen last.

    `tell` is called after each unsuccessful look, with the seconds since the first.
    """
    begun = time.monotonic()
    while True:
        seen = look()
        elapsed = time.monotonic() - begun
        if is_over(seen) or elapsed > timeout:
            return seen
        tell(seen, elapsed)
        time.sleep(LOOK_EVERY)
