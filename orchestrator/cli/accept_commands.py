"""`replan accept …`."""

from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import unread_answer
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import ApplyOption
from orchestrator.cli.tables import next_step, plain
from shared.domain.next_step import NextStep

group = typer.Typer(name="accept", no_args_is_help=True)


@add(group, "run", example="replan accept run D7 --apply")
def run(
    call: Invocation,
    name: Annotated[
        str,
        typer.Argument(metavar="WHAT", help="A delivery (D7), a step (T12.3) or a session (T12)."),
    ],
    *,
    reject: Annotated[bool, typer.Option("--reject", help="Send it back instead.")] = False,
    note: Annotated[str, typer.Option(help="Why, for its author: --reject needs it.")] = "",
    apply: ApplyOption = False,
) -> Result:
    """Accept what waits for a person: it goes into the queue of its session, or back.

    What needs nobody is accepted by itself once its checks are green.
    """
    from orchestrator.acts import deliveries
    from orchestrator.cli.deliveries_table import deliveries_table

    done = deliveries.accept(call.caller, name, reject=reject, note=note, apply=apply)
    said = done.value
    if not done.taken:
        return unread_answer("accept.run", said)
    again = NextStep.of("accept run", name, reject=bool(reject), note=note or None, apply=True)
    step = None if apply else again

    def show(console: Console) -> None:
        if not apply:
            console.print("would send back:" if reject else "would accept:")
        console.print(deliveries_table(said.deliveries))
        for line, why in zip(said.deliveries, said.why, strict=True):
            if not apply:
                console.print(f"{line.name}: {plain(why)}", highlight=False)
        next_step(console, step)

    return Result("accept.run", said, show, next_step=step)
