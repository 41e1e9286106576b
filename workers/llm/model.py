"""The model, asked through the anthropic SDK."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from shared.domain.errors import Rejected, ReplanError, Transient
from workers.llm.calls import CallRecord, Question, Reply, Speaker, Usage
from workers.llm.foreign import translated
from workers.llm.settings import LlmSettings

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import (
        AssistantMessageParam,
        Message,
        MessageParam,
        OutputConfigParam,
        UserMessageParam,
    )

OnCall = Callable[[CallRecord], None]
"""Told of every call once it has ended, well or badly."""

_UNFINISHED = {
    "max_tokens": "the model's answer was cut off at {limit} tokens",
    "model_context_window_exceeded": "the question and its answer are too long for the model",
    "tool_use": "the model wanted to use a tool, and has none",
    "pause_turn": "the model paused in the middle of its answer",
}


_COUNTED = ("input_tokens", "output_tokens")


class AnthropicModel:
    """Asks once and never repeats by itself: what failed for the moment is the queue's to repeat.

    What is asked goes through `mask` first. May be used by several threads. The SDK is imported,
    and the connection made, by the first question.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        on_call: OnCall | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._mask = mask
        self._settings = settings
        self._on_call = on_call
        self._client: anthropic.Anthropic | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Reply:
        """The finished answer; raises as `workers.llm.calls.Model` says."""
        started = time.monotonic()
        message: Message | None = None
        error: ReplanError | None = None
        try:
            message = self._sent(question)
            return _finished(message, question, self._settings)
        except ReplanError as raised:
            error = raised
            raise
        finally:
            if self._on_call is not None:
                self._on_call(_record(question, message, error, time.monotonic() - started))

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _sent(self, question: Question) -> "Message":
        self._settings.check()
        import anthropic  # takes seconds, and many workers never ask a model

        try:
            message: object = self._connected().messages.create(
                model=question.model,
                max_tokens=self._settings.max_tokens,
                system=[
                    {
                        "type": "text",
                        "text": self._mask(question.system),
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
                messages=[_turn(turn.speaker, self._mask(turn.text)) for turn in question.turns],
                output_config=self._output_config(question),
            )
        except (anthropic.AnthropicError, ValueError) as error:
            # a body that is no JSON, though it says it is, comes out of the SDK as ValueError
            raise self._translated(error, question) from error
        if not _complete(message):
            raise Transient("what answered is not the Messages API", stage=question.purpose)
        return message

    def _connected(self) -> "anthropic.Anthropic":
        with self._lock:
            if self._client is None:
                import anthropic

                settings = self._settings
                self._client = anthropic.Anthropic(
                    api_key=settings.api_key,
                    auth_token=None if settings.api_key else settings.auth_token,
                    base_url=settings.base_url or "https://api.anthropic.com",
                    max_retries=0,
                    timeout=anthropic.Timeout(settings.timeout, connect=settings.connect_timeout),
                )
            return self._client

    def _output_config(self, question: Question) -> "OutputConfigParam":
        from anthropic import transform_schema

        config: dict[str, Any] = {
            "format": {"type": "json_schema", "schema": transform_schema(dict(question.schema))}
        }
        if self._settings.effort is not None:
            config["effort"] = self._settings.effort
        return cast("OutputConfigParam", config)

    def _translated(self, error: Exception, question: Question) -> ReplanError:
        if isinstance(error, ValueError):
            return Transient(f"what answered is not readable: {error}", stage=question.purpose)
        ours = translated(error, stage=question.purpose, next_step_cmd=question.next_step_cmd)
        for secret in (self._settings.api_key, self._settings.auth_token):
            if secret:
                ours.reason = ours.reason.replace(secret, "[key]")
                ours.args = (ours.reason,)
        return ours


def _turn(speaker: Speaker, text: str) -> "MessageParam":
    text = text if text.strip() else "(nothing)"
    user: UserMessageParam = {"role": "user", "content": text}
    assistant: AssistantMessageParam = {"role": "assistant", "content": text}
    return user if speaker is Speaker.USER else assistant


def _finished(message: "Message", question: Question, settings: LlmSettings) -> Reply:
    why = message.stop_reason or ""
    if why == "refusal":
        details = message.stop_details
        said = (details.explanation if details else None) or "it gave no reason"
        raise _rejected(f"the model refused: {said}", question)
    if why in _UNFINISHED:
        raise _rejected(_UNFINISHED[why].format(limit=settings.max_tokens), question)
    text = "".join(block.text for block in message.content if block.type == "text")
    return Reply(text, _usage(message))


def _complete(message: object) -> "TypeGuard[Message]":
    """The SDK builds its values without looking at them."""
    from anthropic.types import Message

    if not isinstance(message, Message):
        return False
    usage: object = getattr(message, "usage", None)
    content: object = getattr(message, "content", None)
    return (
        "stop_reason" in message.model_fields_set
        and all(isinstance(getattr(usage, name, None), int) for name in _COUNTED)
        and isinstance(content, list)
        and all(map(_readable, content))
    )


def _readable(block: object) -> bool:
    kind = getattr(block, "type", None)
    text = getattr(block, "text", None)
    return isinstance(kind, str) and (kind != "text" or isinstance(text, str))


def _rejected(reason: str, question: Question) -> Rejected:
    return Rejected(reason, stage=question.purpose, next_step_cmd=question.next_step_cmd)


def _usage(message: "Message") -> Usage:
    usage = message.usage
    return Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_written_tokens=usage.cache_creation_input_tokens or 0,
        output_tokens=usage.output_tokens,
    )


def _record(
    question: Question, message: "Message | None", error: ReplanError | None, seconds: float
) -> CallRecord:
    return CallRecord(
        purpose=question.purpose,
        prompt=question.prompt,
        model=question.model,
        seconds=seconds,
        usage=Usage() if message is None else _usage(message),
        stop_reason=None if message is None else message.stop_reason,
        request_id=None if message is None else message._request_id,  # noqa: SLF001 - the SDK documents it
        error=None if error is None else error.family,
    )
