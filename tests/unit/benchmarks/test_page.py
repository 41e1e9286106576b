"""The page that a run writes."""

from pathlib import Path

import pytest

from benchmarks.memory import Memory
from benchmarks.peers.catalogue import BARE, BARE_PROGRAM, PEERS, REPLAN, REPLAN_PROGRAM
from benchmarks.peers.document import Document
from benchmarks.peers.page import number, render
from benchmarks.peers.plots import charts
from benchmarks.peers.takings import Figure, Percentiles

FABRIC = next(each.name for each in PEERS if each.peer == "fabric")
PYINFRA = next(each.name for each in PEERS if each.peer == "pyinfra")
DOCUMENT = Document(
    date="2026-01-02",
    short=False,
    machine={"cores": "2", "kernel": "Linux 6"},
    versions={"peer fabric": "fabric 3"},
    missing={"dbos": "cannot be installed here: no wheel"},
    figures=[
        Figure("one-host", FABRIC, (19.0, 21.0, 20.0), Percentiles(48.0, 50.04, 61.0)),
        Figure("one-host", REPLAN.name, (390.0, 410.0, 400.0), Percentiles(2.5, 3.25, 4.0)),
        Figure("one-host", BARE.name, (250.0,)),
        Figure("one-host", PYINFRA, failure="it failed: a | b"),
    ],
    memory=Memory(80.0, 200, 201, 120.4, 10_000, 90.0, 91.5),
)


def lines(document: Document) -> list[str]:
    return render(document, ["one-host"]).splitlines()


def test_the_fastest_stands_first_with_what_bounds_it() -> None:
    """Ours in bold, the floors in italics, and how many times as fast we are."""
    rows = [line.split(" | ") for line in lines(DOCUMENT) if line.startswith("| ")]
    first, second, third, last = rows[1:5]
    assert first[:5] == ["| **replan**", "400", "390–410", "2.50 / 3.25 / 4.00", ""]
    assert second[:5] == ["| *bare paramiko*", "250", "250–250", "", "1.60 ×"]
    assert third[:5] == [f"| {FABRIC}", "20.0", "19.0–21.0", "48.0 / 50.0 / 61.0", "20.0 ×"]
    assert "TCP_NODELAY" in third[5]
    assert last == [f"| {PYINFRA}", "", "", "", "", "not measured: it failed: a / b |"]


def test_who_starts_a_program_is_compared_with_who_does_the_same() -> None:
    figures = [
        Figure("one-host", REPLAN.name, (900.0,)),
        Figure("one-host", REPLAN_PROGRAM.name, (300.0,)),
        Figure("one-host", BARE.name, (200.0,)),
        Figure("one-host", BARE_PROGRAM.name, (100.0,)),
    ]
    page = render(Document("2026-01-02", False, {}, {}, {}, figures))
    ratios = {row.split(" | ")[0]: row.split(" | ")[4] for row in page.splitlines() if " | " in row}
    assert ratios["| *bare paramiko*"] == "4.50 ×"
    assert ratios["| *bare paramiko: /bin/true*"] == "3.00 ×"
    assert ratios["| **replan: /bin/true**"] == ""


def test_what_is_missing_and_what_it_ran_on_is_said() -> None:
    """Nobody is left out in silence."""
    said = lines(DOCUMENT)
    assert "- dbos: cannot be installed here: no wheel" in said
    assert "- cores: 2" in said
    assert "- peer fabric: fabric 3" in said
    assert "| idle, holding 200 warm hosts (201 connections) | 120 |" in said
    assert "| growth | +1.5 |" in said


def test_only_plots_that_were_drawn_are_shown() -> None:
    """No broken picture."""
    assert "plots/one-host.svg" in render(DOCUMENT, ["one-host"])
    assert "plots/" not in render(DOCUMENT)


def test_a_short_run_says_so() -> None:
    """Its figures are not for comparing."""
    assert "A short run" not in render(DOCUMENT)
    short = Document("2026-01-02", True, {}, {}, {}, DOCUMENT.figures)
    assert "A short run" in render(short)


def test_without_ours_there_is_no_ratio() -> None:
    """A run in which replan failed is shown as it was."""
    figures = [Figure("one-host", REPLAN.name, failure="x"), DOCUMENT.figures[0]]
    page = render(Document("2026-01-02", False, {}, {}, {}, figures))
    assert "×" not in page
    assert "| **replan** |  |  |  |  | not measured: x |" in page


def test_a_document_comes_back_as_it_was(tmp_path: Path) -> None:
    """The page can be made again from the file."""
    DOCUMENT.write(tmp_path / "results.json")
    assert Document.read(tmp_path / "results.json") == DOCUMENT


def test_a_chart_holds_what_was_measured() -> None:
    """The fastest first; who has no figure has no bar."""
    (chart,) = charts(DOCUMENT)
    assert chart["key"] == "one-host"
    assert [(bar["name"], bar["rate"], bar["kind"]) for bar in chart["bars"]] == [
        ("replan", 400.0, "replan"),
        ("bare paramiko", 250.0, "floor"),
        (FABRIC, 20.0, "peer"),
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, ""), (1234.5, "1,234"), (100.4, "100"), (12.34, "12.3"), (0.5, "0.50")],
)
def test_numbers_have_three_digits(value: float | None, shown: str) -> None:
    """More would be noise."""
    assert number(value) == shown
