"""How long work lies still after a kill of its worker, until the next claim of its job."""

import time
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any, Protocol


class Asks(Protocol):
    """Rows, as far as they are needed here."""

    def soon(self, query: str, **values: object) -> Any:
        """The rows of a query; none at all when the database is away."""
        ...


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A job that a killed worker had in hand, under the fence of its claim."""

    job_id: int
    fence: int
    since: float
    phase: str


@dataclass
class Resumptions:
    """Looks after the jobs of killed workers.

    `seconds` are the spans that are known so far, by the `phase` in which the kill was.
    """

    rows: Asks
    phase: str = ""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    waiting: list[Abandoned] = field(default_factory=list)

    def expect(self, pid: int) -> None:
        """Note what the worker with that process id has in hand; it is about to be killed."""
        held = self.rows.soon(
            "SELECT id, fence FROM jobs WHERE state = 'open' AND owner LIKE :owner"
            " AND lease_until > clock_timestamp()",
            owner=f"%.{pid}@%",
        )
        now = time.monotonic()
        self.waiting += [Abandoned(row.id, row.fence, now, self.phase) for row in held]

    def look(self) -> None:
        """See which of them somebody has taken since; what was done or withdrawn is forgotten."""
        if not self.waiting:
            return
        ids = [job.job_id for job in self.waiting]
        found = self.rows.soon("SELECT id, fence, state FROM jobs WHERE id = ANY(:ids)", ids=ids)
        now, rows = time.monotonic(), {row.id: row for row in found}
        if not rows:
            return
        for job in list(self.waiting):
            row = rows[job.job_id]
            taken = row.fence > job.fence and row.state != "cancelled"
            if taken:
                self.seconds.setdefault(job.phase, []).append(now - job.since)
            if taken or row.state != "open":
                self.waiting.remove(job)

    def told(self) -> list[str]:
        """A line for each phase, and one for all: how many, p50 and p95."""
        everything = [span for spans in self.seconds.values() for span in spans]
        named = {**self.seconds, "all": everything}
        return [f"{name}: {percentiles(spans)}" for name, spans in named.items()]


def percentiles(spans: list[float]) -> str:
    """How many spans (s) there are, and the p50 and p95 of them."""
    if len(spans) < 2:
        return f"{len(spans)}"
    cuts = quantiles(spans, n=20, method="inclusive")
    return f"{len(spans)}, p50 {cuts[9]:.1f} s, p95 {cuts[18]:.1f} s"
