"""`replan step …`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.intervention_text import show_reasons, show_waiting
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.revision_text import show_history
from orchestrator.cli.tables import coloured, first_line, listing, plain, span
from orchestrator.cli.task_commands import outcome, read_text
from shared.domain.errors import Rejected
from shared.domain.facts import RevisionRequested, RunFact, StepAbandoned, StepRevised
from shared.domain.ids import parse_ref

if TYPE_CHECKING:  # the views bring SQLAlchemy along: `--help` is quick
    from orchestrator.views.steps import StepView

group = typer.Typer(name="step", no_args_is_help=True)

RefArgument = Annotated[str, typer.Argument(metavar="REF", help="A step: T12.2, or T12.2@web1.")]


@add(group, "show", example="replan step show T12.2@web1")
def show_(call: Invocation, ref: RefArgument) -> Result:
    """A step: its subtasks, what was tried, and the history of its revisions."""
    from orchestrator.views.steps import step_view

    with call.database.begin() as connection:
        view = step_view(connection, parse_ref(ref))
    step = view.step

    def show(console: Console) -> None:
        console.print(f"[bold]{step.ref}[/] {coloured(step.phase)} {plain(step.title)}")
        console.print(f"  planned by {plain(step.author)}, revision {step.revision}")
        if step.reason:
            console.print(f"  {plain(step.reason)}")
        if view.question:
            console.print(f"  asked: {plain(view.question)} – {plain(view.answer or 'no answer')}")
        rows = [(s.ref, coloured(s.status), first_line(s.planned.command)) for s in view.subtasks]
        console.print(listing(("subtask", "status", "command"), rows))
        if view.attempts:
            tried = [
                (
                    a.ref,
                    coloured(a.outcome),
                    "rollback" if a.rollback else plain(a.correction or ""),
                    span(a.seconds),
                    first_line(a.command, 60),
                )
                for a in view.attempts
            ]
            console.print()
            console.print(listing(("attempt", "outcome", "correction", "took", "command"), tried))
            show_reasons(console, view.attempts)
        show_history(console, view)
        show_waiting(console, view.interventions)

    return Result("step.show", view, show)


@add(group, "revise", example="replan step revise T12.2@web1 --file subtasks.yaml")
def revise(
    call: Invocation,
    ref: RefArgument,
    *,
    file: Annotated[Path | None, typer.Option(help="The new subtasks.")] = None,
    now: Annotated[bool, typer.Option("--now", help="Send it to its planner now.")] = False,
    note: Annotated[str, typer.Option(help="What the planner should know.")] = "",
) -> Result:
    """Give a step new subtasks yourself (--file), or have its planner revise it (--now).

    The step keeps its author: later evidence goes to the planner that wrote it first. A file may
    name subtasks of earlier lists under `rollback`: those that ran are undone first.
    """
    from orchestrator.acts.secret_names import check_secrets
    from orchestrator.views.steps import step_view
    from orchestrator.views.tasks import task_view
    from shared.contracts.planfile import load_revision, rollback_of

    if (file is None) is not now:
        raise Rejected(
            "say either --file FILE or --now",
            stage="input",
            next_step_cmd=f"replan step show {ref}",
        )
    place = parse_ref(ref)
    with call.database.begin() as connection:
        view = step_view(connection, place)
        policy = task_view(connection, place).policy
    step = view.step
    if step.phase in {"done", "cancelled", "replaced"}:
        raise Rejected(
            f"{step.ref} is {step.phase}: there is nothing to revise",
            stage="input",
            next_step_cmd=f"replan step show {step.ref}",
        )
    if file is None:
        if step.phase in {"not_started", "error", "skipped"}:
            raise Rejected(
                f"{step.ref} is {step.phase}: there is no evidence to revise it from",
                stage="input",
                next_step_cmd=f"replan step revise {step.ref} --file FILE",
            )
        return _post(call, "step.revise", ref, RevisionRequested(step.ordinal, note))
    command = f"replan step revise {step.ref} --file {file}"
    text = read_text(file)
    subtasks = load_revision(text, policy=policy, source=str(file), next_step_cmd=command)
    undone = rollback_of(text, source=str(file), next_step_cmd=command)
    _refuse_unknown(undone, view, command)
    check_secrets(subtasks, where=f"step {step.ordinal}")
    reason = note or f"given by hand: {file.name}"
    fact = StepRevised(step.ordinal, step.revision + 1, step.author, subtasks, reason, undone)
    return _post(call, "step.revise", ref, fact)


@add(group, "abandon", example="replan step abandon T12.2@web1")
def abandon(call: Invocation, ref: RefArgument) -> Result:
    """Give a step up that waits for you: it ends in error."""
    from orchestrator.views.steps import step_view

    with call.database.begin() as connection:
        step = step_view(connection, parse_ref(ref)).step
    if step.phase not in {"waiting", "blocked"}:
        raise Rejected(
            f"{step.ref} does not wait for you: it is {step.phase}",
            stage="input",
            next_step_cmd=f"replan step show {step.ref}",
        )
    return _post(call, "step.abandon", ref, StepAbandoned(step.ordinal))


def _refuse_unknown(undone: tuple[str, ...], view: "StepView", command: str) -> None:
    for key in undone:
        named = [s for each in view.revisions for s in each.subtasks if s.key == key]
        if any(subtask.rollback is not None for subtask in named):
            continue
        why = "says no command that undoes it" if named else "is no subtask of any of its lists"
        raise Rejected(
            f"rollback: {key!r} of {view.step.ref} {why}", stage="revise", next_step_cmd=command
        )


def _post(call: Invocation, kind: str, ref: str, fact: RunFact) -> Result:
    from orchestrator.access.audit import Act
    from orchestrator.acts.posting import post
    from orchestrator.views.places import require_step
    from orchestrator.views.steps import step_view

    with call.database.begin() as connection:
        place, _ = require_step(connection, parse_ref(ref))
        step = step_view(connection, parse_ref(ref)).step
    act = Act(kind, str(step.ref), {"fact": type(fact).__name__})
    taken = post(call.database, [(place.task_id, place.run_id, fact)], call.actor, act)
    with call.database.begin() as connection:
        step = step_view(connection, parse_ref(ref)).step
    return outcome(kind, {"ref": str(step.ref), "phase": step.phase}, taken=taken)
