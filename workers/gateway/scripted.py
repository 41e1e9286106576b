"""Answers from a script, in any of the protocols."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from workers.gateway.faults import Cut, FaultKind, Refusal
from workers.gateway.protocols.content import count_characters, count_rounds
from workers.gateway.protocols.protocol import ScriptedAnswer, Text, ToolUse, Vendor
from workers.gateway.routes import Operation
from workers.gateway.script import (
    Awaits,
    BreaksOff,
    Fails,
    Hangs,
    Item,
    Script,
    ScriptTurn,
    Sleeps,
    Uses,
)
from workers.gateway.upstream import Answer, ModelRequest
from workers.llm.calls import Usage, estimate_tokens

_JSON: Final = {"content-type": "application/json"}
_EVENTS: Final = {"content-type": "text/event-stream; charset=utf-8"}
_LOOK_AGAIN: Final = 0.05
"""Seconds between two looks for a file that a script awaits."""

_LAST: Final = (Text("The script has no more turns."),)
"""What answers a request after the last turn."""


class ScriptedUpstream:
    """See `Upstream`; needs no network."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._failed: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def open(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        match request.route.operation:
            case Operation.GENERATE:
                yield self._generate(request)
            case Operation.COUNT:
                yield _whole(_counted(request))
            case Operation.MODELS:
                yield _whole(self._models(request))

    async def close(self) -> None:
        """See `Upstream`."""

    def _generate(self, request: ModelRequest) -> Answer:
        protocol, body = request.route.protocol, request.body
        turns = protocol.turns(body)
        said = "\n".join((protocol.system(body), *(text for _, text in turns)))
        case = self._script.case_of(said)
        number = count_rounds(turns) - case.offset
        items: ScriptTurn = case.turns[number] if 0 <= number < len(case.turns) else _LAST
        first = turns[0][1] if turns else ""
        if failing := self._failing(items, (first, number)):
            told = Refusal(FaultKind.UNAVAILABLE, failing.message)
            return _whole(protocol.error(told), failing.status, failing.headers)
        answer = _scripted(request, number, items)
        if request.is_streamed:
            return Answer(200, _EVENTS, _streamed(request, answer, items))
        return Answer(200, _JSON, _in_one_piece(request, answer, items))

    def _failing(self, items: ScriptTurn, place: tuple[str, int]) -> Fails | None:
        """The error with which this request is answered; None if with the turn."""
        with self._lock:
            passed = self._failed[place]
            for item in items:
                if isinstance(item, Fails):
                    if item.times is None or passed < item.times:
                        self._failed[place] += 1
                        return item
                    passed -= item.times
        return None

    def _models(self, request: ModelRequest) -> Any:
        models = self._script.models
        match request.route.protocol.vendor:
            case Vendor.GOOGLE:
                return {"models": [{"name": f"models/{name}"} for name in models]}
            case Vendor.ANTHROPIC:
                shown = [_ANTHROPIC_MODEL | {"id": name, "display_name": name} for name in models]
                return {"data": shown, "has_more": False, "first_id": None, "last_id": None}
            case Vendor.OPENAI:
                listed = [{"id": name, "object": "model", "created": 0} for name in models]
                return {"object": "list", "data": [each | {"owned_by": "x"} for each in listed]}


_ANTHROPIC_MODEL: Final = {"type": "model", "created_at": "2026-01-01T00:00:00Z"}


def _scripted(request: ModelRequest, number: int, items: ScriptTurn) -> ScriptedAnswer:
    parts = tuple(item for item in items if isinstance(item, Text | ToolUse))
    told = next((item for item in items if isinstance(item, Uses)), Uses())
    said = sum(len(part.text if isinstance(part, Text) else part.arguments) for part in parts)
    usage = Usage(
        input_tokens=_estimate(request) if told.input is None else told.input,
        cache_read_tokens=told.cached,
        output_tokens=estimate_tokens(said) if told.output is None else told.output,
    )
    model = request.route.model_of(request.body) or "scripted"
    return ScriptedAnswer(model, number, parts, usage)


def _estimate(request: ModelRequest) -> int:
    return estimate_tokens(count_characters(request.body))


async def _streamed(
    request: ModelRequest, answer: ScriptedAnswer, items: ScriptTurn
) -> AsyncIterator[bytes]:
    protocol = request.route.protocol
    yield protocol.begin(answer)
    place = 0
    for item in items:
        if isinstance(item, Text | ToolUse):
            for event in protocol.part(answer, place):
                yield event
            place += 1
        else:
            await _act(item)
    yield protocol.end(answer)


async def _in_one_piece(
    request: ModelRequest, answer: ScriptedAnswer, items: ScriptTurn
) -> AsyncIterator[bytes]:
    body = json.dumps(request.route.protocol.whole(answer), ensure_ascii=False).encode()
    for item in items:
        if isinstance(item, BreaksOff):
            yield body[: len(body) // 2]
        await _act(item)
    yield body


async def _act(item: Item) -> None:
    match item:
        case Sleeps(seconds):
            await asyncio.sleep(seconds)
        case Awaits(path):
            while not path.exists():  # noqa: ASYNC110 - nothing tells of a file without a library
                await asyncio.sleep(_LOOK_AGAIN)
        case Hangs():
            await asyncio.Event().wait()
        case BreaksOff():
            raise Cut("the script cuts it here")
        case _:
            pass


def _counted(request: ModelRequest) -> Any:
    tokens = _estimate(request)
    if request.route.protocol.vendor is Vendor.GOOGLE:
        return {"totalTokens": tokens}
    return {"input_tokens": tokens}


def _whole(body: Any, status: int = 200, headers: Any = None) -> Answer:
    return Answer(status, {**_JSON, **(headers or {})}, _pieces([json.dumps(body).encode()]))


async def _pieces(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
