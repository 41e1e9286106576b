"""What a pass teaches about the revision that it carried out."""

from orchestrator.core.decisions import Learn
from orchestrator.core.state import StepState
from orchestrator.core.step_rules import StepAdvance
from shared.domain.budget import Ending
from shared.domain.config import FixMemory, Policy
from shared.domain.facts import PassFinished

_WORKED = {
    Ending.DONE: True,
    Ending.THRESHOLD: False,
    Ending.INCOMPLETE: False,
    Ending.BLOCKED: False,
}
"""The endings that say whether a revision worked."""


def with_lesson(advance: StepAdvance, policy: Policy, fact: PassFinished) -> StepAdvance:
    """Add what to remember of a pass; what has published is learnt once its delivery is judged."""
    after, decisions = advance
    worked = _WORKED.get(fact.ending)
    if worked is None or fact.published is not None:
        return advance
    return after, (*decisions, *lesson(after, policy, worked=worked))


def lesson(step: StepState, policy: Policy, *, worked: bool) -> tuple[Learn, ...]:
    """What to remember of the present revision: nothing of a first plan, or of a dry run."""
    silent = policy.fix_memory is FixMemory.OFF or policy.dry_run_mode
    if step.revision == 0 or silent:
        return ()
    return (Learn(step.ordinal, step.revision, worked),)
