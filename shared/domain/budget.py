"""The error budget: pure rules over thresholds and counters, the same on both sides."""

from enum import StrEnum

from shared.domain.config import Policy
from shared.domain.errors import Transient, Unavailable
from shared.domain.plan import Recovery

TRANSIENT, UNAVAILABLE = Transient.family, Unavailable.family
"""Errors after which a job is postponed."""

TRANSIENT_DELAY = 2.0
"""Seconds before a postponed job runs again; doubled each time."""

LONGEST_RETRY_AFTER = 900.0
"""The longest `retry-after` that is respected, in seconds; a longer one is shortened to it."""

_MOST_DOUBLINGS = 64
"""A float overflows after a thousand doublings; a job that waits for days reaches more."""


class Ending(StrEnum):
    """How a pass ended."""

    DONE = "done"
    THRESHOLD = "threshold"
    INCOMPLETE = "incomplete"
    BLOCKED = "blocked"
    NEEDS_APPROVAL = "needs_approval"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # nobody can say how a command ended
    NEEDS_INPUT = "needs_input"  # it cannot go on without a person's answer
    ROLLBACK_FAILED = "rollback_failed"  # what was to be undone first could not be
    OVER_BUDGET = "over_budget"  # the next call of an agent to a model could not be paid
    REFUSED = "refused"  # the gates let nothing of it be published
    FORGOTTEN = "forgotten"  # the target has records that the database does not know


class Next(StrEnum):
    """What follows a pass that did not end in `done`."""

    RETRY = "retry"
    REVISE = "revise"
    HOLD = "hold"
    ASK_HUMAN = "ask_human"
    GIVE_UP = "give_up"


def threshold_reached(errors: int, policy: Policy) -> bool:
    """S0.46: error_count_step >= error_threshold_per_step."""
    return errors >= policy.error_threshold_per_step


def may_correct(tries: int, errors: int, policy: Policy) -> bool:
    """Whether a failed subtask may be tried once more in this pass (S0.36, S0.46).

    `tries` counts the corrected attempts already made of this subtask.
    """
    return (
        policy.auto_correction_enabled
        and tries < policy.max_retries_per_command
        and not threshold_reached(errors, policy)
    )


def after_failed_pass(
    policy: Policy,
    *,
    recovery: Recovery,
    revision: int,
    failures: int,
    may_continue: bool,
    allowed: int | None = None,
) -> Next:
    """What follows a pass that ended in `threshold` or `incomplete` (X2: both the same).

    `failures` includes this pass. `may_continue` is the step's `on_failure: continue`: when every
    automatic attempt is used up, the step ends in error instead of waiting for a human. `allowed`
    is the retry strategy's replacement for `max_retry_count`.
    """
    last_resort = Next.GIVE_UP if may_continue else Next.ASK_HUMAN
    if recovery is Recovery.RETRY:
        most = policy.max_retry_count if allowed is None else allowed
        return Next.RETRY if failures < most else last_resort  # X5
    if revision >= policy.human_escalation_threshold:
        return last_resort  # S0.59
    return Next.REVISE if policy.send_to_planner_after_threshold else Next.HOLD  # X4


def may_postpone(family: str, times: int, policy: Policy) -> bool:
    """Whether to postpone a job once more that failed this way and was postponed this often.

    Waiting for a provider that is away or busy never counts towards the limit.
    """
    if family == UNAVAILABLE:
        return True
    return family == TRANSIENT and times < policy.max_transient_failures


def put_off_for(
    family: str, times: int, retry_after: float | None, *, shortened: float = 0.0
) -> float:
    """Seconds for which a job is postponed for the `times`-th time in a row.

    Our own span is reduced by the share `shortened`. A span that the other side asks for is not; it
    is respected up to `LONGEST_RETRY_AFTER`.
    """
    ceiling = 60.0 if family == UNAVAILABLE else 300.0
    asked = min(retry_after or 0.0, LONGEST_RETRY_AFTER)
    return max(asked, backoff(TRANSIENT_DELAY, times, ceiling=ceiling) * (1.0 - shortened))


def backoff(delay: float, failures: int, *, ceiling: float = 300.0) -> float:
    """Seconds to wait before try number `failures` + 1: doubled each time, up to the ceiling."""
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    return min(delay * 2.0**doublings, ceiling)
