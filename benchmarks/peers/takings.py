"""What was measured: one taking is one time that somebody did a workload."""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Taking:
    """So many commands a second; each one's milliseconds where they are known."""

    rate: float
    latencies_ms: Sequence[float] = ()

    @classmethod
    def parse(cls, text: str, expected: int) -> "Taking":
        """The taking in a program's last line.

        Raises ValueError, saying why, when there is none, or when not all commands succeeded.
        """
        lines = text.strip().splitlines()
        if not lines:
            raise ValueError("it said nothing")
        try:
            line = json.loads(lines[-1])
            count, seconds = int(line["count"]), float(line["seconds"])
            latencies = [float(latency) for latency in line["latencies_ms"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"its last line is not the answer: {lines[-1][:120]}") from error
        if count != expected:
            raise ValueError(f"{count} of {expected} commands succeeded")
        if not seconds > 0:
            raise ValueError(f"it took {seconds} s")
        return cls(count / seconds, latencies)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of one command's milliseconds."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Percentiles | None":
        """By nearest rank; None when there are no values."""
        ranked = sorted(values)
        if not ranked:
            return None

        def rank(share: float) -> float:
            return round(ranked[max(0, math.ceil(share * len(ranked)) - 1)], 3)

        return cls(rank(0.50), rank(0.95), rank(0.99))


@dataclass(frozen=True, slots=True)
class Figure:
    """All takings of one contestant at one workload, in short.

    `failure` says why there is none, or why there are fewer than there should be.
    """

    workload: str
    contestant: str
    rates: tuple[float, ...] = ()
    percentiles: Percentiles | None = None
    failure: str = ""

    @property
    def rate(self) -> float | None:
        """The median; None when nothing was measured."""
        return statistics.median(self.rates) if self.rates else None


@dataclass(slots=True)
class Takings:
    """What gathers while it is measured."""

    taken: list[Taking] = field(default_factory=list)
    failure: str = ""

    def figure(self, workload: str, contestant: str) -> Figure:
        """In short."""
        every = (latency for taking in self.taken for latency in taking.latencies_ms)
        rates = tuple(round(taking.rate, 2) for taking in self.taken)
        return Figure(workload, contestant, rates, Percentiles.of(every), self.failure)
