"""Drops every message that is not a list of job numbers, before Celery unpacks it.

Celery unpacks messages outside its own error handlers. A message of another shape would end the
worker, be delivered to the next one, and end that one too.
"""

from collections.abc import Callable
from typing import Any, Final

from celery.exceptions import InvalidTaskError
from celery.worker.strategy import default

from shared.queue.app import JOBS_A_MESSAGE
from shared.queue.dropped import DROPPED

LARGEST: Final = 2**63 - 1
"""The largest possible number of a job."""

_UNWANTED: Final = ("eta", "expires", "timelimit", "chord", "chain")
"""Headers with which a message could delay a worker or make it send other messages."""


def only_jobs(task: Any, app: Any, consumer: Any, **options: Any) -> Callable[..., Any]:
    """Celery's own strategy (for `Task.Strategy`), after a check of the message.

    Raises InvalidTaskError for any message that does not name jobs by number; Celery logs and
    drops such a message.
    """
    accept = default(task, app, consumer, **options)

    def handle(message: Any, body: Any, *rest: Any, **more: Any) -> Any:
        fault = fault_of(message)
        if fault:
            raise _dropped(fault)
        try:
            return accept(message, body, *rest, **more)
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
            raise _dropped(f"its headers cannot be used: {error}") from error

    return handle


def _dropped(fault: str) -> InvalidTaskError:
    DROPPED.add("of tasks", fault)
    return InvalidTaskError(fault)


def fault_of(message: Any) -> str:
    """What is wrong with a message; empty if it names a few jobs by number."""
    try:
        arguments, named, embedded = message.payload
    except Exception as error:  # noqa: BLE001 - decoding foreign bytes can raise anything
        return f"it is not a message of this program: {error}"
    if not isinstance(arguments, list) or not 0 < len(arguments) <= JOBS_A_MESSAGE or named:
        return f"it does not ask for one to {JOBS_A_MESSAGE} jobs"
    if not all(type(each) is int and 0 < each <= LARGEST for each in arguments):
        return "it does not name jobs by number"
    if not isinstance(embedded, dict) or any(embedded.values()):
        return "it contains other messages"
    if any(any(limit) if isinstance(limit, list) else limit for limit in _extras(message)):
        return "it asks for a delay, an end or a successor"
    return ""


def _extras(message: Any) -> list[Any]:
    return [message.headers.get(name) for name in _UNWANTED]
