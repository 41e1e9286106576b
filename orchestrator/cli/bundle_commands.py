"""`replan bundle …`."""

from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import tasks
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import place_answer
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import moment, plain
from shared.domain.bundle import Bundle
from shared.domain.cause import describe_cause
from shared.domain.ids import parse_ref

group = typer.Typer(name="bundle", no_args_is_help=True)


@add(group, "show", example="replan bundle show T12.2@web1")
def show_(
    call: Invocation,
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="A step: T12.2@web1.", autocompletion=tasks)
    ],
    *,
    revision: Annotated[
        int | None, typer.Option(min=0, help="The bundle of this revision.")
    ] = None,
) -> Result:
    """Show the evidence of a step, byte for byte as its planner receives it."""
    from orchestrator.views.plans import bundle_view

    with call.reading() as connection:
        view = bundle_view(connection, parse_ref(ref), revision=revision)
    bundle = view.bundle

    def show(console: Console) -> None:
        console.print(f"[bold]{view.ref}[/] revision {view.revision}, {moment(view.created_at)}")
        if view.evidence:
            # printed raw: the console would wrap lines and interpret tabs and brackets
            console.out(f"{view.evidence}\n", highlight=False)
        else:
            _show_fields(console, bundle)
        console.print(plain(bundle.request))

    return Result("bundle.show", view, show)


@add(group, "send", example='replan bundle send T12.2@web1 --note "the mirror is down"')
def send(
    call: Invocation,
    ref: Annotated[
        str,
        typer.Argument(metavar="REF", help="A step that waits: T12.2@web1.", autocompletion=tasks),
    ],
    *,
    note: Annotated[str, typer.Option(help="What else the planner should know.")] = "",
) -> Result:
    """Send a held bundle to the planner of the step, exactly as it was shown to you.

    Bundles wait when `hold_bundles` is set, when `send_to_planner_after_threshold` is off, and when
    no revisions are left. (`step revise --now` gathers new evidence.)
    """
    from orchestrator.acts import bundles

    done = bundles.send(call.caller, parse_ref(ref), note)
    return place_answer("bundle.send", done.value, taken=done.taken)


def _show_fields(console: Console, bundle: Bundle) -> None:
    """Show a bundle that was stored without its text."""
    console.print(f"{plain(bundle.step_title)}: {plain(bundle.reason)}")
    _paragraph(console, "on the host", tuple(map(describe_cause, bundle.causes)))
    _paragraph(console, "deliveries that came back", bundle.rejections)
    _paragraph(console, "failed assumptions", bundle.failed_assumptions)
    _paragraph(console, "already tried", bundle.hypotheses)
    _paragraph(console, "earlier revisions", bundle.earlier_revisions)
    _paragraph(console, "the steps of the task", bundle.plan)
    _paragraph(console, "the machine", tuple(f"{k}: {v}" for k, v in bundle.host.items()))
    for attempt in bundle.attempts:
        exited = f"exit code {attempt.exit_code}"
        how = exited if attempt.exit_code is not None else plain(attempt.reason) or "not run"
        console.print(f"\n[bold]{attempt.ref}[/] {attempt.outcome}, {how}")
        console.print(f"$ {plain(attempt.command)}", highlight=False)
        for text in (attempt.stdout, attempt.stderr, attempt.check_output):
            if text:
                console.print(plain(text.rstrip("\n")), highlight=False)
    for name, text in bundle.snapshot.items():
        console.print(f"\n[dim]── {plain(name)}[/]")
        console.print(plain(text.rstrip("\n")), highlight=False)


def _paragraph(console: Console, title: str, lines: tuple[str, ...]) -> None:
    if lines:
        console.print(f"\n[dim]── {title}[/]")
        for line in lines:
            console.print(plain(line), highlight=False)
