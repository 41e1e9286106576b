"""The error budget: every boundary of the rule that both sides share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.budget import (
    TRANSIENT,
    UNAVAILABLE,
    Next,
    after_failed_pass,
    backoff,
    may_correct,
    may_postpone,
    put_off_for,
    threshold_reached,
)
from shared.domain.config import LIMITS, Policy
from shared.domain.plan import Recovery


@pytest.mark.parametrize(
    ("errors", "threshold", "reached"),
    [(3, 4, False), (4, 4, True), (5, 4, True), (0, 1, False), (1, 1, True)],
)
def test_the_threshold_is_reached_at_its_number(errors: int, threshold: int, reached: bool) -> None:
    """S0.46: error_count_step >= error_threshold_per_step."""
    assert threshold_reached(errors, Policy(error_threshold_per_step=threshold)) is reached


@pytest.mark.parametrize(
    ("tries", "errors", "allowed"),
    [(0, 1, True), (1, 2, True), (2, 3, False), (0, 3, True), (0, 4, False), (1, 4, False)],
)
def test_corrections_end_at_their_number_and_at_the_threshold(
    tries: int, errors: int, allowed: bool
) -> None:
    """S0.36: at most max_retries_per_command (2), and none once the step has its 4 errors."""
    assert may_correct(tries, errors, Policy()) is allowed


def test_no_correction_when_it_is_switched_off_or_set_to_none() -> None:
    """S0.13, S0.83."""
    assert not may_correct(0, 1, Policy(auto_correction_enabled=False))
    assert not may_correct(0, 1, Policy(max_retries_per_command=0))


RETRY, REPLAN = Recovery.RETRY, Recovery.REPLAN


@pytest.mark.parametrize(
    ("recovery", "revision", "failures", "send", "may_continue", "expected"),
    [
        (RETRY, 0, 1, True, False, Next.RETRY),
        (RETRY, 0, 2, True, False, Next.RETRY),
        (RETRY, 0, 3, True, False, Next.ASK_HUMAN),  # X5: the third failure ends it
        (RETRY, 0, 4, True, False, Next.ASK_HUMAN),
        (RETRY, 0, 3, True, True, Next.GIVE_UP),
        (RETRY, 9, 1, False, False, Next.RETRY),  # X6: revisions are the other count
        (REPLAN, 0, 9, True, False, Next.REVISE),  # X6: and passes are this one's
        (REPLAN, 2, 1, True, False, Next.REVISE),
        (REPLAN, 3, 1, True, False, Next.ASK_HUMAN),  # S0.59
        (REPLAN, 3, 1, True, True, Next.GIVE_UP),
        (REPLAN, 2, 1, True, True, Next.REVISE),
        (REPLAN, 0, 1, False, False, Next.HOLD),  # X4
        (REPLAN, 0, 1, False, True, Next.HOLD),
        (REPLAN, 3, 1, False, False, Next.ASK_HUMAN),
    ],
)
def test_what_follows_a_failed_pass(
    *,
    recovery: Recovery,
    revision: int,
    failures: int,
    send: bool,
    may_continue: bool,
    expected: Next,
) -> None:
    """With max_retry_count 3 and human_escalation_threshold 3."""
    policy = Policy(send_to_planner_after_threshold=send)
    following = after_failed_pass(
        policy,
        recovery=recovery,
        revision=revision,
        failures=failures,
        may_continue=may_continue,
    )
    assert following is expected


def test_no_revisions_allowed_means_a_human_at_once() -> None:
    """S0.59 with N = 0."""
    following = after_failed_pass(
        Policy(human_escalation_threshold=0),
        recovery=REPLAN,
        revision=0,
        failures=1,
        may_continue=False,
    )
    assert following is Next.ASK_HUMAN


def test_max_retry_count_can_be_changed() -> None:
    """S1.24: five failures instead of three."""
    policy = Policy(max_retry_count=5)
    following = [
        after_failed_pass(policy, recovery=RETRY, revision=0, failures=n, may_continue=False)
        for n in range(1, 6)
    ]
    assert following == [Next.RETRY] * 4 + [Next.ASK_HUMAN]


def test_backoff_doubles_up_to_its_ceiling() -> None:
    """S1.33, in seconds; the first try that failed waits the plain delay."""
    assert [backoff(2.0, n) for n in range(1, 10)] == [2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert backoff(2.0, 0) == 2.0
    assert backoff(0.0, 50) == 0.0
    assert backoff(10.0, 3, ceiling=15.0) == 15.0


@given(
    delay=st.floats(*LIMITS["retry_delay"]),
    failures=st.integers(0, int(LIMITS["max_transient_failures"][1])),
)
def test_backoff_is_sane_wherever_the_limits_lead(delay: float, failures: int) -> None:
    """Never negative, never past the ceiling, never shorter than after one failure fewer."""
    waited = backoff(delay, failures)
    assert 0 <= waited <= 300.0
    assert waited >= backoff(delay, max(failures - 1, 0))


def test_what_is_put_off_for_days_is_still_put_off() -> None:
    """A provider that is away uses up no count, so the number grows without end."""
    for times in (1, 10, 2_000, 10**9):
        assert may_postpone(UNAVAILABLE, times, Policy(max_transient_failures=0))
        assert 2.0 <= put_off_for(UNAVAILABLE, times, None) <= 60.0
    assert put_off_for(TRANSIENT, 10**9, None) == 300.0


@pytest.mark.parametrize(
    ("family", "times", "may"),
    [("transient", 1, True), ("transient", 2, False), ("rejected", 0, False), ("defect", 0, False)],
)
def test_what_may_be_put_off_and_how_often(family: str, times: int, *, may: bool) -> None:
    assert may_postpone(family, times, Policy(max_transient_failures=2)) is may


@pytest.mark.parametrize(("asked", "heeded"), [(None, 4.0), (1.0, 4.0), (60.0, 60.0), (1e9, 900.0)])
def test_a_span_that_was_asked_for_is_heeded_within_reason(
    asked: float | None, heeded: float
) -> None:
    assert put_off_for(TRANSIENT, 2, asked) == heeded
