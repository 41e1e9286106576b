"""Workers that die at any point of their work, as if by kill -9, and others that drive it on."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, text

from shared.domain.facts import Fact
from shared.domain.jobs import JobKind, QueueName
from shared.settings import Settings
from shared.store.database import Database
from tests.services.by_hand import carry_on
from workers.job_wiring import performers
from workers.process.leases import Hold
from workers.process.lifecycle import Lifecycle
from workers.wiring import Worker

_LEASE_IS_OVER = text("""
    UPDATE jobs SET lease_until = clock_timestamp() - interval '1 second' WHERE id = :id
""")


class WorkerKilled(BaseException):
    """The process is gone; nothing of it may tidy up."""


@dataclass
class Death:
    """Kills a worker at the first point of its job where none has come before it.

    Points are named, and numbered where a worker passes several of a name. Of every `stride` new
    points, one kills. `killed` are those that did, by job.
    """

    stride: int = 1
    killed: dict[int, list[str]] = field(default_factory=dict)
    _job: int = 0
    _armed: bool = False
    _met: set[tuple[int, str]] = field(default_factory=set)
    _passed: Counter[str] = field(default_factory=Counter)

    def begin(self, job: int) -> None:
        """A worker begins with a job, and is not in danger yet."""
        self._job, self._armed = job, False
        self._passed.clear()
        self.killed.setdefault(job, [])

    def arm(self) -> None:
        """From now on, the worker may die."""
        self._armed = True

    def strike(self, name: str) -> None:
        """Pass a point."""
        if not self._armed:
            return
        self._passed[name] += 1
        point = f"{name} {self._passed[name]}"
        if (self._job, point) in self._met:
            return
        self._met.add((self._job, point))
        if len(self._met) % self.stride == 0:
            self.killed[self._job].append(point)
            self._armed = False
            raise WorkerKilled(point)

    def around(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        """The act, with a point before it and one after it."""

        def do(*given: Any, **more: Any) -> Any:
            self.strike(f"before {name}")
            result = act(*given, **more)
            self.strike(f"after {name}")
            return result

        return do


class Around:
    """Something whose named methods have a point before and after each call."""

    def __init__(self, inner: Any, death: Death, *names: str) -> None:
        self._inner = inner
        self._changed = {name: death.around(name, getattr(inner, name)) for name in names}

    def __getattr__(self, name: str) -> Any:
        return self._changed.get(name) or getattr(self._inner, name)


class MortalDatabase:
    """A database whose worker may die before a commit, after one, and after what it has read."""

    def __init__(self, inner: Database, death: Death) -> None:
        self._inner, self._death = inner, death

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction."""
        with self._inner.begin() as connection:
            yield connection
            self._death.strike("before a commit")
        self._death.strike("after a commit")

    @contextmanager
    def autocommit(self) -> Iterator[Connection]:
        """Something is read."""
        with self._inner.autocommit() as connection:
            yield connection
        self._death.strike("after reading")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class MortalConnections:
    """Connections on whose shells a worker may die before and after every command."""

    def __init__(self, inner: Any, death: Death) -> None:
        self._inner, self._death = inner, death

    def shell(self, *given: Any) -> Any:
        """A shell."""
        return Around(self._inner.shell(*given), self._death, "run")

    def close(self) -> None:
        """Nothing to give back."""


@dataclass
class Mortals:
    """Workers one after another, each of which dies later in its job than the one before it."""

    database: Database
    lifecycle: Lifecycle
    death: Death

    def carry_on(self) -> None:
        """Run until nothing is left to do, whoever dies on the way."""
        carry_on(self.database, self._carry_out)

    def _carry_out(self, job: int) -> None:
        self.death.begin(job)
        try:
            self.lifecycle.carry_out(job)
        except WorkerKilled:
            with self.database.begin() as connection:
                connection.execute(_LEASE_IS_OVER, {"id": job})


def mortal_lifecycle(
    worker: Worker,
    settings: Settings,
    death: Death,
    kind: JobKind,
    *,
    arms: bool,
    queues: Collection[QueueName],
) -> Lifecycle:
    """The life of jobs in which those of the kind may kill; `arms` says from their beginning."""
    database: Any = MortalDatabase(worker.database, death)
    journal: Any = MortalJournal(worker.journal, death)
    connections: Any = MortalConnections(worker.connections, death)
    made = performers(settings, database, journal, connections, worker.secrecy)
    perform = made[kind]

    def mortal(hold: Hold) -> Fact:
        if arms:
            death.arm()
        return perform(hold)

    return Lifecycle(
        worker.database,
        journal,
        worker.keeper,
        owner="mortal",
        lease=600.0,
        queues=queues,
        performers={**made, kind: mortal},
    )


class MortalJournal:
    """A journal whose worker may die before and after it notes or reports something."""

    def __init__(self, inner: Any, death: Death) -> None:
        self._inner, self._death = inner, death

    def report(self, *given: Any) -> Any:
        """A report is written once its worker waits for it."""
        self._death.strike("before the report")
        return Around(self._inner.report(*given), self._death, "result")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        ends = name in {"begin_attempt", "end_attempt"}
        return self._death.around(name, found) if ends else found
