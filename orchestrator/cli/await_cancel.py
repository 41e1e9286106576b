"""Waiting until what was to be ended has ended, and saying how."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rich.console import Console

from orchestrator.cli.intervention_text import show_in_hand
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.reply import ExitCode, Result
from orchestrator.cli.tables import coloured, next_step, plain
from orchestrator.cli.task_commands import outcome
from orchestrator.views.attempts import AttemptLine, attempt_view
from orchestrator.views.cancellations import InHand, Word, unproven
from orchestrator.views.tasks import TaskView, task_view
from shared.domain.attempt import Outcome
from shared.domain.ids import Ref
from shared.store.attempts import RUNNING

LOOK_EVERY = 0.25
_TELL_EVERY = 2.0

Seen = TypeVar("Seen")


def cancelled(call: Invocation, ref: Ref, *, taken: bool) -> Result:
    """The answer of `task cancel` that does not wait."""
    view = _task(call, ref)
    answer = outcome("task.cancel", _details(view), taken=taken)

    def show(console: Console) -> None:
        answer.show(console)
        show_in_hand(console, view.in_hand)

    return replace(answer, show=show)


def await_cancelled(call: Invocation, ref: Ref, timeout: float) -> Result:
    """Wait up to `timeout` seconds until every worker has said how its command was ended."""
    view = _until(
        call,
        timeout,
        look=lambda: _task(call, ref),
        is_over=lambda seen: seen.ended and not _awaited(seen),
        told=lambda seen: ", ".join(str(each.ref) for each in _awaited(seen)) or str(seen.ref),
    )
    remains = unproven(view.in_hand)
    reason = _reason(view, remains, timeout)
    command = f"replan task report {view.ref}"

    def show(console: Console) -> None:
        console.print(f"[bold]{view.ref}[/] is {coloured(view.phase)}")
        show_in_hand(console, view.in_hand)
        if reason:
            console.print(f"[red]✗[/] {plain(reason)}")
        next_step(console, command)

    return Result(
        "task.cancel",
        _details(view),
        show,
        exit_code=ExitCode.FAILED if reason else ExitCode.DONE,
        stage="cancel" if reason else None,
        reason=reason or None,
        next_step_cmd=command,
    )


def await_attempt(call: Invocation, attempt: AttemptLine, timeout: float) -> Result:
    """Wait up to `timeout` seconds until an attempt has ended; says how."""
    place = attempt.ref

    def look() -> AttemptLine:
        with call.database.begin() as connection:
            return attempt_view(connection, place).attempt

    line = _until(
        call,
        timeout,
        look=look,
        is_over=lambda seen: seen.outcome != RUNNING,
        told=lambda seen: str(seen.ref),
    )
    reason = ""
    if line.outcome == RUNNING:
        reason = f"its worker has not answered within {timeout:g} s"
    elif line.outcome == Outcome.UNKNOWN or line.left_over:
        reason = line.reason
    return attempt_answer(line, reason)


def attempt_answer(line: AttemptLine, reason: str = "") -> Result:
    """The answer of `attempt cancel`; a `reason` says why it may still be there."""
    command = f"replan attempt show {line.ref}"

    def show(console: Console) -> None:
        if line.outcome == RUNNING and not reason:
            console.print(f"[bold]{line.ref}[/] is being ended")
        else:
            console.print(f"[bold]{line.ref}[/] {coloured(line.outcome)} {plain(line.reason)}")
        if reason:
            console.print(f"[red]✗[/] {plain(reason)}")
        next_step(console, command)

    return Result(
        "attempt.cancel",
        line,
        show,
        exit_code=ExitCode.FAILED if reason else ExitCode.DONE,
        stage="cancel" if reason else None,
        reason=reason or None,
        next_step_cmd=command,
    )


def _until(
    call: Invocation,
    timeout: float,
    *,
    look: Callable[[], Seen],
    is_over: Callable[[Seen], bool],
    told: Callable[[Seen], str],
) -> Seen:
    """Look again and again, telling a person what is still waited for; returns the last look."""
    begun = time.monotonic()
    tell_at = begun + _TELL_EVERY
    while True:
        seen = look()
        now = time.monotonic()
        if is_over(seen) or now - begun > timeout:
            return seen
        if call.human and now >= tell_at:
            call.complaints.print(f"{now - begun:.0f} s: waiting for {plain(told(seen))}")
            tell_at = now + _TELL_EVERY
        time.sleep(LOOK_EVERY)


def _task(call: Invocation, ref: Ref) -> TaskView:
    with call.database.begin() as connection:
        return task_view(connection, ref)


def _details(view: TaskView) -> dict[str, Any]:
    return {"ref": str(view.ref), "phase": view.phase, "in_hand": list(view.in_hand)}


def _awaited(view: TaskView) -> Sequence[InHand]:
    return [each for each in view.in_hand if each.word is Word.AWAITED]


def _reason(view: TaskView, remains: Sequence[InHand], timeout: float) -> str:
    if remains:
        return "; ".join(f"{each.ref}: {each.told}" for each in remains)
    return "" if view.ended else f"{view.ref} is still {view.phase} after {timeout:g} s"
