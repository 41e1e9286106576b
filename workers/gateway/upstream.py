"""What answers requests: a provider over HTTP, a script, or a recording."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from workers.gateway.protocols.protocol import Json
from workers.gateway.routes import Route


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request as it leaves: without the token of its attempt, known secrets masked.

    `body` is the JSON of `raw`, empty for a request without a body. `headers` are those that are
    passed on, with their names in lower case.
    """

    route: Route
    raw: bytes
    body: Json
    query: str
    headers: Mapping[str, str]

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is to come in pieces."""
        return self.route.is_streamed(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that has begun. Reading `chunks` raises Cut if it breaks off."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]

    @property
    def is_event_stream(self) -> bool:
        """Whether it comes as server-sent events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")


class Unreachable(Exception):
    """The upstream did not get the whole request; the message is for people."""


class Unanswered(Exception):
    """The upstream got the request, for which it may charge, and gave no answer to it."""


class Upstream(Protocol):
    """Answers requests."""

    def open(self, request: ModelRequest) -> AbstractAsyncContextManager[Answer]:
        """The answer; leaving the context closes it.

        Raises Unreachable or Unanswered if there is none.
        """
        ...

    async def close(self) -> None:
        """Release all connections."""
        ...
