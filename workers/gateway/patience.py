"""Waits out an upstream that is busy or down, so that a runner does not have to."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Final

import structlog

from workers.gateway.faults import Cut, FaultKind, Refusal
from workers.gateway.upstream import Answer, ModelRequest, Unanswered, Unreachable, Upstream

log = structlog.get_logger()

_AGAIN: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses of an upstream that may answer later."""

_KEY_REFUSED: Final = frozenset({401, 403})
_NO_CREDIT: Final = b"insufficient_quota"
"""In the 429 of an account without credit, which waiting does not mend."""

_FIRST_PAUSE: Final = 0.5
_READ: Final = 10_000


@dataclass(frozen=True, slots=True)
class Patience:
    """For how many seconds one request is tried again, and the longest pause between two tries."""

    total: float = 90.0
    longest_pause: float = 30.0


@asynccontextmanager
async def open_patiently(
    upstream: Upstream,
    request: ModelRequest,
    patience: Patience | None,
    on_away: Callable[[bool], None] = lambda _: None,
) -> AsyncIterator[Answer]:
    """The upstream's answer, once it has one that is not a reason to try again.

    Raises Refusal if it refuses the key of the gateway, has no answer in time, or gives none to a
    request that it got: with the status on which runners end at once, instead of trying again by
    themselves. With no `patience`, every answer is given as it is. `on_away` hears that the request
    is to be repeated, and that it has its answer.
    """
    begun, pause = monotonic(), _FIRST_PAUSE
    while True:
        async with AsyncExitStack() as stack:
            asked_for = None
            try:
                answer = await stack.enter_async_context(upstream.open(request))
                if patience is None or answer.status not in _AGAIN | _KEY_REFUSED:
                    on_away(False)
                    yield answer
                    return
                said = await _beginning(answer)
            except Unreachable as error:
                why = f"the provider of the model does not answer: {error}"
            except Unanswered as error:  # asked again, it would charge again
                why = f"the provider of the model has the request and does not answer: {error}"
                raise Refusal(FaultKind.UNAVAILABLE, why) from error
            else:
                why = f"the provider of the model answered {answer.status}"
                if answer.status in _KEY_REFUSED or _NO_CREDIT in said:
                    raise Refusal(
                        FaultKind.UPSTREAM_REFUSED,
                        f"{why} to the key of the model gateway: {_shown(said)}",
                    )
                asked_for = _retry_after(answer.headers)
        waits = pause if asked_for is None else max(asked_for, 0.05)
        if patience is None or monotonic() - begun + waits > patience.total:
            raise Refusal(FaultKind.UNAVAILABLE, f"{why}, and the gateway has waited long enough")
        waits = min(waits, patience.longest_pause)
        on_away(True)
        log.info("upstream_waited_for", reason=why, seconds=round(waits, 2))
        await asyncio.sleep(waits)
        pause = min(pause * 2, patience.longest_pause)


async def _beginning(answer: Answer) -> bytes:
    said = b""
    try:
        async for chunk in answer.chunks:
            said += chunk
            if len(said) > _READ:
                break
    except Cut:
        pass
    return said


def _shown(said: bytes) -> str:
    return " ".join(said.decode("utf-8", "replace").split())[:500]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the upstream asks to wait; None if it does not, or names a date."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
