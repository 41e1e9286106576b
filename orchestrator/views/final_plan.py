"""The plan of a finished run, with the revisions that worked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from orchestrator.views.places import one_run
from orchestrator.views.plans import stored_plan
from orchestrator.views.values import RefValue
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan, Step, Subtask
from shared.domain.task import StepPhase
from shared.store import planned, targets
from shared.store.tables import RevisionRow, RunRow, RunStepRow, TaskRow
from shared.wire import from_json


@dataclass(frozen=True, slots=True)
class FinalPlan:
    """A run that is done: the prompt, and the plan that worked; `hosts` are the names of its host.

    `revised` are the steps that worked only under a later revision.
    """

    ref: RefValue
    prompt: str
    plan: Plan
    hosts: tuple[str, ...]
    revised: tuple[int, ...]


def final_plan(connection: Connection, ref: Ref) -> FinalPlan:
    """The final plan of the run that a reference means.

    Raises Rejected when the reference is ambiguous, or the run is not done.
    """
    place = one_run(connection, Ref(ref.task, target=ref.target))
    phase = connection.execute(select(RunRow.phase).where(RunRow.id == place.run_id)).scalar_one()
    if phase != "done":
        raise Rejected(
            f"{place.ref} is {phase}: only a finished run can be exported",
            stage="input",
            next_step=NextStep.of("task show", place.ref),
        )
    plan = stored_plan(connection, ref)
    final = revised_subtasks(connection, place.run_id)
    replaced = _replaced_steps(connection, place.run_id)
    done = [
        replace(step, subtasks=final.get(step.ordinal, step.subtasks))
        for step in planned.steps_of(connection, place.run_id)
        if step.ordinal not in replaced
    ]
    steps = _renumber(done)
    prompt = connection.execute(select(TaskRow.prompt).where(TaskRow.id == ref.task)).scalar_one()
    return FinalPlan(
        ref=place.ref,
        prompt=prompt,
        plan=replace(plan, steps=steps),
        hosts=_host_names(connection, place.target),
        revised=tuple(
            new.ordinal for old, new in zip(done, steps, strict=True) if old.ordinal in final
        ),
    )


def _replaced_steps(connection: Connection, run_id: int) -> set[int]:
    """The steps that others replaced: they are not part of the final plan."""
    query = select(RunStepRow.step).where(
        RunStepRow.run_id == run_id, RunStepRow.phase == StepPhase.REPLACED.value
    )
    return set(connection.execute(query).scalars())


def _renumber(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same steps numbered from 1, without dependencies on other steps."""
    numbers = {step.ordinal: number for number, step in enumerate(steps, start=1)}
    return tuple(
        replace(
            step,
            ordinal=numbers[step.ordinal],
            depends_on=tuple(numbers[n] for n in step.depends_on if n in numbers),
        )
        for step in steps
    )


def revised_subtasks(connection: Connection, run_id: int) -> dict[int, tuple[Subtask, ...]]:
    """The subtasks of each step that was revised."""
    found = connection.execute(
        select(RevisionRow.step, RevisionRow.subtasks)
        .join(
            RunStepRow,
            (RunStepRow.run_id == RevisionRow.run_id)
            & (RunStepRow.step == RevisionRow.step)
            & (RunStepRow.revision == RevisionRow.revision),
        )
        .where(RevisionRow.run_id == run_id)
    )
    return {row.step: tuple(from_json(Subtask, s) for s in row.subtasks) for row in found}


def _host_names(connection: Connection, target: str) -> tuple[str, ...]:
    """The names of the host, without those that every host has."""
    host = targets.host_of(connection, target)
    names = (target,) if host is None else (target, host.address)
    return tuple(n for n in dict.fromkeys(names) if n not in {"localhost", "127.0.0.1", "::1"})
