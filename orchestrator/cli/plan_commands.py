"""`replan plan …`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import first_line, plain
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref

group = typer.Typer(name="plan", no_args_is_help=True)

RefArgument = Annotated[str, typer.Argument(metavar="REF", help="A task: T12.")]


@add(group, "show", example="replan plan show T12")
def show_(call: Invocation, ref: RefArgument) -> Result:
    """The plan of a task as it was first; revisions are shown by `step show`."""
    from orchestrator.views.plans import plan_view

    with call.database.begin() as connection:
        view = plan_view(connection, parse_ref(ref))

    def show(console: Console) -> None:
        console.print(f"[bold]{view.ref}[/] {plain(view.summary)}")
        for step in view.steps:
            after = f" after {', '.join(step.depends_on)}" if step.depends_on else ""
            console.print(
                f"\n[bold]{step.ref}[/] {plain(step.title)} [dim]({plain(step.author)}{after})[/]"
            )
            for subtask in step.subtasks:
                console.print(f"  {subtask.ordinal}. {first_line(subtask.command, 100)}")
                if subtask.check:
                    console.print(f"     [dim]check: {first_line(subtask.check, 100)}[/]")
            if not step.subtasks:
                console.print("  [yellow]its subtasks are still to be planned[/]")

    return Result("plan.show", view, show)


@add(group, "provide", example="replan plan provide T12 --file plan.yaml")
def provide(
    call: Invocation,
    ref: RefArgument,
    *,
    file: Annotated[Path, typer.Option(help="The plan.")],
) -> Result:
    """Give the plan of a task that waits for a person to plan it."""
    from orchestrator.access.audit import Act
    from orchestrator.cli.task_commands import outcome, read_text
    from orchestrator.posting import post
    from orchestrator.views.tasks import task_view
    from shared.contracts.planfile import load_plan
    from shared.domain.config import Policy
    from shared.domain.facts import PlanDrafted
    from shared.wire import from_json

    place = parse_ref(ref)
    with call.database.begin() as connection:
        view = task_view(connection, place)
    plan = load_plan(read_text(file), policy=from_json(Policy, view.policy), source=str(file))
    if view.phase != "waiting" or any(run.phase != "not_started" for run in view.runs):
        raise Rejected(
            f"{view.ref} does not wait for a plan: it is {view.phase}",
            stage="input",
            next_step_cmd=f"replan task show {view.ref}",
        )
    act = Act("plan.provide", view.ref, {"file": file.name})
    taken = post(call.database, [(place.task, None, PlanDrafted(plan))], call.actor, act)
    with call.database.begin() as connection:
        after = task_view(connection, place)
    return outcome("plan.provide", {"ref": after.ref, "phase": after.phase}, taken=taken)
