"""Coordinators and workers as a table."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from rich.table import Table

from orchestrator.cli.tables import listing, plain, span
from orchestrator.views.processes import Presence, ProcessLine
from orchestrator.words.quantities import clock
from orchestrator.words.serving import describe_doing, name_roles

_COLOURS: Final = {Presence.SILENT: "yellow", Presence.GONE: "red"}


def process_rows(processes: Iterable[ProcessLine], now: datetime) -> Table:
    """A row for each, with what it does now."""
    rows = [
        (
            plain(each.name),
            plain(name_roles(each)),
            _since(each.since, now),
            _ago(each.heard_at, now),
            _coloured(each.presence, plain(describe_doing(each))),
        )
        for each in processes
    ]
    return listing(("process", "role", "since", "heard of", "now"), rows)


def _since(at: datetime | None, now: datetime) -> str:
    """The time of day, or the day if that was another one."""
    if at is None:
        return ""
    today = at.astimezone().date() == now.astimezone().date()
    return clock(at) if today else at.astimezone().strftime("%Y-%m-%d")


def _ago(at: datetime | None, now: datetime) -> str:
    return "" if at is None else f"{span(max(0.0, (now - at).total_seconds()))} ago"


def _coloured(presence: Presence, told: str) -> str:
    colour = _COLOURS.get(presence)
    return f"[{colour}]{told}[/]" if colour else told
