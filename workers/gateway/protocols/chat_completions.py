"""OpenAI's Chat Completions API, and that of the many servers that speak it."""

from collections.abc import Iterator
from typing import Any

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

_FIRST = frozenset({"system", "developer"})


class ChatCompletions:
    """See `ApiProtocol`."""

    name = "openai-chat"
    vendor = Vendor.OPENAI

    def turns(self, body: Json) -> list[Said]:
        """See `ApiProtocol`."""
        return [
            (
                Speaker.ASSISTANT if message.get("role") == "assistant" else Speaker.USER,
                text_of([message.get("content"), message.get("tool_calls")]),
            )
            for message in _messages(body)
            if message.get("role") not in _FIRST
        ]

    def system(self, body: Json) -> str:
        """See `ApiProtocol`."""
        return "\n".join(
            text_of(message.get("content"))
            for message in _messages(body)
            if message.get("role") in _FIRST
        )

    def reader(self, *, streamed: bool) -> AnswerReader:
        """See `ApiProtocol`."""
        return _Reader(streamed=streamed)

    def error(self, refusal: Refusal) -> Json:
        """See `ApiProtocol`."""
        return error_body(refusal)

    def whole(self, answer: ScriptedAnswer) -> Json:
        """See `ApiProtocol`."""
        said = "".join(part.text for part in answer.parts if isinstance(part, Text))
        calls = [
            _call(answer, place)
            for place, part in enumerate(answer.parts)
            if not isinstance(part, Text)
        ]
        message = {"role": "assistant", "content": said or None}
        choice = {
            "index": 0,
            "message": message | ({"tool_calls": calls} if calls else {}),
            "finish_reason": _finish_reason(answer),
        }
        return {
            **_head(answer, "chat.completion"),
            "choices": [choice],
            "usage": _told(answer.usage),
        }

    def begin(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        return _chunk(answer, {"role": "assistant", "content": ""})

    def part(self, answer: ScriptedAnswer, place: int) -> Iterator[bytes]:
        """See `ApiProtocol`."""
        part = answer.parts[place]
        if isinstance(part, Text):
            for piece in halves(part.text):
                yield _chunk(answer, {"content": piece})
            return
        before = answer.parts[:place]
        index = sum(not isinstance(each, Text) for each in before)
        call = _call(answer, place)
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = ""
        yield _chunk(answer, {"tool_calls": [{"index": index, **call}]})
        for piece in halves(arguments):
            more = {"index": index, "function": {"arguments": piece}}
            yield _chunk(answer, {"tool_calls": [more]})

    def end(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        last = {**_head(answer, "chat.completion.chunk"), "choices": []}
        return (
            _chunk(answer, {}, _finish_reason(answer))
            + sse.event({**last, "usage": _told(answer.usage)})
            + b"data: [DONE]\n\n"
        )


class _Reader(AnswerReader):
    def take_event(self, event: Any) -> None:
        heard = self.heard
        if "error" in event:
            heard.failure = text_of(event["error"].get("message")) or "error"
            return
        if event.get("usage"):
            heard.usage, heard.counted = _usage(event["usage"]), True
        for choice in event.get("choices", ()):
            delta = choice.get("delta") or choice.get("message") or {}
            heard.say(delta.get("content"))
            heard.say(delta.get("reasoning_content"))
            for call in delta.get("tool_calls") or ():
                heard.say(call["function"].get("name"))
                heard.say(call["function"].get("arguments"))
            heard.stop_reason = choice.get("finish_reason") or heard.stop_reason

    def take_whole(self, body: Any) -> None:
        self.take_event(body)
        self.heard.whole = self.heard.failure is None


def _usage(told: Json) -> Usage:
    details = told.get("prompt_tokens_details") or {}
    read, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    return Usage(
        input_tokens=max(0, count(told.get("prompt_tokens")) - read - written),
        cache_read_tokens=read,
        cache_written_tokens=written,
        output_tokens=count(told.get("completion_tokens")),
    )


def _messages(body: Json) -> list[Json]:
    found = body.get("messages")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _head(answer: ScriptedAnswer, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{answer.turn}",
        "object": kind,
        "created": 1_700_000_000,
        "model": answer.model,
    }


def _call(answer: ScriptedAnswer, place: int) -> dict[str, Any]:
    part = answer.parts[place]
    if isinstance(part, Text):
        raise TypeError(part)
    function = {"name": part.name, "arguments": part.arguments}
    return {"id": answer.call_id(place), "type": "function", "function": function}


def _finish_reason(answer: ScriptedAnswer) -> str:
    return answer.stop_reason or ("tool_calls" if answer.calls_tools else "stop")


def _chunk(answer: ScriptedAnswer, delta: Json, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return sse.event({**_head(answer, "chat.completion.chunk"), "choices": [choice]})


def _told(usage: Usage) -> dict[str, Any]:
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_written_tokens
    return {
        "prompt_tokens": read,
        "completion_tokens": usage.output_tokens,
        "total_tokens": read + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }
