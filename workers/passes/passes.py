"""One pass: a worker carrying out a step in one run under one revision."""

from collections.abc import Iterable

from shared.domain.attempt import GREEN, Attempt, Outcome
from shared.domain.budget import Ending, threshold_reached
from shared.domain.config import PLAN
from shared.domain.plan import Subtask, in_order
from workers.passes.clock import Clock
from workers.passes.dry_run import Rehearsal
from workers.passes.error_class import class_of
from workers.passes.history import History
from workers.passes.ports import Approvals, PassLog, PassOrder, PassResult, Unapproved
from workers.passes.recorder import Recorder
from workers.passes.rollbacks import Rollbacks
from workers.passes.subtasks import Trials
from workers.shells.approval_gate import Clearance
from workers.shells.checks import SETTLE
from workers.shells.door import Door, Judge
from workers.shells.ports import Shell
from workers.shells.snippet_outcomes import question_of

_STOPS = {
    Outcome.DENIED: Ending.BLOCKED,
    Outcome.NEEDS_APPROVAL: Ending.NEEDS_APPROVAL,
    Outcome.CANCELLED: Ending.CANCELLED,
    Outcome.UNKNOWN: Ending.UNKNOWN,
    Outcome.NEEDS_INPUT: Ending.NEEDS_INPUT,
}


def carry_out(
    order: PassOrder,
    shell: Shell,
    guard: Judge,
    log: PassLog,
    clock: Clock,
    *,
    approvals: Approvals | None = None,
    looks: Judge | None = None,
    settle: tuple[float, ...] = SETTLE,
) -> PassResult:
    """Carry out the subtasks of a step in order, and say how that ended.

    A subtask without a check is done when its command exits with 0, and costs one run of the shell.
    With a check: green beforehand, it is done without running; afterwards the check decides, and is
    looked at again after the pauses of `settle` while it is red. What needs a failed subtask is
    passed over, the rest goes on (X3). Every failed attempt counts, corrected ones too (X1); the
    pass ends at once at the threshold, at a planned string that the guard denies (S0.61), at one
    that needs an approval, at one whose outcome nobody can tell, at a snippet that asks a person,
    and when the log says that it is cancelled.

    What the revision undoes is undone first (`workers.passes.rollbacks`).

    What an earlier driver of the same pass started is not started again: its outcome is waited for.

    A correction that would need an approval is recorded and left out: it was ours, not the plan's.
    One that is denied ends the pass as a denied command of the plan does. A critical command, or
    any under `autonomy: plan`, is never corrected, and runs only when `approvals` has one for it
    (S0.88).

    Under `dry_run_mode` nothing runs but what `looks` (left out: the guard) allows of checks and
    preconditions, and every subtask is foretold (`workers.passes.dry_run`).

    Raises Rejected for needs in a circle, before anything runs, and what the shell raises: attempts
    recorded until then are not repeated by a later order for the same pass that names them in
    `earlier`.
    """
    subtasks = in_order(order.subtasks)
    door = Door(shell, guard, approvals=approvals, cancelled=log.cancelled, withdrawn=log.withdrawn)
    if order.policy.dry_run_mode:
        rehearsal = _rehearsal(order, door, looks or guard, log, clock)
        return _foretold(order, subtasks, rehearsal, log)
    trials = Trials(order, door, log, clock, settle=settle)
    undoing = Rollbacks(order, trials.history, door, log, clock)
    return undoing.carry_out() or _tried(order, subtasks, trials, log)


def _tried(
    order: PassOrder, subtasks: tuple[Subtask, ...], trials: Trials, log: PassLog
) -> PassResult:
    done: set[str] = set()
    unmet: list[Subtask] = []
    stop: PassResult | None = None
    failed: Attempt | None = None
    for number, subtask in enumerate(subtasks):
        if trials.history.done_before(subtask):
            done.add(subtask.key)
            continue
        if stop is None and log.cancelled():
            stop = PassResult(Ending.CANCELLED, trials.history.errors, "cancelled")
        if stop is not None and not trials.under_way(subtask):
            return stop
        missing = [key for key in subtask.needs if key not in done]
        if missing:
            trials.block(subtask, missing)
            unmet.append(subtask)
            continue
        trials.look_ahead(subtasks[number:], done)
        attempt = trials.carry_out(subtask)
        if attempt.outcome in GREEN:
            done.add(subtask.key)
            continue
        failed = attempt if attempt.counted else failed
        stop = stop or _stop(
            order, trials, attempt, [s for s in subtasks[number:] if s.key not in done]
        )
        unmet.append(subtask)
    if stop is not None:
        return stop
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
        error_class=class_of(failed),
    )


def _rehearsal(order: PassOrder, door: Door, looks: Judge, log: PassLog, clock: Clock) -> Rehearsal:
    history = History(order)
    recorder = Recorder(order, history, log, clock)
    return Rehearsal(
        door,
        looks,
        history,
        recorder,
        Clearance(door, recorder, order.policy),
        check_timeout=order.policy.check_timeout,
    )


def _foretold(
    order: PassOrder, subtasks: Iterable[Subtask], rehearsal: Rehearsal, log: PassLog
) -> PassResult:
    """All of them, whatever stands before them; blocked where one is denied (S0.61)."""
    denied = ""
    for subtask in subtasks:
        if log.cancelled():
            return PassResult(Ending.CANCELLED, 0, "cancelled")
        attempt = rehearsal.foretell(subtask)
        if attempt.outcome is Outcome.DENIED and not denied:
            denied = f"{_ref(order, subtask)}: {attempt.explanation}"
    return PassResult(Ending.BLOCKED if denied else Ending.DONE, 0, denied)


def _stop(
    order: PassOrder, trials: Trials, attempt: Attempt, left: list[Subtask]
) -> PassResult | None:
    """How the pass ends with this attempt of the first that is left, None when it goes on."""
    errors = trials.history.errors
    what = f"{_ref(order, left[0])}: {attempt.reason}"
    ending = _STOPS.get(attempt.outcome)
    if ending is Ending.NEEDS_APPROVAL:
        return PassResult(ending, errors, what, _unapproved(order, trials, left))
    if ending is Ending.NEEDS_INPUT:
        return PassResult(ending, errors, what, question=question_of(attempt))
    if ending is not None:
        return PassResult(ending, errors, what)
    if threshold_reached(errors, order.policy):
        told = f"errors: {errors}; the last at {what}"
        return PassResult(Ending.THRESHOLD, errors, told, error_class=class_of(attempt))
    return None


def _unapproved(order: PassOrder, trials: Trials, left: list[Subtask]) -> tuple[Unapproved, ...]:
    """What a person is asked to approve.

    One subtask at a time, so that what the ones before it did can be seen; where plans are
    approved, all that is left of the step.
    """
    asked = left if order.policy.autonomy == PLAN else left[:1]
    return tuple(text for subtask in asked for text in trials.clearance.unapproved(subtask))


def _ref(order: PassOrder, subtask: Subtask) -> str:
    return f"{order.task_ref}.{order.step.ordinal}.{subtask.ordinal}"
