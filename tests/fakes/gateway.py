"""A gateway that answers from a script, in a thread of this process, for tests of runners."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from workers.gateway.accounts import NoAccounts
from workers.gateway.app import Gateway
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving
from workers.gateway.upstream import Answer, ModelRequest, Upstream


@dataclass(slots=True)
class NotingUpstream:
    """Passes requests to another upstream and remembers them."""

    upstream: Upstream
    requests: list[ModelRequest] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        self.requests.append(request)
        async with self.upstream.open(request) as answer:
            yield answer

    async def close(self) -> None:
        """See `Upstream`."""
        await self.upstream.close()


@dataclass(frozen=True, slots=True)
class ScriptedGateway:
    """Its address, and what it was asked; runners of OpenAI get `/v1` behind the address."""

    url: str
    requests: list[ModelRequest]


@contextmanager
def scripted_gateway(*turns: Any) -> Iterator[ScriptedGateway]:
    """A gateway that takes any token and answers by these turns (`workers.gateway.script`)."""
    upstream = NotingUpstream(ScriptedUpstream(parse_script({"turns": list(turns)})))
    with serving(Gateway(upstream, NoAccounts())) as where:
        yield ScriptedGateway(where.url, upstream.requests)
