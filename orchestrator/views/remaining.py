"""The steps of a run that a person may still replace."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from orchestrator.core.plan_rules import remaining_needs
from orchestrator.core.replacement_rules import is_replaceable
from orchestrator.core.state import RunState
from orchestrator.rows import step_state
from orchestrator.views.final_plan import revised_subtasks
from orchestrator.views.places import RunPlace, one_run
from shared.domain.changed_plan import renumber
from shared.domain.ids import Ref
from shared.domain.plan import Plan, Step
from shared.domain.task import ENDED_STEP, RunPhase
from shared.store import planned
from shared.store.tables import RunRow, RunStepRow


@dataclass(frozen=True, slots=True)
class RemainingSteps:
    """What remains of the plan of a run.

    `steps` may be replaced, each with its newest subtasks; `at_work` may not be, for a command of
    theirs may run. `known` is the highest number of a step, `planned` and `state` have all steps.
    """

    place: RunPlace
    known: int
    steps: tuple[Step, ...]
    at_work: tuple[int, ...]
    planned: tuple[Step, ...]
    state: RunState

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

    def run_with(self, plan: Plan, gone: Collection[int]) -> tuple[Step, ...]:
        """All steps of the run once those of a plan are in the place of these."""
        awaited = remaining_needs(self.state, {*gone})
        return (*self.planned, *renumber(plan.steps, self.known, awaited))


def remaining_steps(connection: Connection, ref: Ref) -> RemainingSteps:
    """What remains in the run that a reference means; raises Rejected when it is ambiguous."""
    place = one_run(connection, Ref(ref.task, target=ref.target))
    query = select(RunStepRow.__table__).where(RunStepRow.run_id == place.run_id)
    found = connection.execute(query.order_by(RunStepRow.step))
    states = {row.step: step_state(row) for row in found}
    newest = revised_subtasks(connection, place.run_id)
    free = {
        number
        for number, step in states.items()
        if is_replaceable(step.phase, step.waits_for, unfinished=step.unfinished)
    }
    ended = {number for number, step in states.items() if step.phase in ENDED_STEP}
    every = planned.steps_of(connection, place.run_id)
    steps = tuple(
        replace(step, subtasks=newest.get(step.ordinal, step.subtasks))
        for step in every
        if step.ordinal in free
    )
    at_work = tuple(sorted(states.keys() - free - ended))
    chosen = select(RunRow.phase, RunRow.held_open).where(RunRow.id == place.run_id)
    row = connection.execute(chosen).one()
    phase = RunPhase(row.phase)
    state = RunState(place.run_id, phase=phase, steps=states, held_open=row.held_open)
    return RemainingSteps(place, max(states, default=0), steps, at_work, every, state)
