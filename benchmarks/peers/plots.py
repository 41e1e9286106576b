"""A bar chart for each workload, drawn by a library that has an environment of its own."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.document import Document
from benchmarks.peers.environments import ROOT, Environment, last_words
from benchmarks.peers.page import CONTESTANTS
from benchmarks.peers.workloads import WORKLOADS

ENVIRONMENT: Final = Environment("plot")
PATIENCE: Final = 120.0


class NotDrawnError(Exception):
    """There are no plots; the message says why."""


def charts(document: Document) -> list[Mapping[str, Any]]:
    """What is to be drawn: the bars of each workload, the fastest first."""
    made: list[Mapping[str, Any]] = []
    for workload in WORKLOADS:
        figures = [figure for figure in document.of(workload.key) if figure.rate]
        figures.sort(key=lambda figure: -(figure.rate or 0))
        bars = [
            {
                "name": figure.contestant,
                "rate": figure.rate,
                "kind": CONTESTANTS[figure.contestant].kind.value,
            }
            for figure in figures
            if figure.contestant in CONTESTANTS
        ]
        if bars:
            made.append(
                {
                    "key": workload.key,
                    "title": workload.title.replace("`", ""),
                    "unit": workload.unit,
                    "bars": bars,
                }
            )
    return made


def draw(document: Document, folder: Path) -> list[str]:
    """Write `<workload>.svg` files into `folder`; returns their keys. Raises NotDrawnError."""
    wanted = charts(document)
    folder.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(wanted, file)
        file.flush()
        words = (str(ENVIRONMENT.python), "-m", "benchmarks.peers.programs.draw")
        try:
            done = subprocess.run(
                (*words, file.name, str(folder)),
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotDrawnError(f"the plots were not drawn: {type(error).__name__}") from error
    if done.returncode != 0:
        raise NotDrawnError(f"the plots were not drawn: {last_words(done.stderr)}")
    return [chart["key"] for chart in wanted]
