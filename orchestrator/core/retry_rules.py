"""Whether, and how soon, a step that recovers by retrying is tried again: strategies (S1.32–S1.35).

Each is a function of the policy and of the error at hand; the policy names the one that decides
(`retry_strategy`). Waiting spans are spread by the ids of who waits, so that what failed together
does not come again together, and yet the same facts always give the same decision.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shared.domain.budget import backoff, put_off_for
from shared.domain.config import BY_CLASS, FIXED, MODEL, Policy
from shared.domain.error_class import ErrorClass
from shared.domain.facts import JobFailed


@dataclass(frozen=True, slots=True)
class RetryLimit:
    """Failed passes after which a step is not tried again, and how much longer it waits between.

    `ask` says that the planner is to decide about each try, within the same limit.
    """

    failures: int
    patience: float = 1.0
    ask: bool = False


Strategy = Callable[[Policy, ErrorClass], RetryLimit]
"""What one failed pass of a step may cost (S1.43)."""

_SHARES: Mapping[ErrorClass, tuple[float, float]] = {
    ErrorClass.NETWORK: (2.0, 2.0),
    ErrorClass.BUSY: (2.0, 4.0),
    ErrorClass.TIMEOUT: (1.0, 2.0),
    ErrorClass.RIGHTS: (0.0, 1.0),
    ErrorClass.MISSING: (0.0, 1.0),
}
"""By class: the share of `max_retry_count`, and the factor of `retry_delay`; else 1 and 1.

What others hold or the network lost comes back by itself; rights and files that are missing do not.
"""


def _by_count(policy: Policy, _: ErrorClass) -> RetryLimit:
    return RetryLimit(policy.max_retry_count)


def _by_class(policy: Policy, error: ErrorClass) -> RetryLimit:
    share, patience = _SHARES.get(error, (1.0, 1.0))
    return RetryLimit(max(1, round(policy.max_retry_count * share)), patience)


def _by_model(policy: Policy, _: ErrorClass) -> RetryLimit:
    return RetryLimit(policy.max_retry_count, ask=policy.subtask_planner != "human")


STRATEGIES: Mapping[str, Strategy] = {FIXED: _by_count, BY_CLASS: _by_class, MODEL: _by_model}
"""Every value of `retry_strategy`."""


def retry_limit(policy: Policy, error: ErrorClass) -> RetryLimit:
    """What the policy's strategy allows a step whose last pass failed like that."""
    return STRATEGIES[policy.retry_strategy](policy, error)


def pause(policy: Policy, delay: float, tries: int, *ids: int) -> float:
    """Seconds before try number `tries` + 1: doubled each time, up to 5 minutes, and spread.

    By up to `retry_jitter` of itself it is shorter, by how much follows from the ids alone.
    """
    return backoff(delay, tries) * (1.0 - policy.retry_jitter * _share(*ids, tries))


def put_off(policy: Policy, fact: JobFailed, times: int, *ids: int) -> float:
    """Seconds for which a job is put off for the `times`-th time in a row, spread like a pause."""
    shortened = policy.retry_jitter * _share(*ids, times)
    return put_off_for(fact.family, times, fact.retry_after, shortened=shortened)


def _share(*ids: int) -> float:
    """A number from 0 to 1 that looks drawn, and is the same for the same ids."""
    digest = hashlib.sha256(".".join(map(str, ids)).encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32
