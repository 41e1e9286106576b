"""Which headers pass through the gateway, and where an attempt's token stands in them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

_ASKED: Final = ("anthropic-", "openai-", "x-stainless-")
_ASKED_WHOLE: Final = frozenset(
    {"accept", "content-type", "user-agent", "x-app", "x-goog-api-client", "x-client-request-id"}
)
_ANSWERED: Final = ("anthropic-", "openai-", "x-ratelimit-")
_ANSWERED_WHOLE: Final = frozenset({"content-type", "request-id", "x-request-id", "retry-after"})


def passed_on(headers: Mapping[str, str], mask: Callable[[str], str] = str) -> dict[str, str]:
    """The headers of a request that the upstream gets: never one that carries a key."""
    return _kept(headers.items(), _ASKED, _ASKED_WHOLE, mask)


def passed_back(headers: Mapping[str, str], mask: Callable[[str], str] = str) -> dict[str, str]:
    """The headers of an answer that the attempt gets."""
    return _kept(headers.items(), _ANSWERED, _ANSWERED_WHOLE, mask)


def token_of(headers: Mapping[str, str], query: str) -> str:
    """The token of a request, wherever its protocol carries keys; empty if there is none."""
    if bearer := headers.get("authorization", ""):
        kind, _, token = bearer.partition(" ")
        if kind.lower() == "bearer":
            return token.strip()
    named = headers.get("x-api-key") or headers.get("x-goog-api-key")
    return named or dict(parse_qsl(query)).get("key", "")


def without_key(query: str) -> str:
    """The query of a request without a key."""
    pairs = parse_qsl(query, keep_blank_values=True)
    return urlencode([(name, value) for name, value in pairs if name != "key"])


def _kept(
    headers: Iterable[tuple[str, str]],
    prefixes: tuple[str, ...],
    whole: frozenset[str],
    mask: Callable[[str], str],
) -> dict[str, str]:
    return {
        name: mask(value) for name, value in headers if name in whole or name.startswith(prefixes)
    }
