"""A changed plan: what has begun stays, what has not is replaced, and nothing waits for nobody."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.decisions import AddSteps
from orchestrator.core.plan_rules import NOT_BEGUN, change_plan
from orchestrator.core.state import RunState, StepState
from shared.domain import facts as f
from shared.domain.task import StepPhase
from tests.unit.core.drawn import some_plan
from tests.unit.core.given import at

PHASES = [phase for phase in StepPhase if phase is not StepPhase.REPLANNING]


@given(rng=st.randoms(use_true_random=False))
def test_a_change_replaces_what_has_not_begun_and_nothing_else(rng: Random) -> None:
    """Whatever the steps had come to: numbers are new, needs are known, and no need is replaced."""
    steps = {s.ordinal: StepState.of(s) for s in some_plan(rng, complete=True).steps}
    before = {n: at(s, rng.choice(PHASES)) for n, s in steps.items()}
    asked = rng.choice(list(before))
    replanning = at(before[asked], StepPhase.REPLANNING)
    before[asked] = replace(replanning, handed_up=True, generation=2)
    new = tuple(replace(s, answer="a") for s in some_plan(rng, complete=True).steps)
    fact = f.PlanRevised(asked, 0, 0, max(before), new, "another way")
    after, decisions = change_plan(RunState(steps=before), fact)
    for ordinal, step in before.items():
        if step.phase in NOT_BEGUN or ordinal == asked:
            assert after.steps[ordinal].phase is StepPhase.REPLACED
        else:
            assert after.steps[ordinal] is step
    added = {n: s for n, s in after.steps.items() if n not in before}
    assert list(added) == list(range(max(before) + 1, max(before) + 1 + len(new)))
    written = next(d.steps for d in decisions if isinstance(d, AddSteps))
    assert [(s.ordinal, s.depends_on) for s in written] == [
        (n, s.depends_on) for n, s in added.items()
    ]
    for ordinal, step in added.items():
        assert (step.phase, step.generation) == (StepPhase.NOT_STARTED, 3)
        for needed in step.depends_on:
            assert needed < ordinal or needed in added
            assert after.steps[needed].phase is not StepPhase.REPLACED
            assert after.steps[needed].phase is not StepPhase.CANCELLED
