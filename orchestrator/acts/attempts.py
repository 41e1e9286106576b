"""What a person may do with a running command: end it."""

from collections.abc import Callable

from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.verbs import act
from orchestrator.acts.watch import wait_until
from orchestrator.views.attempts import AttemptLine, attempt_view
from orchestrator.views.custody import Custody, custody_of
from shared.domain.errors import Rejected
from shared.domain.facts import AttemptCancelRequested
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep


@act("attempt.cancel")
def cancel(caller: Caller, ref: Ref) -> Done[AttemptLine]:
    """End a running command: it counts as failed, and its step continues from there.

    Its worker is told as soon as a coordinator has read the fact. Without a number, `ref` means the
    running attempt. Raises Rejected when there is no such attempt, when no worker is running it,
    or when it ended before the coordinator read the fact.
    """
    attempt, custody = _attempt(caller, ref)
    if not custody.in_hand:
        raise _not_in_hand(attempt)
    fact = AttemptCancelRequested(
        step=custody.step,
        revision=attempt.revision,
        pass_no=attempt.pass_no,
        subtask=custody.subtask,
        number=custody.number,
        key=attempt.key,
        requested_by=caller.actor.name,
    )
    entry = Act("attempt.cancel", str(attempt.ref))
    taken = post(caller, entry, [(attempt.ref.task, custody.run_id, fact)])
    attempt, custody = _attempt(caller, attempt.ref)
    if taken and not custody.cancelled:
        raise _not_in_hand(attempt)
    return Done(attempt, taken)


def await_cancellation(
    caller: Caller, ref: Ref, timeout: float, tell: Callable[[AttemptLine, float], None]
) -> AttemptLine:
    """Wait up to `timeout` seconds until an attempt has ended."""
    return wait_until(
        lambda: _attempt(caller, ref)[0],
        lambda seen: not seen.running,
        timeout=timeout,
        tell=tell,
    )


def _attempt(caller: Caller, ref: Ref) -> tuple[AttemptLine, Custody]:
    with caller.database.reading() as connection:
        attempt = attempt_view(connection, ref).attempt
        return attempt, custody_of(connection, attempt.key)


def _not_in_hand(attempt: AttemptLine) -> Rejected:
    told = f"has already ended: {attempt.outcome.replace('_', ' ')}"
    if attempt.running:
        told = "no longer belongs to a worker: its task was cancelled, or its step has moved on"
    return Rejected(
        f"{attempt.ref} {told}",
        stage="input",
        next_step=NextStep.of("attempt show", attempt.ref),
    )
