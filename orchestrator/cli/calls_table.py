"""The calls to models as a table that fits into 80 columns."""

from rich.console import Console

from orchestrator.cli.tables import in_colour, listing, plain, span
from orchestrator.views.spending import CallLine, CallList
from orchestrator.words.quantities import brief
from orchestrator.words.spending import amount, ending, remark

_HEADS = ("call", "for", "in/out", "cost", "took", "ended")


def show_calls(console: Console, found: CallList) -> None:
    """Print two lines for each call, and below the table what there is to say about some."""
    if not found.calls:
        console.print("no model calls")
        return
    console.print(listing(_HEADS, map(_row, found.calls)))
    for call in found.calls:
        if told := remark(call):
            console.print(f"call {call.id}: {plain(brief(told, 200))}", highlight=False)


def _row(call: CallLine) -> tuple[str, ...]:
    read = call.input_tokens + call.cache_read_tokens + call.cache_written_tokens
    cost = "?" if call.cost is None else amount(call.cost, estimated=call.estimated)
    return (
        str(call.id),
        f"{call.ref}\n[dim]{plain(call.purpose)}, {plain(call.model)}[/]",
        f"{read}/{call.output_tokens}",
        cost,
        span(call.seconds),
        in_colour(ending(call)),
    )
