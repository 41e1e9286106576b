"""One pass: a worker carrying out a step in one run under one revision."""

from dataclasses import replace

from shared.domain.attempt import GREEN, Attempt, Outcome
from shared.domain.budget import Ending, threshold_reached
from shared.domain.config import PLAN
from shared.domain.plan import Subtask, in_order
from workers.executor.checks import SETTLE
from workers.executor.clock import Clock
from workers.executor.judge import Door, Judge
from workers.executor.trials import Trials
from workers.ports import Approvals, PassLog, PassOrder, PassResult, Shell

_STOPS = {
    Outcome.DENIED: Ending.BLOCKED,
    Outcome.NEEDS_APPROVAL: Ending.NEEDS_APPROVAL,
    Outcome.CANCELLED: Ending.CANCELLED,
    Outcome.UNKNOWN: Ending.UNKNOWN,
}


def carry_out(
    order: PassOrder,
    shell: Shell,
    guard: Judge,
    log: PassLog,
    clock: Clock,
    *,
    approvals: Approvals | None = None,
    settle: tuple[float, ...] = SETTLE,
) -> PassResult:
    """Carry out the subtasks of a step in order, and say how that ended.

    A subtask without a check is done when its command exits with 0, and costs one run of the shell.
    With a check: green beforehand, it is done without running; afterwards the check decides, and is
    looked at again after the pauses of `settle` while it is red. What needs a failed subtask is
    passed over, the rest goes on (X3). Every failed attempt counts, corrected ones too (X1); the
    pass ends at once at the threshold, at a planned string that the guard denies (S0.61), at one
    that needs an approval, at one whose outcome nobody can tell, and when the log says that it is
    cancelled.

    What an earlier driver of the same pass started is not started again: its outcome is waited for.

    A correction that the guard does not let through is recorded and left out: it was ours, not the
    plan's, so the step does not stop for it. A critical command, or any under `autonomy: plan`, is
    never corrected, and runs only when `approvals` has one for it (S0.88).

    Under `dry_run_mode` only checks run. Raises Rejected for needs in a circle, before anything
    runs, and what the shell raises: attempts recorded until then are not repeated by a later order
    for the same pass that names them in `earlier`.
    """
    subtasks = in_order(order.subtasks)
    door = Door(shell, guard, approvals=approvals, cancelled=log.cancelled, withdrawn=log.withdrawn)
    trials = Trials(order, door, log, clock, settle=settle)
    done: set[str] = set()
    unmet: list[Subtask] = []
    for subtask in subtasks:
        if trials.history.done_before(subtask):
            done.add(subtask.key)
            continue
        if log.cancelled():
            return PassResult(Ending.CANCELLED, trials.history.errors, "cancelled")
        missing = [key for key in subtask.needs if key not in done]
        if missing:
            trials.block(subtask, missing)
            unmet.append(subtask)
            continue
        attempt = trials.carry_out(subtask)
        if attempt.outcome in GREEN:
            done.add(subtask.key)
            continue
        stop = _stop(order, subtask, attempt, trials.history.errors)
        if stop is not None:
            return _asking(stop, order, trials, [s for s in subtasks if s.key not in done], subtask)
        unmet.append(subtask)
    errors = trials.history.errors
    if not unmet:
        return PassResult(Ending.DONE, errors, "")
    if log.cancelled():
        return PassResult(Ending.CANCELLED, errors, "cancelled")
    names = ", ".join(_ref(order, subtask) for subtask in unmet)
    return PassResult(
        Ending.INCOMPLETE,
        errors,
        f"not done: {names}; errors: {errors}, threshold: {order.policy.error_threshold_per_step}",
    )


def _asking(
    stop: PassResult, order: PassOrder, trials: Trials, left: list[Subtask], at: Subtask
) -> PassResult:
    """The same with what a person is asked to approve, where the pass ended for that.

    One subtask at a time, so that what the ones before it did can be seen; where plans are
    approved, all that is left of the step.
    """
    if stop.ending is not Ending.NEEDS_APPROVAL:
        return stop
    asked = left if order.policy.autonomy == PLAN else [at]
    unapproved = (text for subtask in asked for text in trials.clearance.unapproved(subtask))
    return replace(stop, unapproved=tuple(unapproved))


def _stop(order: PassOrder, subtask: Subtask, attempt: Attempt, errors: int) -> PassResult | None:
    """How the pass ends with this attempt, None when it goes on."""
    what = f"{_ref(order, subtask)}: {attempt.reason}"
    ending = _STOPS.get(attempt.outcome)
    if ending is not None:
        return PassResult(ending, errors, what)
    if threshold_reached(errors, order.policy):
        return PassResult(Ending.THRESHOLD, errors, f"errors: {errors}; the last at {what}")
    return None


def _ref(order: PassOrder, subtask: Subtask) -> str:
    return f"{order.task_ref}.{order.step.ordinal}.{subtask.ordinal}"
