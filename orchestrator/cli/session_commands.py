"""`replan session …`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import unread_answer
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import DryRunOption, ProjectOption, SessionArgument
from orchestrator.cli.tables import (
    AFTER,
    in_colour,
    listing,
    moment,
    next_step,
    plain,
    tell_rest,
)
from shared.domain.ids import parse_ref
from shared.domain.next_step import Blank, NextStep
from shared.domain.task import ENDED_STEP

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.views.sessions import SessionView

SHOWN = 20
"""Deliveries of the queue that a person sees of a session."""

group = typer.Typer(name="session", no_args_is_help=True)


@add(group, "open", example='replan session open --repo app --goal "the export works"')
def open_(
    call: Invocation,
    *,
    repo: Annotated[str, typer.Option("--repo", metavar="NAME", help="The repository.")],
    goal: Annotated[str, typer.Option(help="What it is for, in words.")] = "",
    apply: DryRunOption = True,
) -> Result:
    """Open a session in a repository: work in it ends as deliveries, accepted and published.

    It has no steps yet, and stays open until you close it. A task with the setting `deliver` is a
    session, too.
    """
    from orchestrator.acts import sessions

    opened = sessions.open_session(call.caller, repo, goal, apply=apply).value
    step = None if opened.ref is None else NextStep.of("session status", opened.ref)

    def show(console: Console) -> None:
        said = f"opened [bold]{opened.ref}[/]" if opened.applied else "would open a session"
        console.print(f"{said} in {plain(opened.repository)}: {plain(opened.goal)}")
        next_step(console, step)

    return Result("session.open", opened, show, next_step=step)


@add(group, "list", example="replan session list --project app")
def list_(
    call: Invocation,
    *,
    project: ProjectOption = None,
    every: Annotated[bool, typer.Option("--all", help="Include closed sessions.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
) -> Result:
    """List the sessions that are open, newest first."""
    from orchestrator.views.sessions import list_sessions
    from orchestrator.words.sessions import goal_line, short

    with call.reading() as connection:
        page = list_sessions(connection, limit=limit, repository=project, every=every, after=after)
    found = page.sessions
    rest = NextStep.of(
        "session list", project=project, all=bool(every), limit=limit, after=page.next
    )
    further = None if page.next is None else rest

    def show(console: Console) -> None:
        if not found:
            console.print("no session is open")
            return
        rows = [
            (
                each.ref,
                in_colour(each.phase),
                short(each.head),
                each.accepted,
                sum(each.deliveries.values()),
                moment(each.created_at),
                plain(goal_line(each.goal)),
            )
            for each in found
        ]
        console.print(listing(("", "", "head", "accepted", "delivered", "since", ""), rows))
        tell_rest(console, further)

    return Result("session.list", page, show, items=found, next_step=further)


@add(group, "status", example="replan session status T12")
def status(
    call: Invocation,
    ref: Annotated[
        str | None,
        typer.Argument(metavar="[REF]", help="The session; the newest open one if left out."),
    ] = None,
) -> Result:
    """Show a session: its head, its queue in order, what waits for whom, and its worktrees."""
    from orchestrator.views.sessions import newest_session, require_session, session_view

    with call.reading() as connection:
        if ref is None:
            place = newest_session(connection)
        else:
            place = require_session(connection, parse_ref(ref))
        view = session_view(connection, place)
    line = view.session
    step = view.waiting[0].next_step if view.waiting else None
    if step is None and _has_nothing_to_do(view):
        step = NextStep.of("plan build", Blank("BACKLOG"), session=line.ref)
    return Result("session.status", view, lambda c: _show(c, view), next_step=step)


@add(group, "close", example="replan session close T12")
def close(call: Invocation, ref: SessionArgument, *, apply: DryRunOption = True) -> Result:
    """Close a session that is held open: it ends with its last step."""
    from orchestrator.acts import sessions

    done = sessions.close(call.caller, parse_ref(ref), apply=apply)
    view = done.value
    if not done.taken:
        return unread_answer("session.close", view)

    step = view.waiting[0].next_step if view.waiting else None

    def show(console: Console) -> None:
        said = "closed" if apply else "would close"
        console.print(f"{said} [bold]{view.session.ref}[/]: it is {in_colour(view.session.phase)}")
        _show_waiting(console, view)

    return Result("session.close", view, show, next_step=step)


def _has_nothing_to_do(view: "SessionView") -> bool:
    """Whether it is held open, and none of its steps goes on or waits."""
    ended = {phase.value for phase in ENDED_STEP}
    return view.session.held_open and view.steps.keys() <= ended


def _show_waiting(console: Console, view: "SessionView") -> None:
    if view.waiting:
        console.print("\n[dim]── waits for you[/]")
        for each in view.waiting:
            console.print(f"[bold]{each.name}[/] {each.ref} {plain(each.reason)}", highlight=False)
            next_step(console, each.next_step)


def _show(console: Console, view: "SessionView") -> None:
    from orchestrator.cli.deliveries_table import deliveries_table
    from orchestrator.words.postponed import describe as describe_postponed
    from orchestrator.words.sessions import checkpoint_state, counts_of, goal_line, short

    line = view.session
    console.print(f"[bold]{line.ref}[/] {in_colour(line.phase)} {plain(goal_line(line.goal))}")
    steps = ", ".join(f"{n} {phase.replace('_', ' ')}" for phase, n in sorted(view.steps.items()))
    flags = [name for name, on in (("held open", line.held_open), ("paused", line.paused)) if on]
    counts = "; ".join(counts_of(line.deliveries, (each.stage for each in view.queue)))
    latest = view.checkpoint
    rows = [
        ("head", short(line.head)),
        ("accepted", str(line.accepted)),
        ("deliveries", counts or "none yet"),
        ("steps", ", ".join([steps or "none yet", *flags])),
    ]
    if latest is not None:
        on = f", {latest.branch} at {short(latest.head_remote)}" if latest.head_remote else ""
        told = checkpoint_state(latest.status, latest.stage)
        at = moment(latest.finished_at or latest.started_at)
        rows.append(("checkpoint", plain(f"{latest.number} {told}{on}, {at}")))
    console.print(listing(("", ""), rows))
    for work in view.put_off:
        console.print(f"{work.ref} {plain(describe_postponed(work))}", highlight=False)
    if view.queue:
        console.print("\n[dim]── not accepted yet[/]")
        console.print(deliveries_table(view.queue[:SHOWN]))
        if len(view.queue) > SHOWN:
            next_step(console, NextStep.of("delivery list", session=line.ref, status="published"))
    if view.worktrees:
        console.print("\n[dim]── worktrees[/]")
        trees = [
            (
                each.ref,
                plain(each.host),
                plain(each.path),
                each.phase or "",
                moment(each.last_seen_at),
            )
            for each in view.worktrees[:SHOWN]
        ]
        console.print(listing(("", "on", "where", "step is", "seen"), trees))
    _show_waiting(console, view)
    if _has_nothing_to_do(view):
        console.print("it is open, and has nothing to do")
        next_step(console, NextStep.of("plan build", Blank("BACKLOG"), session=line.ref))
        next_step(console, NextStep.of("session close", line.ref))
