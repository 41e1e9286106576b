"""Waiting for the end of what was cancelled, and reporting it."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from orchestrator.acts import attempts, tasks
from orchestrator.acts.done import Done
from orchestrator.cli.answers import Cancellation
from orchestrator.cli.intervention_text import show_in_hand
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.posted import post_answer
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import in_colour, next_step, plain
from orchestrator.views.attempts import AttemptLine
from orchestrator.views.cancellations import InHand, Word, unproven
from orchestrator.views.tasks import TaskView
from shared.domain.exits import ExitCode
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.outcome import Outcome

_TELL_EVERY = 2.0


def cancel_answer(done: Done[TaskView]) -> Result:
    """The answer of `task cancel` without --wait."""
    answer = post_answer("task.cancel", _details(done.value), taken=done.taken)

    def show(console: Console) -> None:
        answer.show(console)
        show_in_hand(console, done.value.in_hand)

    return replace(answer, show=show)


def await_task(call: Invocation, ref: Ref, timeout: float) -> Result:
    """Wait up to `timeout` seconds until every worker has reported how its command ended."""
    tell = _Progress(call)
    view = tasks.await_cancellation(
        call.caller,
        ref,
        timeout,
        lambda seen, elapsed: tell(", ".join(_pending(seen)) or str(seen.ref), elapsed),
    )
    remains = unproven(view.in_hand)
    reason = _reason(view, remains, timeout)
    command = NextStep.of("task report", view.ref)

    def show(console: Console) -> None:
        console.print(f"[bold]{view.ref}[/] is {in_colour(view.phase)}")
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
        next_step=command,
    )


def await_attempt(call: Invocation, attempt: AttemptLine, timeout: float) -> Result:
    """Wait up to `timeout` seconds until an attempt has ended; reports how."""
    tell = _Progress(call)
    line = attempts.await_cancellation(
        call.caller,
        attempt.ref,
        timeout,
        lambda seen, elapsed: tell(str(seen.ref), elapsed),
    )
    reason = ""
    if line.running:
        reason = f"its worker has not answered within {timeout:g} s"
    elif line.outcome == Outcome.UNKNOWN or line.left_over:
        reason = line.reason
    return attempt_answer(line, reason)


def attempt_answer(line: AttemptLine, reason: str = "") -> Result:
    """The answer of `attempt cancel`; a `reason` says why it may still be running."""
    command = NextStep.of("attempt show", line.ref)

    def show(console: Console) -> None:
        if line.running and not reason:
            console.print(f"[bold]{line.ref}[/] is being ended")
        else:
            console.print(f"[bold]{line.ref}[/] {in_colour(line.outcome)} {plain(line.reason)}")
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
        next_step=command,
    )


class _Progress:
    """Reports now and then what the command is still waiting for."""

    def __init__(self, call: Invocation) -> None:
        self._call = call
        self._due = _TELL_EVERY

    def __call__(self, awaited: str, elapsed: float) -> None:
        """Print the message when it is due; `elapsed` is the seconds waited so far."""
        if self._call.human and elapsed >= self._due:
            self._call.complaints.print(f"{elapsed:.0f} s: waiting for {plain(awaited)}")
            self._due = elapsed + _TELL_EVERY


def _details(view: TaskView) -> Cancellation:
    return Cancellation(view.ref, view.phase, view.in_hand)


def _pending(view: TaskView) -> Sequence[str]:
    return [str(each.ref) for each in view.in_hand if each.word is Word.AWAITED]


def _reason(view: TaskView, remains: Sequence[InHand], timeout: float) -> str:
    if remains:
        return "; ".join(f"{each.ref}: {each.told}" for each in remains)
    return "" if view.ended else f"{view.ref} is still {view.phase} after {timeout:g} s"
