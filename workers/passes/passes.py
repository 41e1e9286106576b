"""One pass: a worker carries out a step in one run under one revision."""

from collections.abc import Iterable

from shared.domain.attempt import AgentResult, Attempt
from shared.domain.budget import Ending, threshold_reached
from shared.domain.config import PLAN
from shared.domain.errors import Rejected
from shared.domain.outcome import GREEN, Outcome
from shared.domain.plan import in_order
from shared.domain.spending import Unpaid
from shared.secrets.sent import SentSubtask
from workers.evidence.error_class import class_of
from workers.passes.checks import SETTLE
from workers.passes.clock import Clock
from workers.passes.context import PassContext
from workers.passes.dry_run import DryRun
from workers.passes.forgotten import forgotten
from workers.passes.last_look import undone
from workers.passes.means import ForgottenError, Means
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
    """Carry out the subtasks of a step in order, and return how the pass ended.

    A subtask without a check is done when its command ends well, and costs one run of the means.
    A subtask whose check is green beforehand is done without running, unless its last try failed
    although that check was green after it, as an agent's does that broke its protocol. Otherwise
    its check decides after the command; while it is red, it runs again after the pauses of
    `settle`. The checks that stand for the step's result are looked at once more at the end
    (`workers.passes.last_look`). Subtasks that need a failed one are blocked, the others go on
    (X3). Every failed attempt counts, corrected ones too (X1). The pass ends at once when it
    reaches the threshold, when the guard denies a planned text (S0.61), when a text needs an
    approval, when the outcome of a command is unknown, when a snippet or an agent asks a person,
    when an agent could not pay its next call, and when the log says that the pass is cancelled.

    The rollbacks of the revision come first (`workers.passes.rollbacks`).

    A command that an earlier driver of this pass started is not started again: the pass waits for
    its outcome.

    A remedy that would need an approval is recorded and left out, because the plan does not ask
    for it. A denied remedy ends the pass as a denied command of the plan does. A critical command,
    or any command under `autonomy: plan`, is never corrected, and runs only with an approval from
    `approvals` (S0.88).

    If the target has records of the step that the database does not know, nothing is started any
    more, and the pass ends with these records (`Ending.FORGOTTEN`).

    Under `dry_run_mode`, only checks and preconditions that change nothing run, and every subtask
    is predicted (`workers.passes.dry_run`).

    Before anything runs, raises Rejected for circular needs and for a subtask of a kind that the
    means do not carry out. Also raises what the means raise: a later order for the same pass that
    names the attempts recorded until then in `earlier` does not repeat them.
    """
    subtasks = in_order(order.subtasks)
    _refuse_foreign(subtasks, means)
    context = PassContext.of(order, means, log, clock, approvals)
    try:
        if order.policy.dry_run_mode:
            return _predict(context, subtasks)
        return Rollbacks(context).carry_out() or _try(context, subtasks, settle)
    except ForgottenError as error:
        return forgotten(order, context.history.errors, error.records)


def _refuse_foreign(subtasks: Iterable[SentSubtask], means: Means) -> None:
    for subtask in subtasks:
        if subtask.kind not in means.kinds:
            raise Rejected(
                f"subtask {subtask.key!r} is of kind {subtask.kind.value}, which cannot run here",
                stage="execute",
            )


def _try(
    context: PassContext, subtasks: tuple[SentSubtask, ...], settle: tuple[float, ...]
) -> PassResult:
    log, history = context.log, context.history
    tries = Tries(context, settle=settle)
    done: set[str] = set()
    unmet: list[SentSubtask] = []
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
    return _incomplete(context, unmet, failed) if unmet else _done(context, subtasks)


def _done(context: PassContext, subtasks: tuple[SentSubtask, ...]) -> PassResult:
    """How a pass ends in which all was green, unless a later command has undone an earlier one."""
    again = undone(context, subtasks)
    for subtask, attempt in again:
        stop = _stop(context, attempt, [subtask])
        if stop is not None:
            return stop
    if again:
        return _incomplete(context, [subtask for subtask, _ in again], again[-1][1])
    return PassResult(Ending.DONE, context.history.errors, "")


def _incomplete(
    context: PassContext, unmet: list[SentSubtask], failed: Attempt | None
) -> PassResult:
    order, errors = context.order, context.history.errors
    if context.log.cancelled():
        return PassResult(Ending.CANCELLED, errors, "cancelled")
    names = ", ".join(_ref(order, subtask) for subtask in unmet)
    return PassResult(Ending.INCOMPLETE, errors, f"not done: {names}", error_class=class_of(failed))


def _predict(context: PassContext, subtasks: Iterable[SentSubtask]) -> PassResult:
    """Predict every subtask, whatever comes before it; a denied one blocks the step (S0.61)."""
    denied = ""
    dry_run = DryRun(context)
    for subtask in subtasks:
        if context.log.cancelled():
            return PassResult(Ending.CANCELLED, 0, "cancelled")
        attempt = dry_run.predict(subtask)
        if attempt.outcome is Outcome.DENIED and not denied:
            denied = f"{_ref(context.order, subtask)}: {attempt.explanation}"
    return PassResult(Ending.BLOCKED if denied else Ending.DONE, 0, denied)


def _stop(context: PassContext, attempt: Attempt, left: list[SentSubtask]) -> PassResult | None:
    """How this attempt of the first subtask left ends the pass; None if the pass goes on."""
    order, errors = context.order, context.history.errors
    what = f"{_ref(order, left[0])}: {attempt.reason}"
    ending = STOPS.get(attempt.outcome)
    if ending is Ending.NEEDS_APPROVAL:
        return PassResult(ending, errors, what, _texts_to_approve(context, left))
    if ending is Ending.NEEDS_INPUT:
        return PassResult(ending, errors, what, question=context.means.question(attempt))
    if ending is Ending.OVER_BUDGET:
        return PassResult(ending, errors, what, unpaid=_unpaid(attempt))
    if ending is not None:
        return PassResult(ending, errors, what)
    if threshold_reached(errors, order.policy):
        reason = f"the last error at {what}"
        return PassResult(Ending.THRESHOLD, errors, reason, error_class=class_of(attempt))
    return None


def _unpaid(attempt: Attempt) -> Unpaid | None:
    """What an agent could not pay."""
    if not isinstance(attempt.result, AgentResult) or attempt.result.unpaid is None:
        return None
    return Unpaid(attempt.subtask, attempt.result.unpaid)


def _texts_to_approve(context: PassContext, left: list[SentSubtask]) -> tuple[Unapproved, ...]:
    """The texts that a person is asked to approve.

    These are the texts of one subtask, so that the person can see what the earlier ones did; if
    plans are approved, those of all subtasks left in the step.
    """
    asked = left if context.order.policy.autonomy == PLAN else left[:1]
    return tuple(text for subtask in asked for text in context.gate.texts_to_approve(subtask))


def _ref(order: PassOrder, subtask: SentSubtask) -> str:
    return f"{order.task_ref}.{order.step.ordinal}.{subtask.ordinal}"
