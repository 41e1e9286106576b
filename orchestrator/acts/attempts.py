"""What a person may do with a running command: end it."""

from collections.abc import Callable

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.verbs import act
from orchestrator.acts.watch import wait_until
from orchestrator.views.attempts import AttemptLine, attempt_view
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.store import jobs


@act("attempt.cancel")
def cancel(caller: Caller, ref: Ref) -> Done[AttemptLine]:
    """End a running command: it counts as failed, and its step continues from there.

    Its worker learns of it at the commit. Without a number, `ref` means the running attempt. Raises
    Rejected when there is no such attempt, or no worker is running it.
    """
    attempt = _attempt(caller, ref)
    with caller.database.begin() as connection:
        asked = jobs.cancel_attempt(connection, attempt.key)
        if asked:
            audit.record(connection, caller.actor, Act("attempt.cancel", str(attempt.ref)))
    if not asked:
        attempt = _attempt(caller, attempt.ref)
        raise Rejected(
            f"{attempt.ref} {_not_in_hand(attempt)}",
            stage="input",
            next_step=NextStep.of("attempt show", attempt.ref),
        )
    return Done(attempt)


def await_cancellation(
    caller: Caller, ref: Ref, timeout: float, tell: Callable[[AttemptLine, float], None]
) -> AttemptLine:
    """Wait up to `timeout` seconds until an attempt has ended."""
    return wait_until(
        lambda: _attempt(caller, ref),
        lambda seen: not seen.running,
        timeout=timeout,
        tell=tell,
    )


def _attempt(caller: Caller, ref: Ref) -> AttemptLine:
    with caller.database.begin() as connection:
        return attempt_view(connection, ref).attempt


def _not_in_hand(attempt: AttemptLine) -> str:
    if attempt.running:
        return "no longer belongs to a worker: its task was cancelled, or its step has moved on"
    return f"has already ended: {attempt.outcome.replace('_', ' ')}"
