"""What the coordinator needs from outside."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from orchestrator.core.decisions import Decision
from orchestrator.core.state import RunState, TaskState
from shared.domain.errors import ReplanError
from shared.domain.facts import Fact
from shared.store.inbox import Report


class Unit(Protocol):
    """Everything between one look into the inbox and its commit."""

    reports: Sequence[Report]

    def turn_to(self, position: int) -> None:
        """What is saved from here on follows from the report at that position."""
        ...

    def task(self, task_id: int) -> TaskState:
        """The task as this unit sees it."""
        ...

    def run(self, run_id: int) -> RunState:
        """The run as this unit sees it."""
        ...

    def runs_of(self, task_id: int) -> Sequence[int]:
        """The runs of a task."""
        ...

    def save_task(
        self, task_id: int, state: TaskState, fact: Fact, decisions: Sequence[Decision]
    ) -> None:
        """State, event and decisions about a task, written together at the commit."""
        ...

    def save_run(
        self,
        task_id: int,
        run_id: int,
        state: RunState,
        fact: Fact,
        decisions: Sequence[Decision],
    ) -> None:
        """State, event and decisions about a run, written together at the commit."""
        ...

    def park(self, task_id: int, run_id: int | None, fact: Fact, error: ReplanError) -> None:
        """Keep a fact that could not be folded in, with the error, and tell an operator."""
        ...


class Ledger(Protocol):
    """Where states, events and the outbox are."""

    def open(self, limit: int) -> AbstractContextManager[Unit]:
        """A unit over the reports of at most `limit` tasks that no other coordinator is at.

        Leaving it commits all or nothing; after an error everything is as it was.
        """
        ...


class Bell(Protocol):
    """Tells workers that a job waits."""

    def ring(self, queue: str, job_ids: Sequence[int]) -> None:
        """Send messages for these jobs. Raises Transient while the broker is away."""
        ...

    def ringing(self, queue: str) -> int:
        """How many jobs the messages that nobody has taken ring for, at most. Raises Transient."""
        ...
