"""Draws bar charts as SVG: the first argument is a file of charts, the second the folder."""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

COLOURS = {"replan": "#1b7f5c", "floor": "#9aa5b1", "peer": "#4b6cb7"}
HIGHEST = 3.0
"""Room for the number behind the longest bar, on a scale of logarithms."""


def draw(chart: dict[str, Any], folder: Path) -> None:
    """One chart: a bar for each contestant, the fastest on top."""
    bars = chart["bars"]
    rates = [bar["rate"] for bar in bars]
    figure = Figure(figsize=(8, 1.1 + 0.34 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    colours = [COLOURS[bar["kind"]] for bar in bars]
    drawn = axes.barh([bar["name"] for bar in bars], rates, color=colours, height=0.7)
    axes.bar_label(drawn, labels=[f"{rate:,.3g}" for rate in rates], padding=4, fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(min(rates) / 2, max(rates) * HIGHEST)
    axes.invert_yaxis()
    axes.set_title(chart["title"], fontsize=11, loc="left")
    axes.set_xlabel(f"{chart['unit']} (a scale of logarithms)", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
    figure.savefig(folder / f"{chart['key']}.svg", metadata={"Date": None, "Creator": None})


def main() -> None:
    """Draw all, the same bytes for the same figures."""
    mpl.rcParams.update({"svg.hashsalt": "replan", "svg.fonttype": "none"})
    for chart in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        draw(chart, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
