"""Speaks the Messages API, wherever it is offered, through the anthropic SDK."""

import threading
from typing import TYPE_CHECKING, Any, cast

from shared.domain.config import ModelProvider
from shared.domain.errors import Misconfigured, Rejected
from workers.llm.call_watch import interruptible
from workers.llm.calls import WANTED_TOOL, Fault, ModelQuestion, Speaker, Turn, Usage
from workers.llm.client import Heard
from workers.llm.schema_forms import lean
from workers.llm.settings import LlmSettings

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import (
        AssistantMessageParam,
        CacheControlEphemeralParam,
        Message,
        MessageParam,
        OutputConfigParam,
        TextBlockParam,
        UserMessageParam,
    )

_FAULTS = {
    "tool_use": WANTED_TOOL,
    "pause_turn": Fault.other("the answer paused in the middle"),
}
_JSON = "application/json"
_TOO_LONG = "model_context_window_exceeded"

_BEDROCK_VERSION = {"anthropic_version": "bedrock-2023-05-31"}
"""The version of the protocol that Bedrock's own endpoint knows; the SDK names a newer one."""


class MessagesClient:
    """Anthropic's own API, or Claude on Bedrock, Vertex AI or Foundry."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._client: anthropic.Anthropic | None = None
        self._lock = threading.Lock()

    def listen(self, question: ModelQuestion, heard: Heard) -> None:
        """See `Client`."""
        try:
            self._stream(question, heard)
        except (RuntimeError, ValueError) as error:
            if heard.opened or self._settings.provider is ModelProvider.ANTHROPIC:
                raise
            # how the platforms' clients say that credentials, region or project are missing
            raise Misconfigured(
                f"{self._settings.provider}: {error}",
                stage=question.purpose,
                next_step=self._settings.info.sign_in,
            ) from error

    def close(self) -> None:
        """See `Client`."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _stream(self, question: ModelQuestion, heard: Heard) -> None:
        legacy = self._settings.provider is ModelProvider.BEDROCK
        message: Message | None = None
        with self._connect().messages.stream(
            model=question.model,
            max_tokens=self._settings.max_tokens,
            system=self._system(question.system),
            messages=[_message(turn) for turn in question.turns],
            output_config=_output_config(question),
            extra_body=_BEDROCK_VERSION if legacy else None,
        ) as stream:
            heard.opened, heard.request_id = True, _request_id(stream)
            try:
                if stream.response.headers.get("content-type", "").startswith(_JSON):
                    message = _whole(stream.response.read())
                else:
                    for _ in stream:
                        message = message or _message_so_far(stream)
            finally:
                if message is not None and _is_complete(message):
                    _note(message, heard, self._settings.max_tokens)
        if heard.stop_reason == _TOO_LONG:
            raise Rejected(
                "the question and its answer are too long for the model",
                stage=question.purpose,
                next_step=question.next_step,
            )

    def _system(self, texts: tuple[str, ...]) -> "list[TextBlockParam]":
        """The parts that come first; the first of all is the same for every question."""
        first, *others = texts
        kept: CacheControlEphemeralParam = {"type": "ephemeral"}
        if self._settings.provider is ModelProvider.ANTHROPIC:
            kept["ttl"] = "1h"  # tasks wait on hosts for longer than the usual five minutes
        house: TextBlockParam = {"type": "text", "text": first, "cache_control": kept}
        rest: list[TextBlockParam] = [{"type": "text", "text": text} for text in others]
        return [house, *rest]

    def _connect(self) -> "anthropic.Anthropic":
        with self._lock:
            if self._client is None:
                self._client = _make(self._settings)
            return self._client


