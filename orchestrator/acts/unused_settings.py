"""Refuses settings of a submission that its plan leaves without any effect."""

from collections.abc import Iterable, Iterator

from shared.domain.config import FIXED, MODEL, Policy
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan, Recovery


def refuse_unused(given: Iterable[str], plan: Plan, policy: Policy, again: NextStep) -> None:
    """Raise Rejected if a setting that was `given` (`key=value`) changes nothing for this plan.

    What a settings file says is not given for this task, so it may be without effect. `again` is
    how to submit the plan without it.
    """
    names = {each.partition("=")[0].strip() for each in given}
    for reason in _unused(names, plan, policy):
        raise Rejected(reason, stage="input", next_step=again)


def _unused(names: set[str], plan: Plan, policy: Policy) -> Iterator[str]:
    complete = all(step.subtasks for step in plan.steps)
    retried = any(step.recovery is Recovery.RETRY for step in plan.steps)
    if "taskmaster_enabled" in names and policy.taskmaster_enabled:
        yield "the taskmaster improves prompts, and a plan is given: leave out --taskmaster"
    if "planner" in names and complete and not (retried and policy.retry_strategy == MODEL):
        yield (
            f"the plan is given, so {policy.planner} is not asked for one: leave out --planner; "
            "who revises a step that fails is said in the plan (`planner:`)"
        )
    if "retry_strategy" in names and policy.retry_strategy != FIXED and not retried:
        yield (
            "every step of the plan is revised by a planner, so retry_strategy has no effect: "
            "leave it out, or say `recovery: retry` in the plan"
        )
