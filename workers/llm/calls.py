"""A question to a model, the reply, and the record of the call."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from shared.domain.next_step import Advice
from workers.llm.prompt_text import PromptText


class Speaker(StrEnum):
    """Who spoke in a turn."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said."""

    speaker: Speaker
    text: str


def user_turn(text: PromptText) -> Turn:
    """What replan says to the model; text of others stands in it between marks alone."""
    return Turn(Speaker.USER, text.text)


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A question to a model.

    `system` holds the parts that come first and are the same for many questions. The provider
    caches them, so they contain nothing about a task. `purpose` is the stage that errors name,
    `role` the role that asks, `prompt` the version of the prompt, `schema` the JSON Schema of the
    answer, and `next_step` what a person can do if there is no answer.
    """

    purpose: str
    role: str
    prompt: str
    model: str
    system: tuple[str, ...]
    turns: tuple[Turn, ...]
    schema: Mapping[str, Any]
    effort: str | None = None
    next_step: Advice | None = None

    def again(self, answer: str, complaint: PromptText) -> "ModelQuestion":
        """The same question, followed by an unusable answer and the complaint about it."""
        turns = (*self.turns, Turn(Speaker.ASSISTANT, answer), user_turn(complaint))
        return replace(self, turns=turns)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call: uncached input, read from cache, written to cache, output."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_written_tokens + other.cache_written_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelReply:
    """An answer of a model; `fault` says, in words for the model, why it is incomplete."""

    text: str
    usage: Usage
    fault: str = ""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """The record of one call, whether it was answered or not.

    `seconds` is how long it took; `error` is the family of the error that ended it, if any, and
    `reason` its message; `answer` is the part of the answer that arrived.
    """

    purpose: str
    prompt: str
    model: str
    seconds: float
    usage: Usage
    stop_reason: str | None = None
    request_id: str | None = None
    error: str | None = None
    reason: str = ""
    answer: str | None = None


class CallLog(Protocol):
    """Records every call before it is made and again when it has ended."""

    def begin(self, question: ModelQuestion) -> int:
        """Record a call that is about to be made; returns its number.

        Raises Misconfigured at stage `spending` if a spending cap is reached; then the call is not
        made.
        """
        ...

    def end(self, number: int, record: CallRecord) -> None:
        """Record how it ended. Never raises: an answer that was paid for is not thrown away."""
        ...


class NoLog:
    """Records nothing."""

    def begin(self, question: ModelQuestion) -> int:  # noqa: ARG002 - a log's promise
        """Return 0."""
        return 0

    def end(self, number: int, record: CallRecord) -> None:
        """Do nothing."""


class Model(Protocol):
    """Answers questions."""

    def ask(self, question: ModelQuestion) -> ModelReply:
        """The answer, either complete or with its fault.

        Raises Transient (try later; Unavailable if the provider is down or busy), Rejected (the
        question is not accepted) or Misconfigured (no key, no such model, spending cap reached).
        """
        ...
