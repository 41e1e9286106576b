"""The jobs of the simulated world."""

from dataclasses import dataclass

from orchestrator.core.decisions import Enqueue
from orchestrator.core.state import RunState
from shared.domain.author import PlanningRole
from shared.domain.delivery import Acceptance
from shared.domain.jobs import JobKind


@dataclass
class OpenJob:
    """A job that a worker may take; `run` is None for a task's.

    The last three fields are what its worker reads of the delivery and of the run.
    """

    run: int | None
    step: int | None
    kind: JobKind
    revision: int
    pass_no: int
    postponed: int
    role: PlanningRole
    started: bool = False
    looks: int = 0
    acceptance: Acceptance | None = None
    head: str | None = None
    accepted: int = 0

    @classmethod
    def of(cls, run: int | None, asked: Enqueue, state: RunState | None) -> "OpenJob":
        """The job that was asked for, of a run in that state."""
        at = None if state is None or asked.step is None else state.steps[asked.step]
        return cls(
            run,
            asked.step,
            asked.kind,
            asked.revision,
            asked.pass_no,
            asked.postponed,
            asked.role,
            looks=asked.looks,
            acceptance=None if at is None else at.acceptance,
            head=None if state is None else state.head,
            accepted=0 if state is None else state.accepted,
        )
