"""Following a task as it runs: live on a terminal, plain lines in a pipe, or JSON lines."""

from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from orchestrator.acts.done import Note
from orchestrator.acts.plan_verdicts import stop_notes
from orchestrator.acts.tasks import Submitted
from orchestrator.acts.watch import watch
from orchestrator.cli.asking_in_place import Asking
from orchestrator.cli.intervention_text import show_waiting
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.live_screen import LiveScreen, can_ask, can_draw
from orchestrator.cli.live_tree import draw
from orchestrator.cli.recap_table import show_recap
from orchestrator.cli.reply import Format, Result, write_line
from orchestrator.cli.tables import in_colour, next_step, plain
from orchestrator.envelope import Envelope
from orchestrator.views.entries import Entry
from orchestrator.views.live import LiveTask
from orchestrator.views.recap import TargetRecap, recap
from orchestrator.views.tasks import TaskView
from orchestrator.words.failures import why_it_stops
from orchestrator.words.kinds import Tone
from orchestrator.words.messages import Message, messages_of
from orchestrator.words.spending import sums
from shared.domain.approval import SubtaskPart
from shared.domain.config import ASK
from shared.domain.exits import ExitCode
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.task import TaskPhase

TONES = {Tone.GOOD: "green", Tone.BAD: "red", Tone.ATTENTION: "yellow"}
CODES = {
    TaskPhase.DONE: ExitCode.DONE,
    TaskPhase.ERROR: ExitCode.FAILED,
    TaskPhase.CANCELLED: ExitCode.FAILED,
    TaskPhase.WAITING: ExitCode.WAITING,
}


def follow(call: Invocation, ref: Ref, *, ahead: bool = False) -> Result:
    """Print the messages of a task until it has ended or waits for a person.

    With `ahead`, a person at a terminal may approve what its plan will ask before it asks.
    Ctrl-C ends that look and not the task: the answer says so, and how to come back.
    """
    try:
        view = _follow(call, ref, ahead=ahead)
    except KeyboardInterrupt:
        return _interrupted(ref)
    if not call.human:
        return ending(view)
    with call.reading() as connection:
        return ending(view, recap(connection, view))


def _follow(call: Invocation, ref: Ref, *, ahead: bool) -> TaskView:
    if call.output is Format.JSONL:
        return watch(call.caller, ref, telling(lambda message: _json_line(call, message)))
    if call.human and can_draw(call.console):
        return _live(call, ref, ahead=ahead)
    if call.human:
        return watch(call.caller, ref, telling(lambda each: print_message(call.console, each)))
    return watch(call.caller, ref, lambda _: None)


def offered_notes(call: Invocation, submitted: Submitted) -> tuple[Note, ...]:
    """The notes on what a person at this terminal is shown, and may approve, before it asks."""
    shown = call.human and can_draw(call.console) and can_ask()
    if not shown or submitted.dry_run or submitted.autonomy != ASK:
        return ()
    return stop_notes(tuple(s for s in submitted.stops if s.part is SubtaskPart.COMMAND))


def _interrupted(ref: Ref) -> Result:
    """The answer for a task that goes on while nobody looks."""
    reason = f"interrupted; {ref} goes on"
    again = NextStep.of("task watch", ref)

    def show(console: Console) -> None:
        console.print(reason)
        next_step(console, again)
        next_step(console, NextStep.of("task cancel", ref))

    return Result(
        "task.watch",
        show=show,
        exit_code=ExitCode.INTERRUPTED,
        stage="watch",
        reason=reason,
        next_step=again,
    )


def telling(show: Callable[[Message], None]) -> Callable[[Sequence[Entry]], None]:
    """Show the message of each entry that has one, in order."""

    def tell(entries: Sequence[Entry]) -> None:
        for message in messages_of(entries):
            show(message)

    return tell


def ending(view: TaskView, came: Sequence[TargetRecap] = ()) -> Result:
    """The answer for a task that has ended or waits; people read what `came` of it."""
    code = CODES[TaskPhase(view.phase)]
    first = next(iter(view.interventions), None)
    command = NextStep.of("task report", view.ref) if first is None else first.next_step
    reason = why_it_stops(view)

    def show(console: Console) -> None:
        show_recap(console, came)
        if code is not ExitCode.DONE:  # that it is done has just been told
            console.print(f"[bold]{view.ref}[/] {in_colour(view.phase)} {plain(reason)}")
        if view.agents:
            console.print(plain(f"  models: {sums(view.spending)}"), highlight=False)
        show_waiting(console, view.interventions, told=reason)
        if first is None:
            next_step(console, command)

    return Result(
        "task.watch",
        view,
        show,
        exit_code=code,
        stage=None if code is ExitCode.DONE else (first.stage if first else "task"),
        reason=None if code is ExitCode.DONE else reason or view.phase,
        next_step=command,
    )


def print_message(console: Console, message: Message) -> None:
    """Print a message on one line."""
    console.print(_line(message))


def _line(message: Message) -> Text:
    at = message.at.astimezone().strftime("%H:%M:%S")
    style = TONES.get(message.tone, "")
    return Text.assemble((at, "dim"), " ", (str(message.ref), "bold"), " ", (message.text, style))


def _live(call: Invocation, ref: Ref, *, ahead: bool) -> TaskView:
    """Print messages above a live tree of what runs; a person is asked in place."""
    asking = Asking(call, ahead=ahead) if can_ask() else None
    with LiveScreen(call.console) as screen:

        def look(live: LiveTask) -> bool:
            screen.show(partial(draw, live))
            if asking is None:
                return False
            if asking.offers(live.task):
                with screen.aside():
                    asking.offer(live.task)
                return True
            waits = asking.next_of(live.task)
            if waits is None:
                return False
            with screen.aside():
                asking.ask(waits)
            return True

        return watch(call.caller, ref, telling(lambda each: screen.say(_line(each))), look)


def _json_line(call: Invocation, message: Message) -> None:
    write_line(call.console, Envelope("task.message", details=message))
