"""Says now and then how far the gateway is with its calls, for those who watch agents."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final

import structlog

from shared.domain.errors import ReplanError
from shared.store.model_calls import CallUnderWay
from workers.gateway.exchange import Exchange

log = structlog.get_logger()

NEWS: Final = 2.0
"""Seconds after which what has changed is said."""

SIGN_OF_LIFE: Final = 20.0
"""Seconds after which a call is said to be under way although nothing has changed."""

Say = Callable[[Sequence[CallUnderWay]], Awaitable[None]]


@dataclass(slots=True)
class _Open:
    exchange: Exchange
    known: CallUnderWay
    at: float


class CallsUnderWay:
    """The calls that have not ended; `say` records how far they are.

    What ends sooner than the first news costs nothing.
    """

    def __init__(self, say: Say, *, every: float = NEWS) -> None:
        self._say = say
        self._every = every
        self._open: dict[int, _Open] = {}
        self._speaking: asyncio.Task[None] | None = None

    def begin(self, number: int, exchange: Exchange) -> None:
        """A call begins; those without a number are in no account."""
        if not number:
            return
        self._open[number] = _Open(exchange, CallUnderWay(number, 0, False), monotonic())
        if self._speaking is None or self._speaking.done():
            self._speaking = asyncio.create_task(self._speak())

    def end(self, number: int) -> None:
        """A call has ended."""
        self._open.pop(number, None)

    async def close(self) -> None:
        """Say nothing more."""
        if self._speaking is not None:
            self._speaking.cancel()
            with suppress(asyncio.CancelledError):
                await self._speaking

    async def _speak(self) -> None:
        while self._open:
            await asyncio.sleep(self._every)
            if news := self._news(monotonic()):
                try:
                    await self._say(news)
                except ReplanError as error:
                    log.warning("calls_not_noted", reason=error.reason)

    def _news(self, now: float) -> list[CallUnderWay]:
        found = []
        for number, each in self._open.items():
            now_is = CallUnderWay(number, each.exchange.heard, each.exchange.provider_away)
            if now_is != each.known or now - each.at > SIGN_OF_LIFE:
                each.known, each.at = now_is, now
                found.append(now_is)
        return found
