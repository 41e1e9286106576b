"""The protocols of the providers of models, as a server speaks them: one class for each."""

import base64
import json
import re
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

from workers.llm.schema_forms import in_words

Json = Mapping[str, Any]
Event = tuple[str, dict[str, Any]]

_PIECE = 1000
"""Characters of the answer in one event."""

_TOLD: Final = re.compile(re.escape(in_words({}).removesuffix("{}")) + r"(\{.*)", re.DOTALL)
_KINDS: Final = {
    "prompt": "RefineAnswer",
    "steps": "PlanAnswer",
    "diagnosis": "RevisionAnswer",
    "retry": "AdviceAnswer",
    "subtasks": "DetailAnswer",
}
"""The answers by a property that only they have, the last apart."""


def kind_of(schema: Json) -> str:
    """Which answer a schema describes: `PlanAnswer`, `DetailAnswer` …; empty for none."""
    properties = schema.get("properties", {})
    return next((kind for name, kind in _KINDS.items() if name in properties), "")


class MessagesWire:
    """The Messages API with server-sent events: Anthropic, Foundry, Bedrock's Mantle."""

    content_type = "text/event-stream"
    request_id = "request-id"

    def model(self, path: str, body: Json) -> str:  # noqa: ARG002 - others have it in the path
        """The model that is asked."""
        return str(body["model"])

    def schema(self, body: Json) -> Json:
        """The JSON Schema of the answer; empty when none was sent."""
        config: Json = body.get("output_config", {})
        found: Json = config.get("format", {}).get("schema", {})
        return found

    def effort(self, body: Json) -> str | None:
        """How hard the model is to think."""
        found: str | None = body.get("output_config", {}).get("effort")
        return found

    def system(self, body: Json) -> str:
        """What is said before the conversation."""
        return "\n".join(part["text"] for part in body["system"])

    def said(self, body: Json) -> list[str]:
        """What each turn of the conversation says, first to last."""
        return ["".join(part["text"] for part in turn["content"]) for turn in body["messages"]]

    def is_streamed(self, body: Json) -> bool:
        """Whether the answer is wanted in pieces."""
        return bool(body.get("stream"))

    def whole(self, message: Json) -> bytes:
        """The message in one piece."""
        return json.dumps(message).encode()

    def stream(self, message: Json, until: int | None = None) -> bytes:
        """The message in pieces, or the first of them."""
        return b"".join(self.frame(*event) for event in events_of(message)[:until])

    def frame(self, kind: str, body: Json) -> bytes:
        """One event."""
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **body})}\n\n".encode()

    def error(self, kind: str, said: str) -> bytes:
        """The body of an error answer."""
        told = {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_0"}
        return json.dumps(told).encode()

    def broken(self, kind: str) -> bytes:
        """An error in the middle of an answer."""
        return self.frame("error", {"error": {"type": kind, "message": "broken"}})


class VertexWire(MessagesWire):
    """The same, with the model in the path."""

    def model(self, path: str, body: Json) -> str:  # noqa: ARG002 - see there
        """The model that is asked."""
        return path.rpartition("/")[2].partition(":")[0]


class BedrockWire(MessagesWire):
    """The Messages API in the frames of AWS: `application/vnd.amazon.eventstream`."""

    content_type = "application/vnd.amazon.eventstream"
    request_id = "x-amzn-requestid"

    def model(self, path: str, body: Json) -> str:  # noqa: ARG002 - see there
        """The model that is asked."""
        return path.split("/")[2]

    def is_streamed(self, body: Json) -> bool:  # noqa: ARG002 - the path says it
        """Only this way of asking is played."""
        return True

    def frame(self, kind: str, body: Json) -> bytes:
        """One event: its JSON in base64, in JSON, in a frame."""
        told = base64.b64encode(json.dumps({"type": kind, **body}).encode()).decode()
        names = {":event-type": "chunk", ":content-type": "application/json"}
        return _frame({**names, ":message-type": "event"}, {"bytes": told})

    def error(self, kind: str, said: str) -> bytes:  # noqa: ARG002 - a header says it
        """The body of an error answer."""
        return json.dumps({"message": said}).encode()

    def broken(self, kind: str) -> bytes:
        """An exception in the middle of an answer."""
        exception = {
            "overloaded_error": "serviceUnavailableException",
            "rate_limit_error": "throttlingException",
        }.get(kind, "internalServerException")
        names = {":exception-type": exception, ":content-type": "application/json"}
        return _frame({**names, ":message-type": "exception"}, {"message": "broken"})


class ChatWire(MessagesWire):
    """The Chat Completions API of OpenAI."""

    request_id = "x-request-id"

    def schema(self, body: Json) -> Json:
        """The schema, wherever it stands: in the request, or in what is said."""
        form: Json = body.get("response_format", {})
        found: Json = form.get("json_schema", {}).get("schema", {})
        if not found and (told := _TOLD.search(self.system(body))):
            found = json.JSONDecoder().raw_decode(told[1])[0]
        return found

    def effort(self, body: Json) -> str | None:
        """How hard the model is to think."""
        return body.get("reasoning_effort")

    def system(self, body: Json) -> str:
        """What is said before the conversation."""
        return "\n".join(m["content"] for m in body["messages"] if m["role"] == "system")

    def said(self, body: Json) -> list[str]:
        """What each turn of the conversation says, first to last."""
        return [m["content"] for m in body["messages"] if m["role"] != "system"]

    def whole(self, message: Json) -> bytes:
        """The message in one piece."""
        told = {"role": "assistant", "content": _text(message), "refusal": _refusal(message)}
        choice: dict[str, Any] = {"index": 0, "message": told, "finish_reason": _finish(message)}
        return json.dumps(_chat(message, "chat.completion", [choice], _tokens(message))).encode()

    def stream(self, message: Json, until: int | None = None) -> bytes:
        """The message in chunks: its role, pieces of text, how it ends, its tokens."""
        text = _text(message)
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": text[at : at + _PIECE]} for at in range(0, len(text), _PIECE)]
        if (refusal := _refusal(message)) is not None:
            deltas.append({"refusal": refusal})
        choices: list[list[dict[str, Any]]] = [
            [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
        ]
        choices.append([{"index": 0, "delta": {}, "finish_reason": _finish(message)}])
        chunks = [_chat(message, "chat.completion.chunk", choice) for choice in choices]
        chunks.append(_chat(message, "chat.completion.chunk", [], _tokens(message)))
        frames = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return "".join([*frames, "data: [DONE]\n\n"][:until]).encode()

    def frame(self, kind: str, body: Json) -> bytes:  # noqa: ARG002 - only pings are framed alone
        """A comment, by which some servers keep a connection open."""
        return b": ping\n\n"

    def error(self, kind: str, said: str) -> bytes:
        """The body of an error answer; a kind such as `x/y` also says which parameter it is."""
        kind, _, param = kind.partition("/")
        told: Json = {"message": said, "type": kind, "param": param or None, "code": kind}
        return json.dumps({"error": told}).encode()

    def broken(self, kind: str) -> bytes:
        """An error in the middle of an answer."""
        told = {"error": {"message": "broken", "type": kind, "code": None}}
        return f"data: {json.dumps(told)}\n\n".encode()


def wire_of(path: str) -> MessagesWire:
    """The protocol that a request speaks, by its path."""
    if "/chat/completions" in path:
        return ChatWire()
    if path.startswith("/model/"):
        return BedrockWire()
    return VertexWire() if path.endswith("RawPredict") else MessagesWire()


def events_of(message: Json) -> list[Event]:
    """The events that a message of the Messages API consists of."""
    started = {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_details": None,
        "usage": {**message["usage"], "output_tokens": 1},
    }
    events: list[Event] = [("message_start", {"message": started})]
    for index, block in enumerate(message["content"]):
        kind = block["type"]
        text = block[kind]
        events.append(
            ("content_block_start", {"index": index, "content_block": {**block, kind: ""}})
        )
        events += [
            (
                "content_block_delta",
                {"index": index, "delta": {"type": f"{kind}_delta", kind: text[at : at + _PIECE]}},
            )
            for at in range(0, len(text), _PIECE)
        ]
        events.append(("content_block_stop", {"index": index}))
    ended = {name: message[name] for name in ("stop_reason", "stop_details", "stop_sequence")}
    return [
        *events,
        ("message_delta", {"delta": ended, "usage": message["usage"]}),
        ("message_stop", {}),
    ]


def _frame(names: Mapping[str, str], body: Json) -> bytes:
    """A frame of `application/vnd.amazon.eventstream`, with its two checksums."""
    headers = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value))
        + value.encode()
        for name, value in names.items()
    )  # fmt: skip
    payload = json.dumps(body).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    told = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return told + struct.pack("!I", zlib.crc32(told))


def _chat(
    message: Json, kind: str, choices: list[dict[str, Any]], usage: Json | None = None
) -> dict[str, Any]:
    return {
        "id": message["id"],
        "object": kind,
        "created": 1,
        "model": message["model"],
        "choices": choices,
        "usage": usage,
    }


def _text(message: Json) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def _refusal(message: Json) -> str | None:
    if message["stop_reason"] != "refusal":
        return None
    return (message["stop_details"] or {}).get("explanation") or "I would rather not."


def _finish(message: Json) -> str:
    return {"max_tokens": "length", "tool_use": "tool_calls"}.get(message["stop_reason"], "stop")


def _tokens(message: Json) -> dict[str, Any]:
    """The same tokens as this protocol counts them: those of the cache are part of the prompt's."""
    usage = message["usage"]
    read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
    prompt, produced = usage["input_tokens"] + read + written, usage["output_tokens"]
    return {
        "prompt_tokens": prompt,
        "completion_tokens": produced,
        "total_tokens": prompt + produced,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
    }
