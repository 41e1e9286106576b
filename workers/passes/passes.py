"""One pass: a worker carrying out a step in one run under one revision."""

from collections.abc import Iterable

from shared.domain.attempt import GREEN, Attempt, Outcome
from shared.domain.budget import Ending, threshold_reached
from shared.domain.config import PLAN
from shared.domain.errors import Rejected
from shared.domain.plan import Subtask, in_order
from workers.evidence.error_class import class_of
from workers.passes.checks import SETTLE
from workers.passes.clock import Clock
from workers.passes.context import PassContext
from workers.passes.dry_run import DryRun
from workers.passes.means import Means
from workers.passes.outcomes import STOPS
from workers.passes.ports import Approvals, PassLog, PassOrder, PassResult, Unapproved
from workers.passes.rollbacks import Rollbacks
from workers.passes.subtasks import Tries


def carry_out(
    order: PassOrder,
    means: Means,
    log: PassLog,
    clock: Clock,
    *,
    approvals: Approvals | None = None,
    settle: tuple[float, ...] = SETTLE,
) -> PassResult:
    """Carry out the subtasks of a step in order, and say how that ended.

    A subtask without a check is done when its command ends well, and costs one run of the means.
    With a check: green beforehand, it is done without running; afterwards the check decides, and is
    looked at again after the pauses of `settle` while it is red. What needs a failed subtask is
    passed over, the rest goes on (X3). Every failed attempt counts, corrected ones too (X1); the
    pass ends at once at the threshold, at a planned string that the guard denies (S0.61), at one
    that needs an approval, at one whose outcome nobody can tell, at a snippet that asks a person,
    and when the log says that it is cancelled.

    What the revision undoes is undone first (`workers.passes.rollbacks`).

    What an earlier driver of the same pass started is not started again: its outcome is waited for.

    A remedy that would need an approval is recorded and left out: it was ours, not the plan's.
    One that is denied ends the pass as a denied command of the plan does. A critical command, or
    any under `autonomy: plan`, is never corrected, and runs only when `approvals` has one for it
    (S0.88).

    Under `dry_run_mode` nothing runs but checks and preconditions that only look, and every
    subtask is predicted (`workers.passes.dry_run`).

    Raises Rejected for needs in a circle and for a subtask that is not of the kinds of the means,
    before anything runs, and what the means raises: attempts
    recorded until then are not repeated by a later order for the same pass that names them in
    `earlier`.
    """
    subtasks = in_order(order.subtasks)
    _refuse_foreign(subtasks, means)
    context = PassContext.of(order, means, log, clock, approvals)
    if order.policy.dry_run_mode:
        return _predict(context, subtasks)
    return Rollbacks(context).carry_out() or _try(context, subtasks, settle)


def _refuse_foreign(subtasks: Iterable[Subtask], means: Means) -> None:
    for subtask in subtasks:
        if subtask.kind not in means.kinds:
            raise Rejected(
                f"subtask {subtask.key!r} is of kind {subtask.kind.value}, which cannot run there",
                stage="execute",
            )


def _try(
    context: PassContext, subtasks: tuple[Subtask, ...], settle: tuple[float, ...]
) -> PassResult:
    order, log, history = context.order, context.log, context.history
    tries = Tries(context, settle=settle)
    done: set[str] = set()
    unmet: list[Subtask] = []
    stop: PassResult | None = None
    failed: Attempt | None = None
    for number, subtask in enumerate(subtasks):
        if history.done_before(subtask):
            done.add(subtask.key)
            continue
        if stop is None and log.cancelled():
            stop = PassResult(Ending.CANCELLED, history.errors, "cancelled")
        if stop is not None and not tries.under_way(subtask):
            return stop
        missing = [key for key in subtask.needs if key not in done]
        if missing:
            tries.block(subtask, missing)
            unmet.append(subtask)
            continue
        tries.announce(subtasks[number:], done)
        attempt = tries.carry_out(subtask)
        if attempt.outcome in GREEN:
            done.add(subtask.key)
            continue
        failed = attempt if attempt.counted else failed
        stop = stop or _stop(context, attempt, [s for s in subtasks[number:] if s.key not in done])
        unmet.append(subtask)
    if stop is not None:
        return stop
    errors = history.errors
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


def _predict(context: PassContext, subtasks: Iterable[Subtask]) -> PassResult:
    """All of them, whatever stands before them; blocked where one is denied (S0.61)."""
    denied = ""
    dry_run = DryRun(context)
    for subtask in subtasks:
        if context.log.cancelled():
            return PassResult(Ending.CANCELLED, 0, "cancelled")
        attempt = dry_run.predict(subtask)
        if attempt.outcome is Outcome.DENIED and not denied:
            denied = f"{_ref(context.order, subtask)}: {attempt.explanation}"
    return PassResult(Ending.BLOCKED if denied else Ending.DONE, 0, denied)


def _stop(context: PassContext, attempt: Attempt, left: list[Subtask]) -> PassResult | None:
    """How the pass ends with this attempt of the first that is left, None when it goes on."""
    order, errors = context.order, context.history.errors
    what = f"{_ref(order, left[0])}: {attempt.reason}"
    ending = STOPS.get(attempt.outcome)
    if ending is Ending.NEEDS_APPROVAL:
        return PassResult(ending, errors, what, _texts_to_approve(context, left))
    if ending is Ending.NEEDS_INPUT:
        return PassResult(ending, errors, what, question=context.means.question(attempt))
    if ending is not None:
        return PassResult(ending, errors, what)
    if threshold_reached(errors, order.policy):
        told = f"errors: {errors}; the last at {what}"
        return PassResult(Ending.THRESHOLD, errors, told, error_class=class_of(attempt))
    return None


def _texts_to_approve(context: PassContext, left: list[Subtask]) -> tuple[Unapproved, ...]:
    """What a person is asked to approve.

    One subtask at a time, so that what the ones before it did can be seen; where plans are
    approved, all that is left of the step.
    """
    asked = left if context.order.policy.autonomy == PLAN else left[:1]
    return tuple(text for subtask in asked for text in context.gate.texts_to_approve(subtask))


def _ref(order: PassOrder, subtask: Subtask) -> str:
    return f"{order.task_ref}.{order.step.ordinal}.{subtask.ordinal}"
