"""A gateway that asks another one over HTTP, as it asks a provider."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from workers.gateway.accounts import NoAccounts
from workers.gateway.app import Gateway
from workers.gateway.faults import Cut
from workers.gateway.patience import Patience
from workers.gateway.protocols.protocol import Vendor
from workers.gateway.providers import HttpUpstream, Provider
from workers.gateway.serving import serving
from workers.gateway.upstream import Answer, ModelRequest, Upstream

KEY: Final = "sk-the-real-key-of-the-installation"
TOKEN: Final = "rpat_of-the-attempt"
EVENTS: Final = {"content-type": "text/event-stream"}


class StagedUpstream:
    """Gives one piece each time that it is let go on, and says when its answer was closed."""

    def __init__(self, *pieces: bytes, cut: bool = False, status: int = 200) -> None:
        self.requests: list[ModelRequest] = []
        self.closed = threading.Event()
        self._pieces = pieces
        self._cut = cut
        self._status = status
        self._let_go = threading.Semaphore(0)

    def go_on(self, pieces: int = 1) -> None:
        """Let so many pieces go."""
        self._let_go.release(pieces)

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        self.requests.append(request)
        try:
            yield Answer(self._status, EVENTS, self._chunks())
        finally:
            self.closed.set()

    async def close(self) -> None:
        """See `Upstream`."""

    async def _chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await asyncio.to_thread(self._let_go.acquire)
            yield piece
        if self._cut:
            raise Cut("made to break off")


def providers(url: str) -> dict[Vendor, Provider]:
    """Every vendor at one address, with one key."""
    bearer = {"authorization": f"Bearer {KEY}"}
    return {
        Vendor.ANTHROPIC: Provider(url, {"x-api-key": KEY}),
        Vendor.OPENAI: Provider(f"{url}/v1", bearer, prefix="/v1"),
        Vendor.GOOGLE: Provider(url, {"x-goog-api-key": KEY}),
    }


@contextmanager
def gateway_before(url: str, patience: float = 0.2, silence: float = 10.0) -> Iterator[str]:
    """The address of a gateway that asks the provider at that address."""
    keys = Masker([Secret("ANTHROPIC_API_KEY", KEY)])
    known = Masker([Secret("ANTHROPIC_API_KEY", KEY), Secret("DB", 'correct horse "battery"')])
    gateway = Gateway(
        HttpUpstream(providers(url), silence=silence),
        NoAccounts(),
        masker=lambda: known,
        keys=keys,
        patience=Patience(patience),
    )
    with serving(gateway) as where:
        yield where.url


@contextmanager
def chain(upstream: Upstream, patience: float = 0.2) -> Iterator[str]:
    """The address of a gateway before one that answers from `upstream`."""
    with (
        serving(Gateway(upstream, NoAccounts())) as inner,
        gateway_before(inner.url, patience) as url,
    ):
        yield url
