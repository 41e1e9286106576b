"""The strategies of retry: how often, how soon, and who decides (S1.32, S1.33, S1.35)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.retry_rules import STRATEGIES, RetryLimit, pause, retry_limit
from shared.domain.budget import backoff
from shared.domain.config import CHANGEABLE, LIMITS, RETRY_STRATEGIES, Policy, with_limits
from shared.domain.error_class import ErrorClass

POLICIES = st.builds(
    Policy,
    max_retry_count=st.integers(1, 100),
    retry_strategy=st.sampled_from(RETRY_STRATEGIES),
    retry_jitter=st.floats(0, 1),
)


@pytest.mark.parametrize(
    ("strategy", "error", "expected"),
    [
        ("fixed", ErrorClass.RIGHTS, RetryLimit(3)),
        ("fixed", ErrorClass.NETWORK, RetryLimit(3)),
        ("by_class", ErrorClass.OTHER, RetryLimit(3)),
        ("by_class", ErrorClass.NETWORK, RetryLimit(6, patience=2.0)),
        ("by_class", ErrorClass.BUSY, RetryLimit(6, patience=4.0)),
        ("by_class", ErrorClass.TIMEOUT, RetryLimit(3, patience=2.0)),
        ("by_class", ErrorClass.RIGHTS, RetryLimit(1)),
        ("by_class", ErrorClass.MISSING, RetryLimit(1)),
        ("model", ErrorClass.RIGHTS, RetryLimit(3, ask=True)),
    ],
)
def test_each_strategy(strategy: str, error: ErrorClass, expected: RetryLimit) -> None:
    assert retry_limit(Policy(retry_strategy=strategy), error) == expected


def test_where_people_plan_nobody_is_asked_for_advice() -> None:
    policy = Policy(retry_strategy="model", subtask_planner="human")
    assert retry_limit(policy, ErrorClass.OTHER) == RetryLimit(3)


def test_every_value_of_the_setting_is_a_strategy() -> None:
    assert set(STRATEGIES) == set(RETRY_STRATEGIES)


@given(POLICIES, st.sampled_from(ErrorClass))
def test_every_strategy_ends(policy: Policy, error: ErrorClass) -> None:
    """At least the first failure is one, and the number of them is bounded."""
    allowed = retry_limit(policy, error)
    assert 1 <= allowed.failures <= 2 * policy.max_retry_count
    assert allowed.patience >= 1


@given(POLICIES, st.floats(0, 3600), st.integers(1, 100), st.integers(0, 10**9), st.integers(1, 99))
def test_a_pause_is_spread_within_its_bounds(
    policy: Policy, delay: float, tries: int, run: int, step: int
) -> None:
    """By at most the policy's share, and the same facts wait the same."""
    whole = backoff(delay, tries)
    waited = pause(policy, delay, tries, run, step)
    assert whole * (1 - policy.retry_jitter) - 1e-9 <= waited <= whole
    assert pause(policy, delay, tries, run, step) == waited


def test_what_failed_together_does_not_come_again_together() -> None:
    """100 runs of one task wait 100 different spans, all over the range."""
    waits = {pause(Policy(), 100.0, 1, run, 1) for run in range(100)}
    assert len(waits) == 100
    assert min(waits) < 80
    assert max(waits) > 95


def test_limits_that_may_change_never_let_anything_run() -> None:
    """S1.24: what decides what may run is settled when the task is submitted."""
    policy = Policy()
    changed = with_limits(
        policy, {"max_retry_count": 5, "autonomy": "auto", "dry_run_mode": True, "unknown": 1}
    )
    assert changed == Policy(max_retry_count=5)
    assert set(LIMITS) | {"retry_strategy", "send_to_planner_after_threshold"} >= CHANGEABLE
