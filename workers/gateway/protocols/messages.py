"""Anthropic's Messages API."""

from collections.abc import Iterator
from typing import Any, Final

from workers.gateway.faults import FaultKind, Refusal
from workers.gateway.protocols import sse
from workers.gateway.protocols.content import Said, text_of
from workers.gateway.protocols.protocol import (
    AnswerReader,
    Json,
    ScriptedAnswer,
    Text,
    Vendor,
    count,
    halves,
)
from workers.llm.calls import Speaker, Usage

_TYPES: Final = {
    FaultKind.INVALID_REQUEST: "invalid_request_error",
    FaultKind.UNAUTHENTICATED: "authentication_error",
    FaultKind.SPENDING: "billing_error",
    FaultKind.NOT_FOUND: "not_found_error",
    FaultKind.NOT_ALLOWED: "invalid_request_error",
    FaultKind.TOO_LARGE: "request_too_large",
}


class Messages:
    """See `ApiProtocol`."""

    name = "anthropic-messages"
    vendor = Vendor.ANTHROPIC

    def turns(self, body: Json) -> list[Said]:
        """See `ApiProtocol`."""
        return [
            (
                Speaker.ASSISTANT if message.get("role") == "assistant" else Speaker.USER,
                text_of(message.get("content")),
            )
            for message in _objects(body.get("messages"))
        ]

    def system(self, body: Json) -> str:
        """See `ApiProtocol`."""
        return text_of(body.get("system"))

    def reader(self, *, streamed: bool) -> AnswerReader:
        """See `ApiProtocol`."""
        return _Reader(streamed=streamed)

    def error(self, refusal: Refusal) -> Json:
        """See `ApiProtocol`."""
        kind = _TYPES.get(refusal.kind, "api_error")
        return {"type": "error", "error": {"type": kind, "message": refusal.reason}}

    def whole(self, answer: ScriptedAnswer) -> Json:
        """See `ApiProtocol`."""
        return {
            **_head(answer),
            "content": [_block(answer, place) for place in range(len(answer.parts))],
            "stop_reason": _stop_reason(answer),
            "stop_sequence": None,
            "usage": _told(answer.usage),
        }

    def begin(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        message = {
            **_head(answer),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _told(answer.usage) | {"output_tokens": 1},
        }
        return _event("message_start", message=message)

    def part(self, answer: ScriptedAnswer, place: int) -> Iterator[bytes]:
        """See `ApiProtocol`."""
        part = answer.parts[place]
        if isinstance(part, Text):
            empty: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in halves(part.text)]
        else:
            empty = _block(answer, place) | {"input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in halves(part.arguments)
            ]
        yield _event("content_block_start", index=place, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=place, delta=delta)
        yield _event("content_block_stop", index=place)

    def end(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        delta = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
        usage = {"output_tokens": answer.usage.output_tokens}
        return _event("message_delta", delta=delta, usage=usage) + _event("message_stop")


class _Reader(AnswerReader):
    def take_event(self, event: Any) -> None:
        heard = self.heard
        match event["type"]:
            case "message_start":
                heard.usage = _usage(event["message"]["usage"], heard.usage)
            case "content_block_start":
                heard.say(event["content_block"].get("name"))
            case "content_block_delta":
                delta = event["delta"]
                for name in ("text", "partial_json", "thinking"):
                    heard.say(delta.get(name))
            case "message_delta":
                heard.stop_reason = event["delta"].get("stop_reason")
                heard.usage = _usage(event["usage"], heard.usage)
                heard.counted = True
            case "message_stop":
                heard.whole = True
            case "error":
                heard.failure = str(event["error"].get("message", event["error"]["type"]))

    def take_whole(self, body: Any) -> None:
        heard = self.heard
        if body["type"] == "error":
            heard.failure = str(body["error"]["message"])
            return
        heard.usage, heard.counted, heard.whole = _usage(body["usage"], heard.usage), True, True
        heard.stop_reason = body["stop_reason"]
        heard.say(text_of(body["content"]))


def _usage(told: Json, before: Usage) -> Usage:
    """The tokens as told; those that are not told here are as they were told before."""
    kept = (told.get("cache_creation") or {}).get("ephemeral_1h_input_tokens")
    return Usage(
        input_tokens=_or(told.get("input_tokens"), before.input_tokens),
        cache_read_tokens=_or(told.get("cache_read_input_tokens"), before.cache_read_tokens),
        cache_written_tokens=_or(
            told.get("cache_creation_input_tokens"), before.cache_written_tokens
        ),
        output_tokens=_or(told.get("output_tokens"), before.output_tokens),
        cache_kept_tokens=_or(kept, before.cache_kept_tokens),
    )


def _or(told: Any, before: int) -> int:
    return before if told is None else count(told)


def _objects(value: Any) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _head(answer: ScriptedAnswer) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.turn}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
    }


def _block(answer: ScriptedAnswer, place: int) -> dict[str, Any]:
    part = answer.parts[place]
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    identity = f"toolu_{answer.turn}_{place}"
    return {"type": "tool_use", "id": identity, "name": part.name, "input": part.input}


def _stop_reason(answer: ScriptedAnswer) -> str:
    return answer.stop_reason or ("tool_use" if answer.calls_tools else "end_turn")


def _told(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_written_tokens,
        "output_tokens": usage.output_tokens,
    }


def _event(kind: str, **fields: Any) -> bytes:
    return sse.event({"type": kind, **fields}, kind)
