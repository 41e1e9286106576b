"""What a task of the rehearsal is to do, and all that is known beforehand about how it must end."""

from dataclasses import dataclass, field

from orchestrator.acts.submission import Submission
from shared.domain.attempt import Outcome
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


@dataclass(slots=True)
class Book:
    """Every order that was committed, by the number of its task."""

    orders: dict[int, Order] = field(default_factory=dict)

    def enter(self, task_id: int, order: Order) -> None:
        """Note a task that the database has taken."""
        self.orders[task_id] = order

    @property
    def never(self) -> frozenset[str]:
        """The names of the commands that must not run."""
        commands = (known for order in self.orders.values() for known in order.known)
        return frozenset(known.name for known in commands if not known.runs)
