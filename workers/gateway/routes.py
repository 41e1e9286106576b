"""Which protocol a request speaks, and what it wants."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workers.gateway.faults import FaultKind, Refusal
from workers.gateway.protocols.chat_completions import ChatCompletions
from workers.gateway.protocols.gemini import Gemini
from workers.gateway.protocols.messages import Messages
from workers.gateway.protocols.protocol import ApiProtocol, Json
from workers.gateway.protocols.responses import Responses

MESSAGES: Final = Messages()
CHAT: Final = ChatCompletions()
RESPONSES: Final = Responses()
GEMINI: Final = Gemini()
PROTOCOLS: Final[tuple[ApiProtocol, ...]] = (MESSAGES, CHAT, RESPONSES, GEMINI)


class Operation(StrEnum):
    """What a request wants; only `generate` costs anything."""

    GENERATE = "generate"
    COUNT = "count"
    MODELS = "models"


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes.

    `path` is below the address of the vendor; `model` and `streams` are given where the path says
    them, not the body.
    """

    protocol: ApiProtocol
    operation: Operation
    path: str
    model: str | None = None
    streams: bool | None = None

    def model_of(self, body: Json) -> str:
        """The model that is asked; empty if the request names none."""
        named = self.model or body.get("model")
        return named if isinstance(named, str) else ""

    def is_streamed(self, body: Json) -> bool:
        """Whether the answer is to come in pieces."""
        return bool(body.get("stream")) if self.streams is None else self.streams


_MODEL: Final = r"(?P<model>[\w.:@/-]{1,200}?)"
_GEMINI: Final = re.compile(rf"/v1(?:beta|alpha)?/models/{_MODEL}:(?P<method>[A-Za-z]+)")
_GEMINI_MODELS: Final = re.compile(r"/v1beta/models(?:/[\w.-]{1,200})?")
_MODELS: Final = re.compile(rf"/v1/models(?:/{_MODEL})?")

_AMBIGUOUS: Final = re.compile(r"/\.{0,2}(?=/|\Z)|\\|%(?:2e|2f|5c)", re.IGNORECASE)
"""What another program may read as another path: an empty, `.` or `..` segment, and the like."""

_POSTED: Final[Mapping[str, tuple[ApiProtocol, Operation]]] = {
    "/v1/messages": (MESSAGES, Operation.GENERATE),
    "/v1/messages/count_tokens": (MESSAGES, Operation.COUNT),
    "/v1/chat/completions": (CHAT, Operation.GENERATE),
    "/v1/responses": (RESPONSES, Operation.GENERATE),
}
_GEMINI_METHODS: Final = {
    "generateContent": (Operation.GENERATE, False),
    "streamGenerateContent": (Operation.GENERATE, True),
    "countTokens": (Operation.COUNT, False),
}


def protocol_of(path: str, headers: Mapping[str, str]) -> ApiProtocol:
    """The protocol in which to answer, also where the path is unknown."""
    if path.startswith(("/v1beta", "/v1alpha")) or "x-goog-api-key" in headers:
        return GEMINI
    if path.startswith("/v1/messages") or "anthropic-version" in headers:
        return MESSAGES
    return RESPONSES if path.startswith("/v1/responses") else CHAT


def find_route(method: str, path: str, headers: Mapping[str, str]) -> Route:
    """Where a request goes; raises Refusal if nowhere, and if its path can be read in two ways."""
    if _AMBIGUOUS.search(path):
        raise Refusal(FaultKind.NOT_FOUND, f"the model gateway does not serve {path[:200]}")
    if (posted := _POSTED.get(path)) is not None:
        _require(method, "POST", path)
        protocol, operation = posted
        return Route(protocol, operation, path)
    if (found := _GEMINI.fullmatch(path)) and found["method"] in _GEMINI_METHODS:
        _require(method, "POST", path)
        operation, streams = _GEMINI_METHODS[found["method"]]
        return Route(GEMINI, operation, path, found["model"], streams)
    if _MODELS.fullmatch(path) or _GEMINI_MODELS.fullmatch(path):
        _require(method, "GET", path)
        return Route(protocol_of(path, headers), Operation.MODELS, path, streams=False)
    raise Refusal(FaultKind.NOT_FOUND, f"the model gateway does not serve {path[:200]}")


def _require(method: str, allowed: str, path: str) -> None:
    if method != allowed:
        raise Refusal(FaultKind.NOT_ALLOWED, f"{path[:200]} takes {allowed}, not {method}")
