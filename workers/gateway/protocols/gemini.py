"""Google's Gemini API: generateContent and streamGenerateContent."""

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

_STATUS: Final = {
    FaultKind.INVALID_REQUEST: "INVALID_ARGUMENT",
    FaultKind.UNAUTHENTICATED: "UNAUTHENTICATED",
    FaultKind.SPENDING: "FAILED_PRECONDITION",
    FaultKind.NOT_FOUND: "NOT_FOUND",
    FaultKind.NOT_ALLOWED: "INVALID_ARGUMENT",
    FaultKind.TOO_LARGE: "INVALID_ARGUMENT",
    FaultKind.DEFECT: "INTERNAL",
}


class Gemini:
    """See `ApiProtocol`."""

    name = "gemini"
    vendor = Vendor.GOOGLE

    def turns(self, body: Json) -> list[Said]:
        """See `ApiProtocol`."""
        found = body.get("contents")
        contents = [found] if isinstance(found, dict) else found
        return [
            (
                Speaker.ASSISTANT if content.get("role") == "model" else Speaker.USER,
                text_of(content.get("parts")),
            )
            for content in (contents if isinstance(contents, list) else ())
            if isinstance(content, dict)
        ]

    def system(self, body: Json) -> str:
        """See `ApiProtocol`."""
        found = body.get("systemInstruction") or body.get("system_instruction")
        return text_of(found.get("parts") if isinstance(found, dict) else found)

    def reader(self, *, streamed: bool) -> AnswerReader:
        """See `ApiProtocol`."""
        return _Reader(streamed=streamed)

    def error(self, refusal: Refusal) -> Json:
        """See `ApiProtocol`."""
        status = _STATUS.get(refusal.kind, "FAILED_PRECONDITION")
        return {
            "error": {
                "code": refusal.status,
                "message": refusal.reason,
                "status": status,
                "details": [{"reason": refusal.kind.value}],
            }
        }

    def whole(self, answer: ScriptedAnswer) -> Json:
        """See `ApiProtocol`."""
        parts = [_part(answer, place) for place in range(len(answer.parts))]
        return _response(answer, parts, end=True)

    def begin(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        return sse.event(_response(answer, [{"text": ""}]))

    def part(self, answer: ScriptedAnswer, place: int) -> Iterator[bytes]:
        """See `ApiProtocol`."""
        part = answer.parts[place]
        if isinstance(part, Text):
            for piece in halves(part.text):
                yield sse.event(_response(answer, [{"text": piece}]))
        else:
            yield sse.event(_response(answer, [_part(answer, place)]))

    def end(self, answer: ScriptedAnswer) -> bytes:
        """See `ApiProtocol`."""
        return sse.event(_response(answer, [{"text": ""}], end=True))


class _Reader(AnswerReader):
    def take_event(self, event: Any) -> None:
        heard = self.heard
        if "error" in event:
            heard.failure = str(event["error"].get("message", "error"))
            return
        if told := event.get("usageMetadata"):
            heard.usage = _usage(told)
        for candidate in event.get("candidates", ()):
            for part in (candidate.get("content") or {}).get("parts") or ():
                heard.say(text_of(part))
            if reason := candidate.get("finishReason"):
                heard.stop_reason, heard.whole = reason, True
                heard.counted = bool(told)

    def take_whole(self, body: Any) -> None:
        for event in body if isinstance(body, list) else [body]:
            self.take_event(event)


def _usage(told: Json) -> Usage:
    cached = count(told.get("cachedContentTokenCount"))
    read = count(told.get("promptTokenCount")) + count(told.get("toolUsePromptTokenCount"))
    return Usage(
        input_tokens=max(0, read - cached),
        cache_read_tokens=cached,
        output_tokens=count(told.get("candidatesTokenCount"))
        + count(told.get("thoughtsTokenCount")),
    )


def _part(answer: ScriptedAnswer, place: int) -> dict[str, Any]:
    part = answer.parts[place]
    if isinstance(part, Text):
        return {"text": part.text}
    arguments = {"input": part.input} if part.custom else part.input
    return {"functionCall": {"id": answer.call_id(place), "name": part.name, "args": arguments}}


def _response(answer: ScriptedAnswer, parts: list[Any], *, end: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    response: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": answer.model,
        "responseId": f"resp_{answer.turn}",
    }
    if end:
        usage = answer.usage
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_written_tokens
        candidate["finishReason"] = answer.stop_reason or "STOP"
        response["usageMetadata"] = {
            "promptTokenCount": read,
            "cachedContentTokenCount": usage.cache_read_tokens,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": read + usage.output_tokens,
        }
    return response
