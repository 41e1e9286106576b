"""Following a task as it runs: live on a terminal, plain lines in a pipe, or JSON lines."""

from collections.abc import Callable, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from orchestrator.acts.watch import watch
from orchestrator.cli.intervention_text import show_waiting
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.reply import Format, Result
from orchestrator.cli.streams import can_write_all
from orchestrator.cli.tables import first_line, in_colour, listing, next_step, plain, span
from orchestrator.envelope import Envelope
from orchestrator.views.attempts import AttemptLine
from orchestrator.views.entries import Entry
from orchestrator.views.tasks import TaskView
from orchestrator.words.agents import spent
from orchestrator.words.kinds import Tone
from orchestrator.words.messages import Message, messages_of
from orchestrator.words.postponed import describe
from orchestrator.words.spending import sums
from shared.domain.exits import ExitCode
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.task import TaskPhase

MOST = 20
"""Lines of each kind in the live part."""

TONES = {Tone.GOOD: "green", Tone.BAD: "red", Tone.ATTENTION: "yellow"}
CODES = {
    TaskPhase.DONE: ExitCode.DONE,
    TaskPhase.ERROR: ExitCode.FAILED,
    TaskPhase.CANCELLED: ExitCode.FAILED,
    TaskPhase.WAITING: ExitCode.WAITING,
}


def follow(call: Invocation, ref: Ref) -> Result:
    """Print the messages of a task until it has ended or waits for a person."""
    if call.output is Format.JSONL:
        view = watch(call.caller, ref, telling(lambda message: _json_line(call, message)))
    elif call.human and call.console.is_terminal:
        view = _live(call, ref)
    elif call.human:
        view = watch(call.caller, ref, telling(lambda each: print_message(call.console, each)))
    else:
        view = watch(call.caller, ref, lambda _: None)
    return ending(view)


def telling(show: Callable[[Message], None]) -> Callable[[Sequence[Entry]], None]:
    """Show the message of each entry that has one, in order."""

    def tell(entries: Sequence[Entry]) -> None:
        for message in messages_of(entries):
            show(message)

    return tell


def ending(view: TaskView) -> Result:
    """The answer for a task that has ended or waits."""
    code = CODES[TaskPhase(view.phase)]
    first = next(iter(view.interventions), None)
    command = NextStep.of("task report", view.ref) if first is None else first.next_step
    reason = view.reason if first is None else first.reason

    def show(console: Console) -> None:
        console.print(f"[bold]{view.ref}[/] {in_colour(view.phase)} {plain(reason)}")
        if view.agents:
            console.print(plain(f"  models: {sums(view.spending)}"), highlight=False)
        show_waiting(console, view.interventions)
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
    at = message.at.astimezone().strftime("%H:%M:%S")
    style = TONES.get(message.tone, "")
    console.print(
        Text.assemble((at, "dim"), " ", (str(message.ref), "bold"), " ", (message.text, style))
    )


def _live(call: Invocation, ref: Ref) -> TaskView:
    """Print messages above a live table of steps and running commands."""
    with Live(console=call.console, refresh_per_second=8, transient=True) as live:
        return watch(
            call.caller,
            ref,
            telling(lambda message: print_message(live.console, message)),
            lambda view, running: live.update(_status(view, running)),
        )


def _status(view: TaskView, running: Sequence[AttemptLine]) -> Group:
    elapsed = span((view.now - view.created_at).total_seconds())
    head = Text.from_markup(f"\n[bold]{view.ref}[/] {in_colour(view.phase)}  {elapsed}")
    rows = [
        (
            step.ref,
            in_colour(step.phase),
            "to be detailed" if step.bare else f"{step.done}/{step.subtasks} done",
            f"{step.errors}/{step.threshold} errors" if step.errors else "",
            plain(step.title),
        )
        for run in view.runs
        for step in run.steps
    ]
    now = [
        (
            a.ref,
            "[cyan]running[/]",
            span((view.now - a.started_at).total_seconds()),
            "" if a.agent is None else plain(spent(a.agent)),
            _brief(a),
        )
        for a in running
    ]
    shown = [*rows[:MOST], *now[:MOST]]
    waiting = [Text(f"{each.ref} {describe(each)}", "yellow") for each in view.put_off[:MOST]]
    return Group(head, listing(("", "", "", "", ""), shown), *waiting)


def _brief(attempt: AttemptLine) -> str:
    return first_line(attempt.command, 50)


def _json_line(call: Invocation, message: Message) -> None:
    import json

    answer = Envelope("task.message", details=message).to_json()
    line = json.dumps(answer, ensure_ascii=not can_write_all(call.console.file))
    call.console.out(line, highlight=False)
