"""What a pass teaches about the revision that it carried out."""

from orchestrator.core.decisions import Learn
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
    """Add what to remember of a pass: nothing of a first plan, or of a dry run."""
    after, decisions = advance
    worked = _WORKED.get(fact.ending)
    silent = policy.fix_memory is FixMemory.OFF or policy.dry_run_mode
    if worked is None or fact.revision == 0 or silent:
        return advance
    return after, (*decisions, Learn(fact.step, fact.revision, worked))
