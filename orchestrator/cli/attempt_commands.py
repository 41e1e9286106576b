"""`replan attempt …`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.agent_text import show_notes, show_result, show_transcript, show_work
from orchestrator.cli.completion import tasks
from orchestrator.cli.intervention_text import mark, show_preview, show_reasons
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import DryRunOption
from orchestrator.cli.tables import (
    AFTER,
    first_line,
    in_colour,
    listing,
    moment,
    next_step,
    plain,
    span,
    tell_rest,
)
from orchestrator.cli.task_commands import TimeoutOption, WaitOption
from shared.domain.attempt import describe_left
from shared.domain.ids import parse_ref, parse_step
from shared.domain.next_step import NextStep
from shared.domain.outcome import Outcome

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.views.attempts import AttemptView

group = typer.Typer(name="attempt", no_args_is_help=True)

_REFUSED = (Outcome.DENIED, Outcome.NEEDS_APPROVAL)

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
    """Show an attempt: its command, output, check and times."""
    from orchestrator.views.attempts import attempt_view
    from orchestrator.words.workers import name_worker

    with call.reading() as connection:
        view = attempt_view(connection, parse_ref(ref), full=full)
    attempt = view.attempt

    def show(console: Console) -> None:
        console.print(
            f"[bold]{attempt.ref}[/] {in_colour(attempt.outcome)} {plain(attempt.reason)}"
        )
        mark = "$" if view.work is None else "goal:"
        console.print(f"{mark} {plain(attempt.command)}", highlight=False)
        show_work(console, view.work)
        if attempt.look:
            console.print(f"  a look of its planner, revision {attempt.revision}")
        if attempt.rollback:
            console.print(f"  a rollback of revision {attempt.revision}, pass {attempt.pass_no}")
        if attempt.correction:
            console.print(f"  corrected by {plain(attempt.correction)}")
        _show_grounds(console, view)
        show_notes(console, attempt.notes)
        show_result(console, view.result, attempt.agent)
        exited = "no exit code" if attempt.exit_code is None else f"exit code {attempt.exit_code}"
        exited = exited if view.result is None else f"it says {view.result.status.value}"
        console.print(f"  {exited}, {span(attempt.seconds)}, by {plain(name_worker(view.worker))}")
        left = describe_left(attempt.left_over, attempt.ended_by)
        if left:
            console.print(f"  {plain(left)}", highlight=False)
        console.print(f"  {moment(attempt.started_at)} – {moment(attempt.ended_at)}")
        _show_pass(console, view)
        read = None if raw else view.transcript
        if read is not None:
            console.print("[dim]── what it said and did (--raw: as its program wrote it)[/]")
            show_transcript(console, read, whole=full)
        streams = (("stdout", view.stdout), ("stderr", view.stderr))
        for name, text in streams if read is None else streams[1:]:
            if text:
                console.print(f"[dim]── {name}[/]")
                console.print(plain(text.rstrip("\n")), highlight=False)
        if view.check_command:
            console.print(f"[dim]── check (exit code {attempt.check_exit_code})[/]")
            console.print(f"$ {plain(view.check_command)}", highlight=False)
            console.print(plain(view.check_output.rstrip("\n")), highlight=False)

    return Result("attempt.show", view, show)


def _show_grounds(console: Console, view: "AttemptView") -> None:
    """What let it run, and what was seen before."""
    if view.rule and view.attempt.outcome not in _REFUSED:
        console.print(f"  let run by the rule {plain(view.rule)}", highlight=False)
    show_preview(console, view.attempt.preview)


def _show_pass(console: Console, view: "AttemptView") -> None:
    if view.base_sha is not None:
        console.print(f"  from commit {view.base_sha[:12]}", highlight=False)
    if view.attempt.running and view.heartbeat_at is not None:
        console.print(f"  its worker was heard of at {moment(view.heartbeat_at)}")


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
