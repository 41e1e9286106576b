"""What a task of the rehearsal is to do, and all that is known beforehand about how it must end."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.acts.submission import Submission
from shared.domain.outcome import Outcome
from shared.domain.task import TaskPhase


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt as it must stand in its row; a stream that is None is not compared."""

    outcome: Outcome = Outcome.OK
    exit_code: int | None = 0
    stdout: str | None = ""
    stderr: str | None = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A command: its name in the ledger, its place in the plan, and its attempts in order.

    One that must never run has attempts without an exit code, or none at all.
    """

    name: str
    step: int
    subtask: int
    tries: tuple[Try, ...]
    revision: int = 0

    @property
    def runs(self) -> int:
        """How often it must run."""
        return sum(each.exit_code is not None for each in self.tries)

    @property
    def ends(self) -> int:
        """How often it must get to its last word, at the least."""
        return sum(each.outcome is Outcome.OK for each in self.tries)


@dataclass(frozen=True, slots=True)
class Order:
    """A task to submit under `tag`, the phase in which it must rest, and its commands."""

    tag: str
    target: str
    submission: Submission
    known: tuple[Known, ...]
    phase: TaskPhase = TaskPhase.DONE


@dataclass(frozen=True, slots=True)
class PassOnHost:
    """A pass under which a host has started commands: the token of its run, and its place."""

    run: str
    step: int
    revision: int
    pass_no: int


@dataclass(slots=True)
class Book:
    """Every order that was committed, by the number of its task.

    After a failover that lost commits, `forgotten` holds the orders that were committed too late to
    be kept, and `lost` those that should have been kept and were not. `claims` are the claims of
    jobs that were lost, and `passes` what hosts had begun under them in runs that were kept.
    `spans` are those (s since the epoch) whose commits were lost.
    """

    orders: dict[int, Order] = field(default_factory=dict)
    forgotten: list[Order] = field(default_factory=list)
    lost: list[Order] = field(default_factory=list)
    claims: set[str] = field(default_factory=set)
    passes: set[PassOnHost] = field(default_factory=set)
    spans: list[tuple[float, float]] = field(default_factory=list)

    def enter(self, task_id: int, order: Order) -> None:
        """Note a task that the database has taken."""
        self.orders[task_id] = order

    def reconcile(self, tags: Mapping[int, str], kept: Mapping[int, Order]) -> None:
        """Take over what a database says that was set back: the tags of its tasks by number.

        `kept` are the orders that were committed before the moment to which it was set back.
        """
        for task_id, order in list(self.orders.items()):
            if tags.get(task_id) != order.tag:
                del self.orders[task_id]
                (self.lost if kept.get(task_id) is order else self.forgotten).append(order)

    def is_from_before(self, moment: float) -> bool:
        """Whether what happened then may be older than the decisions that the database has now."""
        return any(since <= moment <= until for since, until in self.spans)

    @property
    def known(self) -> frozenset[str]:
        """The names of all commands that were ever ordered."""
        orders = (*self.orders.values(), *self.forgotten, *self.lost)
        return frozenset(known.name for order in orders for known in order.known)

    @property
    def never(self) -> frozenset[str]:
        """The names of the commands that must not run."""
        commands = (known for order in self.orders.values() for known in order.known)
        return frozenset(known.name for known in commands if not known.runs)
