"""The whole of a run in one JSON file, from which the page can be made again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.memory import Memory
from benchmarks.peers.takings import Figure, Percentiles


@dataclass(frozen=True, slots=True)
class Document:
    """A run.

    `date` is ISO 8601, UTC; `versions` are of the peers' packages; `missing` says of each peer that
    did not take part why.
    """

    date: str
    short: bool
    machine: Mapping[str, str]
    versions: Mapping[str, str]
    missing: Mapping[str, str]
    figures: Sequence[Figure]
    memory: Memory | None = None

    def of(self, workload: str) -> list[Figure]:
        """The figures of one workload, in the order in which they were taken."""
        return [figure for figure in self.figures if figure.workload == workload]

    def write(self, path: Path) -> None:
        """Keep it."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> "Document":
        """What `write` kept."""
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        values["figures"] = [_figure(each) for each in values["figures"]]
        values["memory"] = Memory(**values["memory"]) if values["memory"] else None
        return cls(**values)


def _figure(values: dict[str, Any]) -> Figure:
    values["rates"] = tuple(values["rates"])
    if values["percentiles"] is not None:
        values["percentiles"] = Percentiles(**values["percentiles"])
    return Figure(**values)
