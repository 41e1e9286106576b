"""What a message may be: numbers of jobs and nothing else; any other is dropped at the door.

Celery unpacks a message outside every handler of its own: one of another shape would end the
worker, come back to the next, and end that, too.
"""

from collections.abc import Callable
from typing import Any, Final

from celery.exceptions import InvalidTaskError
from celery.worker.strategy import default

from shared.queue.app import JOBS_A_MESSAGE

LARGEST: Final = 2**63 - 1
"""The largest number that a job can have."""

_UNWANTED: Final = ("eta", "expires", "timelimit", "chord", "chain")
"""Headers with which a message could hold a worker up or have it send others."""


def only_jobs(task: Any, app: Any, consumer: Any, **options: Any) -> Callable[..., Any]:
    """Celery's own strategy behind a look at the message (for `Task.Strategy`).

    It raises InvalidTaskError for any message that does not ask for jobs by their numbers, which
    Celery logs and drops.
    """
    accept = default(task, app, consumer, **options)

    def handle(message: Any, body: Any, *rest: Any, **more: Any) -> Any:
        fault = fault_of(message)
        if fault:
            raise InvalidTaskError(fault)
        try:
            return accept(message, body, *rest, **more)
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            raise InvalidTaskError(f"its headers cannot be used: {error}") from error

    return handle


def fault_of(message: Any) -> str:
    """What is wrong with a message, nothing when it asks for a few jobs by their numbers."""
    try:
        arguments, named, embedded = message.payload
    except Exception as error:  # noqa: BLE001 - whatever its bytes do to whoever decodes them
        return f"it is no message of ours: {error}"
    if not isinstance(arguments, list) or not 0 < len(arguments) <= JOBS_A_MESSAGE or named:
        return f"it asks for something else than one to {JOBS_A_MESSAGE} jobs"
    if not all(type(each) is int and 0 < each <= LARGEST for each in arguments):
        return "it does not name jobs by their numbers"
    if not isinstance(embedded, dict) or any(embedded.values()):
        return "it has other messages in it"
    if any(any(limit) if isinstance(limit, list) else limit for limit in _extras(message)):
        return "it asks for a delay, an end or a successor"
    return ""


def _extras(message: Any) -> list[Any]:
    return [message.headers.get(name) for name in _UNWANTED]
