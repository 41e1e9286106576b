"""`replan schema …`."""

import json
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep

group = typer.Typer(name="schema", no_args_is_help=True)


@add(group, "show", example="replan schema show task.show")
def show_(
    call: Invocation,  # noqa: ARG001 - every command takes it
    kind: Annotated[
        str | None, typer.Argument(help="The kind; without one, all are listed.")
    ] = None,
) -> Result:
    """Show the JSON Schema of a command's output, a plan file, a bundle or an answer."""
    from orchestrator.cli.schemas import DETAILS, schema_of
    from shared.contracts import schemas as contracts

    if kind is None:
        kinds = sorted((*DETAILS, *contracts.SCHEMAS))
        return Result(
            "schema.show", {"kinds": kinds}, lambda console: console.print("\n".join(kinds))
        )
    if kind not in DETAILS and kind not in contracts.SCHEMAS:
        raise Rejected(
            f"{kind!r} is not a valid kind of answer",
            stage="input",
            next_step=NextStep.of("schema show"),
        )
    schema = schema_of(kind) if kind in DETAILS else contracts.schema_of(kind)

    def show(console: Console) -> None:
        console.out(json.dumps(schema, indent=2), highlight=False)

    return Result("schema.show", schema, show)