def _make(settings: LlmSettings) -> "anthropic.Anthropic":
    import anthropic

    how: dict[str, Any] = {
        "max_retries": 0,
        "http_client": interruptible(anthropic.DefaultHttpxClient),
        "timeout": anthropic.Timeout(settings.timeout, connect=settings.connect_timeout),
    }
    key, base_url, region = settings.api_key, settings.base_url, settings.region
    client: object
    match settings.provider:
        case ModelProvider.BEDROCK:
            client = anthropic.AnthropicBedrock(
                api_key=key, aws_region=region, base_url=base_url, **how
            )
        case ModelProvider.BEDROCK_MANTLE:
            client = anthropic.AnthropicBedrockMantle(
                api_key=key, aws_region=region, base_url=base_url, **how
            )
        case ModelProvider.VERTEX:
            client = anthropic.AnthropicVertex(
                region=region or "global",
                project_id=settings.project or anthropic.not_given,
                base_url=base_url,
                **how,
            )
        case ModelProvider.FOUNDRY:
            place = {"base_url": base_url} if base_url else {"resource": settings.resource}
            client = anthropic.AnthropicFoundry(api_key=key, **place, **how)
        case _:
            client = anthropic.Anthropic(
                api_key=key,
                auth_token=None if key else settings.auth_token,
                base_url=base_url or "https://api.anthropic.com",
                **how,
            )
    # the platforms' clients have the same `messages` and no common base class
    return cast("anthropic.Anthropic", client)


def _request_id(stream: Any) -> str | None:
    found: str | None = stream.request_id or stream.response.headers.get("x-amzn-requestid")
    return found


def _message_so_far(stream: Any) -> "Message | None":
    """The message as far as it has arrived; None before it has begun."""
    try:
        message: Message = stream.current_message_snapshot
    except AssertionError:
        return None
    return message


def _whole(body: bytes) -> "Message":
    """The answer of a server that does not stream. Raises ValueError if it is not one."""
    from anthropic.types import Message

    return Message.model_validate_json(body)


def _message(turn: Turn) -> "MessageParam":
    *shared, last = turn.parts
    blocks: list[TextBlockParam] = [
        {"type": "text", "text": part, "cache_control": {"type": "ephemeral"}} for part in shared
    ]
    blocks.append({"type": "text", "text": last if last.strip() else "(nothing)"})
    user: UserMessageParam = {"role": "user", "content": blocks}
    assistant: AssistantMessageParam = {"role": "assistant", "content": blocks}
    return user if turn.speaker is Speaker.USER else assistant


def _output_config(question: ModelQuestion) -> "OutputConfigParam":
    from anthropic import transform_schema

    config: dict[str, Any] = {
        "format": {"type": "json_schema", "schema": transform_schema(lean(question.schema))}
    }
    if question.effort is not None:
        config["effort"] = question.effort
    return cast("OutputConfigParam", config)


def _note(message: "Message", heard: Heard, limit: int) -> None:
    heard.begun = True
    heard.pieces = [block.text for block in message.content if block.type == "text"]
    heard.usage = _usage(message)
    heard.thought = sum(map(_thought, message.content))
    heard.stop_reason = message.stop_reason
    heard.fault = _FAULTS.get(message.stop_reason or "")
    if message.stop_reason == "max_tokens":
        heard.fault = Fault.cut_off(limit)
    if message.stop_reason == "refusal":
        details = message.stop_details
        said = (details.explanation if details else None) or "no reason was given"
        heard.fault = Fault.refused(said)


def _thought(block: object) -> int:
    """The length of what a block of thinking holds, if it is readable or not."""
    parts = (getattr(block, name, None) for name in ("thinking", "data"))
    return sum(len(part) for part in parts if isinstance(part, str))


def _is_complete(message: "Message") -> bool:
    """Whether the message is well-formed: the SDK builds its values without checking them."""
    usage: object = getattr(message, "usage", None)
    content: object = getattr(message, "content", None)
    counted = (getattr(usage, name, None) for name in ("input_tokens", "output_tokens"))
    return (
        all(isinstance(count, int) for count in counted)
        and isinstance(content, list)
        and all(map(_is_readable, content))
    )


def _is_readable(block: object) -> bool:
    kind = getattr(block, "type", None)
    text = getattr(block, "text", None)
    return isinstance(kind, str) and (kind != "text" or isinstance(text, str))


def _usage(message: "Message") -> Usage:
    usage = message.usage
    kept = usage.cache_creation
    return Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_written_tokens=usage.cache_creation_input_tokens or 0,
        output_tokens=usage.output_tokens,
        cache_kept_tokens=(kept.ephemeral_1h_input_tokens if kept else 0) or 0,
    )
