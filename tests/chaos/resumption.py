"""How long the work in hand lies still after a fault.

After a kill until another worker claims the job; after a fault that its worker may survive, until
somebody claims it or its own worker has done it.
"""

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
    """A job that a worker had in hand when a fault came, under the fence of its claim."""

    job_id: int
    fence: int
    since: float
    fault: str
    killed: bool

    def goes_on(self, row: Any) -> bool:
        """Whether its row says that it does."""
        if row.state == "cancelled":
            return False
        return row.fence > self.fence or (not self.killed and row.state == "done")


@dataclass
class Resumptions:
    """Looks after the jobs that were in hand when a fault came.

    `seconds` are the spans that are known so far, by the `fault` that was injected.
    """

    rows: Asks
    fault: str = ""
    seconds: dict[str, list[float]] = field(default_factory=dict)
    waiting: list[Abandoned] = field(default_factory=list)

    def expect(self, pid: int | None = None, *, killed: bool = True) -> None:
        """Note what the worker with that process id has in hand, or what all have.

        `killed` says that this worker can do nothing more itself.
        """
        held = self.rows.soon(
            "SELECT id, fence FROM jobs WHERE state = 'open' AND owner LIKE :owner"
            " AND lease_until > clock_timestamp()",
            owner="%" if pid is None else f"%.{pid}@%",
        )
        now = time.monotonic()
        killed = killed and pid is not None
        self.waiting += [Abandoned(row.id, row.fence, now, self.fault, killed) for row in held]

    def look(self) -> None:
        """See which of them go on; what a killed worker had done already is forgotten."""
        if not self.waiting:
            return
        ids = [job.job_id for job in self.waiting]
        found = self.rows.soon("SELECT id, fence, state FROM jobs WHERE id = ANY(:ids)", ids=ids)
        now, rows = time.monotonic(), {row.id: row for row in found}
        if not rows:
            return
        for job in list(self.waiting):
            row = rows.get(job.job_id)  # a database that was set back may have forgotten it
            goes_on = row is not None and job.goes_on(row)
            if goes_on:
                self.seconds.setdefault(job.fault, []).append(now - job.since)
            if goes_on or row is None or row.state != "open":
                self.waiting.remove(job)

    @property
    def everything(self) -> list[float]:
        """All spans, whatever the fault was."""
        return [span for spans in self.seconds.values() for span in spans]


def percentiles(spans: list[float]) -> tuple[float, float]:
    """The p50 and the p95 of some spans (s), of which there is at least one."""
    if len(spans) == 1:
        return spans[0], spans[0]
    cuts = quantiles(spans, n=20, method="inclusive")
    return cuts[9], cuts[18]
