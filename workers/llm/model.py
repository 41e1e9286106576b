"""Asks the model through the anthropic SDK."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from shared.domain.errors import Rejected, ReplanError, Transient, Unavailable
from workers.llm.calls import (
    CallLog,
    CallRecord,
    ModelQuestion,
    ModelReply,
    NoLog,
    Speaker,
    Turn,
    Usage,
)
from workers.llm.foreign import is_connection_error, translate
from workers.llm.settings import LlmSettings

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import (
        AssistantMessageParam,
        Message,
        MessageParam,
        OutputConfigParam,
        TextBlockParam,
        UserMessageParam,
    )

_FAULTS = {
    "max_tokens": "the answer was cut off at {limit} tokens: give a shorter one",
    "tool_use": "the answer wanted to use a tool, and there is none",
    "pause_turn": "the answer paused in the middle",
}
_TOO_LONG = "model_context_window_exceeded"


@dataclass(slots=True)
class _Received:
    """The part of an answer that has arrived: it is paid for, however the call ends.

    `opened` is true once the other side answers.
    """

    opened: bool = False
    message: "Message | None" = None
    request_id: str | None = None


class AnthropicModel:
    """Asks once and never retries by itself: retries after a passing fault belong to the queue.

    Questions go through `mask` before they are sent, as does everything that `log` stores. Answers
    are streamed, so that a long one is not mistaken for a dead connection. Thread-safe. The first
    question imports the SDK and opens the connection.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        log: CallLog | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._mask = mask
        self._settings = settings
        self._log = log or NoLog()
        self._client: anthropic.Anthropic | None = None
        self._lock = threading.Lock()

    def ask(self, question: ModelQuestion) -> ModelReply:
        """The answer; raises what `workers.llm.calls.Model` documents."""
        self._settings.check()
        masked = self._mask_question(question)
        number = self._log.begin(masked)
        started = time.monotonic()
        received = _Received()
        fault, reason, error = "", "", None
        try:
            reply = _reply(self._send(masked, received), question, self._settings)
            fault = reply.fault
        except ReplanError as raised:
            error, reason = raised.family, raised.reason
            raise
        finally:
            record = _record(question, received, time.monotonic() - started)
            record = replace(
                record,
                error=Rejected.family if fault else error,
                reason=self._mask(fault or reason),
                answer=None if record.answer is None else self._mask(record.answer),
            )
            self._log.end(number, record)
        return reply

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _mask_question(self, question: ModelQuestion) -> ModelQuestion:
        return replace(
            question,
            system=tuple(map(self._mask, question.system)),
            turns=tuple(Turn(turn.speaker, self._mask(turn.text)) for turn in question.turns),
        )

    def _send(self, question: ModelQuestion, received: _Received) -> "Message":
        try:
            self._listen(question, received)
        except Exception as error:
            ours = self._translate(error, question, received)
            if ours is None:
                raise
            raise ours from error
        if received.message is None or not _is_complete(received.message):
            raise Transient("the response is not from the Messages API", stage=question.purpose)
        if received.message.stop_reason is None:
            raise Unavailable("the model's answer broke off in the middle", stage=question.purpose)
        return received.message

    def _listen(self, question: ModelQuestion, received: _Received) -> None:
        with self._connect().messages.stream(
            model=question.model,
            max_tokens=self._settings.max_tokens,
            system=[_part(text) for text in question.system],
            messages=[_turn(turn.speaker, turn.text) for turn in question.turns],
            output_config=_output_config(question),
        ) as stream:
            received.opened, received.request_id = True, stream.request_id
            for _ in stream:
                received.message = received.message or _message_so_far(stream)

    def _connect(self) -> "anthropic.Anthropic":
        import anthropic  # takes seconds, and many workers never ask a model

        with self._lock:
            if self._client is None:
                settings = self._settings
                self._client = anthropic.Anthropic(
                    api_key=settings.api_key,
                    auth_token=None if settings.api_key else settings.auth_token,
                    base_url=settings.base_url or "https://api.anthropic.com",
                    max_retries=0,
                    timeout=anthropic.Timeout(settings.timeout, connect=settings.connect_timeout),
                )
            return self._client

    def _translate(
        self, error: Exception, question: ModelQuestion, received: _Received
    ) -> ReplanError | None:
        """Translate an error; None for a defect of ours, raised before anything had answered."""
        import anthropic

        stage = question.purpose
        if is_connection_error(error):
            return Unavailable(f"the connection to the model was lost: {error}", stage=stage)
        if not isinstance(error, anthropic.AnthropicError):
            if not received.opened:
                return None
            # the SDK trusts what it reads: a malformed response can raise any error at all
            told = f"the response cannot be read: {type(error).__name__}: {error}"
            return Transient(told, stage=stage)
        ours = translate(error, stage=stage, next_step=question.next_step)
        for secret in (self._settings.api_key, self._settings.auth_token):
            if secret:
                ours.reason = ours.reason.replace(secret, "[key]")
                ours.args = (ours.reason,)
        return ours


def _message_so_far(stream: Any) -> "Message | None":
    """The message as far as it has arrived; None before it has begun."""
    try:
        message: Message = stream.current_message_snapshot
    except AssertionError:
        return None
    return message


def _part(text: str) -> "TextBlockParam":
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


def _output_config(question: ModelQuestion) -> "OutputConfigParam":
    from anthropic import transform_schema

    config: dict[str, Any] = {
        "format": {"type": "json_schema", "schema": transform_schema(dict(question.schema))}
    }
    if question.effort is not None:
        config["effort"] = question.effort
    return cast("OutputConfigParam", config)


def _turn(speaker: Speaker, text: str) -> "MessageParam":
    text = text if text.strip() else "(nothing)"
    user: UserMessageParam = {"role": "user", "content": text}
    assistant: AssistantMessageParam = {"role": "assistant", "content": text}
    return user if speaker is Speaker.USER else assistant


def _reply(message: "Message", question: ModelQuestion, settings: LlmSettings) -> ModelReply:
    why = message.stop_reason or ""
    if why == _TOO_LONG:
        raise Rejected(
            "the question and its answer are too long for the model",
            stage=question.purpose,
            next_step=question.next_step,
        )
    fault = _FAULTS.get(why, "").format(limit=settings.max_tokens)
    if why == "refusal":
        details = message.stop_details
        said = (details.explanation if details else None) or "no reason was given"
        fault = f"the model refused to answer: {said}"
    return ModelReply(_text(message), _usage(message), fault)


def _text(message: "Message") -> str:
    return "".join(block.text for block in message.content if block.type == "text")


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
    return Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_written_tokens=usage.cache_creation_input_tokens or 0,
        output_tokens=usage.output_tokens,
    )


def _record(question: ModelQuestion, received: _Received, seconds: float) -> CallRecord:
    message = received.message
    if message is not None and not _is_complete(message):
        message = None
    return CallRecord(
        purpose=question.purpose,
        prompt=question.prompt,
        model=question.model,
        seconds=seconds,
        usage=Usage() if message is None else _usage(message),
        stop_reason=None if message is None else message.stop_reason,
        request_id=received.request_id,
        answer=None if message is None else _text(message),
    )
