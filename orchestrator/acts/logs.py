"""Reading what the commands of a task write, until there is no more."""

import time
from typing import Protocol

from orchestrator.acts.caller import Caller
from orchestrator.acts.watch import LOOK_EVERY
from orchestrator.views.attempts import OutputPiece, live_output
from orchestrator.views.logs import LoggedAttempt, LogPlace, logged, places_of_logs
from orchestrator.views.tasks import TaskView, task_view
from shared.domain.ids import Ref


class LogReader(Protocol):
    """Whom the output is told."""

    def begun(self, place: LogPlace, attempt: LoggedAttempt) -> None:
        """A command has begun, or had when the reading began."""
        ...

    def wrote(self, place: LogPlace, piece: OutputPiece) -> None:
        """It has written something."""
        ...

    def ended(self, place: LogPlace, attempt: LoggedAttempt) -> None:
        """It has ended; the attempt has all that it has written."""
        ...


def read_logs(
    caller: Caller, ref: Ref, reader: LogReader, *, failed: bool = False, follow: bool = False
) -> TaskView:
    """Tell what the commands at a place have written; returns the task as it was seen last.

    With `failed`, only attempts that have failed. With `follow` it goes on until the task has
    ended or waits for a person. Raises Rejected where there is no such task or target.
    """
    running: dict[int, int] = {}
    """The attempts that ran when they were seen last, with the last piece of their output."""
    newest = 0
    while True:
        with caller.reading("task.logs") as connection:
            view = task_view(connection, ref.of_task().at(ref.target))
            places = places_of_logs(connection, ref, newest, tuple(running))
        for place in places:
            newest = max(newest, place.id)
            if failed:
                _tell_failed(caller, place, reader, running)
            else:
                _tell(caller, place, reader, running)
        if not follow or ((view.ended or view.waits) and not running):
            return view
        time.sleep(LOOK_EVERY)


def _tell_failed(
    caller: Caller, place: LogPlace, reader: LogReader, running: dict[int, int]
) -> None:
    """Tell of an attempt once it has failed."""
    if place.running:
        running[place.id] = 0
        return
    running.pop(place.id, None)
    if place.failed:
        with caller.reading("task.logs") as connection:
            whole = logged(connection, place)
        reader.begun(place, whole)
        reader.ended(place, whole)


def _tell(caller: Caller, place: LogPlace, reader: LogReader, running: dict[int, int]) -> None:
    """Tell what is new of an attempt."""
    with caller.reading("task.logs") as connection:
        pieces = live_output(connection, place.key, running.get(place.id, 0))
        whole = logged(connection, place) if place.id not in running or not place.running else None
    if whole is not None and place.id not in running:
        reader.begun(place, whole)
    for piece in pieces:
        reader.wrote(place, piece)
    if place.running:
        last = pieces[-1].id if pieces else running.get(place.id, 0)
        running[place.id] = last
    elif whole is not None:
        running.pop(place.id, None)
        reader.ended(place, whole)
