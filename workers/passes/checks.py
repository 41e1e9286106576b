"""Runs a check: once, or repeatedly after a command that went well."""

from dataclasses import replace

from shared.domain.attempt import CommandResult, EndedBy
from workers.passes.clock import Clock, wait_unless
from workers.passes.means import Means
from workers.passes.outcomes import duration
from workers.passes.ports import Cancelled

SETTLE = (0.25, 0.75, 1.5, 2.5)
"""Seconds before each further look at a check that is red after exit code 0.

A service that has just started needs a moment. The pauses add up to five seconds; looks and pauses
together never take longer than the policy's `check_timeout`. A check that needs longer waits by
itself (`for i in …; sleep`), where the planner can see it.
"""


def run_check(
    check: str,
    means: Means,
    clock: Clock,
    cancelled: Cancelled,
    *,
    timeout: float,
    key: str | None = None,
    settle: tuple[float, ...] = (),
) -> CommandResult:
    """The last look at the check; `settle` holds the pauses before further looks while it is red.

    `key` is the key under which the check was cleared, if the guard alone does not allow it.
    """
    look = means.look(check, timeout=timeout, key=key)
    left = timeout - duration(look)
    for pause in settle:
        if look.ok or look.cancelled or pause >= left:
            break
        if not wait_unless(cancelled, clock, pause):
            return replace(look, ended_by=EndedBy.CANCEL)
        look = means.look(check, timeout=left - pause, key=key)
        left -= pause + duration(look)
    return look
