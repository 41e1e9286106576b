"""The providers of models, asked over HTTP with the keys of the installation."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shared.settings import ServerSettings
from workers.gateway.faults import Cut, FaultKind, Refusal
from workers.gateway.protocols.protocol import Vendor
from workers.gateway.upstream import Answer, ModelRequest, Unanswered, Unreachable

if TYPE_CHECKING:
    import httpx2

_CONNECT: Final = 10.0
"""Seconds that a connection may take."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a vendor's requests go.

    `prefix` is the beginning of a path that `base_url` already has. `headers` carry the key;
    `missing` names the variable of the key where there is none.
    """

    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    prefix: str = ""
    missing: str = ""


def providers_of(server: ServerSettings) -> dict[Vendor, Provider]:
    """The providers of an installation."""
    key, token = server.anthropic_api_key, server.anthropic_auth_token
    anthropic = {"x-api-key": key} if key else {"authorization": f"Bearer {token}"}
    openai, google = server.openai_api_key, server.gemini_api_key
    return {
        Vendor.ANTHROPIC: Provider(
            server.anthropic_base_url or "https://api.anthropic.com",
            anthropic if key or token else {},
            missing="" if key or token else "ANTHROPIC_API_KEY",
        ),
        Vendor.OPENAI: Provider(
            server.openai_base_url or "https://api.openai.com/v1",
            {"authorization": f"Bearer {openai}"} if openai else {},
            prefix="/v1",
            missing="" if openai or server.openai_base_url else "OPENAI_API_KEY",
        ),
        Vendor.GOOGLE: Provider(
            server.gemini_base_url or "https://generativelanguage.googleapis.com",
            {"x-goog-api-key": google} if google else {},
            missing="" if google else "GEMINI_API_KEY",
        ),
    }


class HttpUpstream:
    """See `Upstream`; `silence` is for how many seconds an answer may pause."""

    def __init__(self, providers: Mapping[Vendor, Provider], silence: float) -> None:
        import httpx2

        self._providers = providers
        # An answer with pauses is no broken one; how many are asked at once, the runners decide.
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(silence, connect=_CONNECT, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
        )

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`; raises Refusal where no key is set."""
        import httpx2

        sent = self._build(request)
        try:
            response = await self._client.send(sent, stream=True)
        except (httpx2.ReadTimeout, httpx2.ReadError, httpx2.RemoteProtocolError) as error:
            raise Unanswered(str(error) or type(error).__name__) from error
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        try:
            yield Answer(response.status_code, dict(response.headers), _chunks(response))
        finally:
            await response.aclose()

    async def close(self) -> None:
        """See `Upstream`."""
        await self._client.aclose()

    def _build(self, request: ModelRequest) -> "httpx2.Request":
        provider = self._providers[request.route.protocol.vendor]
        if provider.missing:
            raise Refusal(
                FaultKind.UPSTREAM_REFUSED,
                f"no key for this model: {provider.missing} is not set where the gateway runs",
            )
        path = request.route.path.removeprefix(provider.prefix)
        query = f"?{request.query}" if request.query else ""
        return self._client.build_request(
            "POST" if request.raw else "GET",
            f"{provider.base_url.rstrip('/')}{path}{query}",
            # what passes by is read: it must not be compressed
            headers={**request.headers, "accept-encoding": "identity", **provider.headers},
            content=request.raw or None,
        )


async def _chunks(response: "httpx2.Response") -> AsyncIterator[bytes]:
    import httpx2

    try:
        async for chunk in response.aiter_raw():
            yield chunk
    except (httpx2.TransportError, httpx2.StreamError) as error:
        raise Cut(str(error) or type(error).__name__) from error
