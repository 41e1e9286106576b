"""OpenAI's Responses API."""

from collections.abc import Iterator
from typing import Any, Final

from workers.gateway.faults import Refusal
from workers.gateway.protocols import sse
from workers.gateway.protocols.content import Said, text_of
from workers.gateway.protocols.openai_errors import error_body
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

_FIRST: Final = frozenset({"system", "developer"})
_RESULT: Final = "_output"
"""How the types of items end that carry the result of a tool."""

_ENDS: Final = frozenset({"response.completed", "response.incomplete"})
_FAILED: Final = "response.failed"


class Responses:
    """See `ApiProtocol`."""

    name = "openai-responses"
    vendor = Vendor.OPENAI

    def turns(self, body: Json) -> list[Said]:
        """See `ApiProtocol`."""
        return [
            (_speaker(item), text_of(item.get("content") if "role" in item else item))
            for item in _items(body)
            if item.get("role") not in _FIRST
        ]

    def system(self, body: Json) -> str:
        """See `ApiProtocol`."""
        first = [item.get("content") for item in _items(body) if item.get("role") in _FIRST]
        return text_of([body.get("instructions"), *first])

    def reader(self, *, streamed: bool) -> AnswerReader:
        """See `ApiProtocol`."""
        return _Reader(streamed=streamed)

    def error(self, refusal: Refusal) -> Json:
        """See `ApiProtocol`."""
        return error_body(refusal)

    def whole(self, answer: ScriptedAnswer) -> Json:
        """See `ApiProtocol`."""
        output = [_item(answer, place) for place in range(len(answer.parts))]
        return _response(answer, "completed", output, _told(answer.usage))

    def begin(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        return _event("response.created", response=_response(answer, "in_progress", []))

    def part(self, answer: ScriptedAnswer, place: int) -> Iterator[bytes]:
        """See `ApiProtocol`."""
        part = answer.parts[place]
        item = _item(answer, place)
        where = {"output_index": place, "item_id": item["id"]}
        if isinstance(part, Text):
            inside = where | {"content_index": 0}
            content = item["content"][0]
            yield _event(
                "response.output_item.added", output_index=place, item=item | {"content": []}
            )
            yield _event("response.content_part.added", **inside, part=content | {"text": ""})
            for piece in halves(part.text):
                yield _event("response.output_text.delta", **inside, delta=piece, logprobs=[])
            yield _event("response.output_text.done", **inside, text=part.text, logprobs=[])
            yield _event("response.content_part.done", **inside, part=content)
        else:
            field, kind = (
                ("input", "response.custom_tool_call_input")
                if part.custom
                else ("arguments", "response.function_call_arguments")
            )
            yield _event("response.output_item.added", output_index=place, item=item | {field: ""})
            for piece in halves(part.arguments):
                yield _event(f"{kind}.delta", **where, delta=piece)
            yield _event(f"{kind}.done", **where, **{field: part.arguments}, name=part.name)
        yield _event("response.output_item.done", output_index=place, item=item)

    def end(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        return _event("response.completed", response=self.whole(answer))


class _Reader(AnswerReader):
    def take_event(self, event: Any) -> None:
        heard = self.heard
        kind = event["type"]
        if kind in _ENDS or kind == _FAILED:
            self._end(event["response"])
        elif kind.endswith(".delta"):
            heard.say(event.get("delta"))
        elif kind == "response.output_item.added":
            heard.say(event["item"].get("name"))
        elif kind == "error":
            heard.failure = str(event.get("message", "error"))

    def take_whole(self, body: Any) -> None:
        if body.get("error"):
            self.heard.failure = str(body["error"].get("message", "error"))
            return
        self._end(body)
        for item in body["output"]:
            self.heard.say(text_of(item.get("content") if "role" in item else item))

    def _end(self, response: Any) -> None:
        heard = self.heard
        heard.stop_reason = response.get("status")
        if response.get("error"):
            heard.failure = str(response["error"].get("message", "error"))
        else:
            heard.whole = True
        if response.get("usage"):
            heard.usage, heard.counted = _usage(response["usage"]), True


def _usage(told: Json) -> Usage:
    details = told.get("input_tokens_details") or {}
    read, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    return Usage(
        input_tokens=max(0, count(told.get("input_tokens")) - read - written),
        cache_read_tokens=read,
        cache_written_tokens=written,
        output_tokens=count(told.get("output_tokens")),
    )


def _items(body: Json) -> list[Json]:
    found = body.get("input")
    if isinstance(found, str):
        return [{"role": "user", "content": found}]
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _speaker(item: Json) -> Speaker:
    if "role" in item:
        return Speaker.ASSISTANT if item["role"] == "assistant" else Speaker.USER
    return Speaker.USER if str(item.get("type", "")).endswith(_RESULT) else Speaker.ASSISTANT


def _item(answer: ScriptedAnswer, place: int) -> dict[str, Any]:
    part = answer.parts[place]
    identity = f"item_{answer.turn}_{place}"
    if isinstance(part, Text):
        content = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
        return {
            "id": identity,
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [content],
        }
    kind, field = ("custom_tool_call", "input") if part.custom else ("function_call", "arguments")
    return {
        "id": identity,
        "type": kind,
        "status": "completed",
        "call_id": answer.call_id(place),
        "name": part.name,
        field: part.arguments,
    }


def _response(
    answer: ScriptedAnswer, status: str, output: list[Any], usage: Json | None = None
) -> dict[str, Any]:
    return {
        "id": f"resp_{answer.turn}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _told(usage: Usage) -> dict[str, Any]:
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_written_tokens
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + usage.output_tokens,
    }


def _event(kind: str, **fields: Any) -> bytes:
    return sse.event({"type": kind, "sequence_number": 0, **fields}, kind)
