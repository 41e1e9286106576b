"""`replan intervention …`."""

from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, moment, next_step, plain
from shared.domain.ids import parse_ref

group = typer.Typer(name="intervention", no_args_is_help=True)


@add(group, "list", example="replan intervention list")
def list_(
    call: Invocation,
    ref: Annotated[str | None, typer.Argument(metavar="[REF]", help="Only of that task.")] = None,
) -> Result:
    """What waits for a person, and what can be typed about it."""
    from orchestrator.views.interventions import list_interventions
    from orchestrator.views.places import require_task

    place = None if ref is None else parse_ref(ref)
    with call.database.begin() as connection:
        task_id = None if place is None else require_task(connection, place)
        found = list_interventions(connection, task_id=task_id)

    def show(console: Console) -> None:
        if not found:
            console.print("nothing waits for you")
            return
        rows = [(i.ref, i.kind, moment(i.opened_at), plain(i.reason)) for i in found]
        console.print(listing(("where", "why", "since", ""), rows))
        for waits in found:
            next_step(console, waits.next_step_cmd)

    return Result("intervention.list", {"interventions": list(found)}, show, items=found)
