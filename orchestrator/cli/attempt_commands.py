"""`replan attempt …`."""

from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import tasks
from orchestrator.cli.intervention_text import mark, show_reasons
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import DryRunOption
from orchestrator.cli.tables import (
    AFTER,
    first_line,
    in_colour,
    listing,
    next_step,
    plain,
    span,
    tell_rest,
)
from orchestrator.cli.task_commands import TimeoutOption, WaitOption
from shared.domain.ids import parse_ref, parse_step
from shared.domain.next_step import NextStep

group = typer.Typer(name="attempt", no_args_is_help=True)

PlaceArgument = Annotated[
    str, typer.Argument(metavar="REF", help="T12, T12.2 or T12.2.3@web1.", autocompletion=tasks)
]
RefArgument = Annotated[
    str, typer.Argument(metavar="REF", help="An attempt: T12.2.3#1@web1.", autocompletion=tasks)
]
RawOption = Annotated[
    bool, typer.Option("--raw", help="Of an agent: the lines as its program wrote them.")
]


@add(group, "list", example="replan attempt list T12.2 --failed")
def list_(
    call: Invocation,
    ref: PlaceArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    failed: Annotated[bool, typer.Option("--failed", help="Only errors that counted.")] = False,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
) -> Result:
    """List the newest attempts of a task, step or subtask."""
    from orchestrator.views.agents import AgentLine
    from orchestrator.views.attempts import list_attempts
    from orchestrator.words.agents import describe_agent

    with call.reading() as connection:
        found = list_attempts(connection, parse_ref(ref), limit=limit, failed=failed, after=after)
    rest = NextStep.of("attempt list", ref, limit=limit, failed=bool(failed), after=found.next)
    further = None if found.next is None else rest

    def _by_agent(agent: AgentLine | None, *, looks: bool) -> str:
        told = "" if agent is None else plain(describe_agent(agent, looks=looks))
        return f"\n[dim]{told}[/]" if told else ""

    def show(console: Console) -> None:
        rows = [
            (
                a.ref,
                in_colour(a.outcome),
                "" if a.exit_code is None else str(a.exit_code),
                plain(mark(a)),
                span(a.seconds),
                first_line(a.command, 60) + _by_agent(a.agent, looks=a.look),
            )
            for a in found.attempts
        ]
        heads = ("attempt", "outcome", "exit", "correction", "took", "command")
        console.print(listing(heads, rows) if rows else "no attempts yet")
        show_reasons(console, found.attempts)
        tell_rest(console, further)

    return Result("attempt.list", found, show, items=found.attempts, next_step=further)


@add(group, "run", example="replan attempt run T12.2@web1")
def run(
    call: Invocation,
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="A step: T12.2@web1.", autocompletion=tasks)
    ],
    *,
    apply: DryRunOption = True,
) -> Result:
    """Have the next pass of one step carried out now.

    A step that waits or has failed runs again, with its counters cleared; one that was put off does
    not wait any longer. No other step is touched: `task resume` resumes all of them.
    """
    from orchestrator.acts import passes
    from orchestrator.cli.posted import unread_answer
    from orchestrator.words.passes import describe_way

    place = parse_step(ref)
    done = passes.run(call.caller, place) if apply else None
    value = passes.preview(call.caller, place) if done is None else done.value
    if done is not None and not done.taken:
        return unread_answer("attempt.run", value)
    following = (
        NextStep.of("attempt run", ref) if done is None else NextStep.of("attempt list", value.ref)
    )

    def show(console: Console) -> None:
        console.print(f"[bold]{value.ref}[/] {plain(describe_way(value))}", highlight=False)
        next_step(console, following)

    return Result("attempt.run", value, show, next_step=following)


@add(group, "show", example="replan attempt show T12.2.3#1@web1 --full")
def show_(
    call: Invocation,
    ref: RefArgument,
    *,
    full: Annotated[bool, typer.Option("--full", help="The whole output.")] = False,
    raw: RawOption = False,
) -> Result:
    """Show an attempt: its command, output, check and times; of one that runs, what it is at."""
    from orchestrator.cli.attempt_text import show_attempt
    from orchestrator.views.attempts import attempt_view

    with call.reading() as connection:
        view = attempt_view(connection, parse_ref(ref), full=full, live=True)
    following = NextStep.of("attempt tail", view.attempt.ref) if view.attempt.running else None

    def show(console: Console) -> None:
        show_attempt(console, view, full=full, raw=raw)
        next_step(console, following)

    return Result("attempt.show", view, show, next_step=following)


@add(group, "tail", example="replan attempt tail T12.2.3@web1")
def tail(call: Invocation, ref: RefArgument, *, raw: RawOption = False) -> Result:
    """Follow the output of an attempt while it runs."""
    from orchestrator.acts.watch import tail as follow_output
    from orchestrator.cli.tailing import Tailing
    from orchestrator.views.attempts import attempt_view

    tailing = Tailing(call, raw=raw)
    view = follow_output(call.caller, parse_ref(ref), tailing.tell)
    with call.reading() as connection:
        whole = attempt_view(connection, view.attempt.ref, full=True)

    def show(console: Console) -> None:
        # Live output is removed when an attempt ends; the rest is in its row.
        tailing.tell_rest(whole)
        console.print(f"[bold]{view.attempt.ref}[/] {in_colour(view.attempt.outcome)}")

    return Result("attempt.tail", view, show)


@add(group, "cancel", example="replan attempt cancel T12.2.3@web1 --wait")
def cancel(
    call: Invocation, ref: RefArgument, *, wait: WaitOption = False, timeout: TimeoutOption = 30.0
) -> Result:
    """End a running command: it counts as failed, and its step continues from there.

    Without a number, REF means the running attempt. With --wait it reports how the command ended
    and exits with 1 if it may still be running.
    """
    from orchestrator.acts.attempts import cancel as cancel_attempt
    from orchestrator.cli.await_cancel import attempt_answer, await_attempt
    from orchestrator.cli.posted import unread_answer

    done = cancel_attempt(call.caller, parse_ref(ref))
    if not done.taken:
        return unread_answer("attempt.cancel", done.value)
    return await_attempt(call, done.value, timeout) if wait else attempt_answer(done.value)
