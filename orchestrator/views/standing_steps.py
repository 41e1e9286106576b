"""A step in a run as the core knows it, and the job that is open for it."""

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, select, text

from orchestrator.core.state import StepState
from orchestrator.rows import step_state
from orchestrator.views.places import RunPlace, require_step
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref
from shared.domain.task import StepPhase
from shared.store.tables import RunStepRow

_JOB = text("""
    SELECT extract(epoch FROM due_at - clock_timestamp())::float8 AS due_in,
           coalesce(lease_until > clock_timestamp(), false) AS held
    FROM jobs WHERE run_id = :run_id AND step = :step AND state = 'open'
    ORDER BY id DESC LIMIT 1
""")


class PassWay(StrEnum):
    """How the next pass of a step comes about."""

    AGAIN = "again"  # it waits or has failed: its counters are cleared, and it runs again
    ON = "on"  # its pass came to no end: that one is driven on
    NOW = "now"  # it was put off: it does not wait any longer


@dataclass(frozen=True, slots=True)
class RunPass:
    """The step whose pass is carried out; `applied` says whether anything was written."""

    ref: RefValue
    phase: StepPhase
    way: PassWay
    pass_no: int
    applied: bool


@dataclass(frozen=True, slots=True)
class StandingStep:
    """A step, and in how many seconds its job is due: None if it has none; `held` by a worker."""

    place: RunPlace
    state: StepState
    due_in: float | None
    held: bool

    @property
    def ref(self) -> Ref:
        """The step as people name it."""
        return self.place.step(self.state.ordinal)


def standing_step(connection: Connection, ref: Ref) -> StandingStep:
    """The step that a reference, which may be an attempt's, belongs to. Raises Rejected."""
    place, ordinal = require_step(connection, Ref(ref.task, ref.step, target=ref.target))
    chosen = (RunStepRow.run_id == place.run_id, RunStepRow.step == ordinal)
    row = connection.execute(select(RunStepRow.__table__).where(*chosen)).one()
    job = connection.execute(_JOB, {"run_id": place.run_id, "step": ordinal}).one_or_none()
    return StandingStep(
        place,
        step_state(row),
        due_in=None if job is None else job.due_in,
        held=job is not None and job.held,
    )
