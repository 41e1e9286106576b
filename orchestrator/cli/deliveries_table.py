"""The table of deliveries."""

from collections.abc import Iterable

from rich.table import Table

from orchestrator.cli.tables import listing, plain
from orchestrator.views.deliveries import DeliveryLine
from orchestrator.words.sessions import where_now


def deliveries_table(lines: Iterable[DeliveryLine]) -> Table:
    """A line for each delivery, which fits into 80 characters unless names are long."""
    rows = [
        (
            each.name,
            each.ref,
            plain(where_now(each.status, each.stage, each.rejection, each.place)),
            f"{each.files} (+{each.added} -{each.deleted})",
            plain(each.runner or "commands"),
            plain(each.title),
        )
        for each in lines
    ]
    return listing(("", "step", "now", "files", "by", ""), rows)
