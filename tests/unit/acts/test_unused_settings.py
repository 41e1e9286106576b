"""A setting of a submission that its plan leaves without effect is refused, not ignored."""

import pytest

from orchestrator.acts.unused_settings import refuse_unused
from shared.contracts.planfile import load_plan
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.settings import load_settings

BY_HAND = "steps:\n  - title: one\n    subtasks: [{run: 'true'}]\n"
AGAIN = NextStep.of("task submit", plan="plan.yaml")
BY_PLANNER = f"planner: runbook\n{BY_HAND}"


def submitted(text: str, *given: str) -> None:
    """Submit a plan with these settings."""
    policy = load_settings({"HOME": "/nowhere"}).with_agent(given).agent
    refuse_unused(given, load_plan(text, policy=policy), policy, AGAIN)


@pytest.mark.parametrize(
    ("text", "given", "told"),
    [
        (BY_HAND, ["taskmaster_enabled=true"], "leave out --taskmaster"),
        (BY_HAND, ["planner=runbook", "subtask_planner=runbook"], "leave out --planner"),
        (BY_PLANNER, ["planner=anthropic"], "anthropic is not asked"),
        (BY_PLANNER, ["retry_strategy=by_class"], "retry_strategy has no effect"),
    ],
)
def test_what_would_change_nothing_is_refused(text: str, given: list[str], told: str) -> None:
    with pytest.raises(Rejected, match=told):
        submitted(text, *given)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (BY_HAND, []),
        (BY_PLANNER, []),
        (BY_HAND, ["taskmaster_enabled=false", "retry_strategy=by_class"]),
        (BY_HAND, ["planner=runbook", "retry_strategy=model"]),
        (BY_PLANNER, ["retry_strategy=fixed"]),
    ],
)
def test_what_has_an_effect_is_taken(text: str, given: list[str]) -> None:
    submitted(text, *given)
