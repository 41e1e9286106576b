"""The screen of `replan watch`: what waits for a person is on it, however much is at work."""

from datetime import UTC, datetime

import pytest
from rich.console import Console

from orchestrator.cli.watch_command import _screenful
from orchestrator.views.at_work import AtWork, Awaited, LiveKind, LiveLine
from shared.domain.ids import Ref

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def line(number: int, kind: LiveKind, phase: str, awaits: Awaited | None = None) -> LiveLine:
    ref = Ref(number, 1, target="a-host-of-a-long-name.example.org")
    return LiveLine(kind, ref, f"I{number}", "a title that is long, " * 9, phase, NOW, awaits)


@pytest.mark.parametrize(("things", "more"), [(5, 0), (20, 0), (21, 2), (60, 41)])
def test_it_fits_and_begins_with_what_waits_for_a_person(things: int, more: int) -> None:
    steps = [line(number, LiveKind.STEP, "running") for number in range(1, things)]
    asks = line(things, LiveKind.INTERVENTION, "approval", Awaited.PERSON)
    console = Console(width=80, height=24, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(_screenful(AtWork(NOW, (*steps, asks)), 20))
    _, first, *rest = captured.get().rstrip("\n").split("\n")
    assert first.startswith(f"intervention  I{things} T{things}.1@a-host")
    assert len(rest) + 1 == min(things, 20)
    assert (f"and {more} more" in rest[-1]) == bool(more)
    assert all(len(each) <= 80 for each in (first, *rest))
