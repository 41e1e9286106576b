"""The steps of a run that a person may still replace."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from orchestrator.core.replacement_rules import is_replaceable
from orchestrator.core.state import WaitsFor
from orchestrator.views.final_plan import revised_subtasks
from orchestrator.views.places import RunPlace, one_run
from shared.domain.ids import Ref
from shared.domain.plan import Plan, Step
from shared.domain.task import ENDED_STEP, StepPhase
from shared.store import planned
from shared.store.tables import RunStepRow


@dataclass(frozen=True, slots=True)
class RemainingSteps:
    """What remains of the plan of a run.

    `steps` may be replaced, each with its newest subtasks; `at_work` may not be, for a command of
    theirs may run. `known` is the highest number of a step.
    """

    place: RunPlace
    known: int
    steps: tuple[Step, ...]
    at_work: tuple[int, ...]

    @property
    def plan(self) -> Plan:
        """The replaceable steps as a plan of their own, numbered from 1."""
        numbers = {step.ordinal: number for number, step in enumerate(self.steps, 1)}
        return Plan(
            tuple(
                replace(
                    step,
                    ordinal=numbers[step.ordinal],
                    depends_on=tuple(numbers[n] for n in step.depends_on if n in numbers),
                    ask_question="",
                    ask_options=(),
                    answer=None,
                )
                for step in self.steps
            )
        )


def remaining_steps(connection: Connection, ref: Ref) -> RemainingSteps:
    """What remains in the run that a reference means; raises Rejected when it is ambiguous."""
    place = one_run(connection, Ref(ref.task, target=ref.target))
    query = select(RunStepRow.__table__).where(RunStepRow.run_id == place.run_id)
    rows = {row.step: row for row in connection.execute(query.order_by(RunStepRow.step))}
    newest = revised_subtasks(connection, place.run_id)
    free = {
        row.step
        for row in rows.values()
        if is_replaceable(
            StepPhase(row.phase),
            None if row.waits_for is None else WaitsFor(row.waits_for),
            unfinished=row.unfinished,
        )
    }
    ended = {row.step for row in rows.values() if StepPhase(row.phase) in ENDED_STEP}
    steps = tuple(
        replace(step, subtasks=newest.get(step.ordinal, step.subtasks))
        for step in planned.steps_of(connection, place.run_id)
        if step.ordinal in free
    )
    return RemainingSteps(
        place, max(rows, default=0), steps, tuple(sorted(rows.keys() - free - ended))
    )
