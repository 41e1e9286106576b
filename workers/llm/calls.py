"""A question to a model, its answer, and the record of the call."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from shared.domain.next_step import Advice


class Speaker(StrEnum):
    """Whose turn it was."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """What a model is asked.

    `system` are the parts that come first, each the same for many questions: they are what a
    provider keeps in its cache, so nothing of a task stands in them. `purpose` is the stage that
    errors name, `role` who asks, `prompt` the version of the prompt, `schema` the JSON Schema that
    the answer has to fit, `next_step` what a person can do when it goes unanswered.
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

    def again(self, answer: str, complaint: str) -> "ModelQuestion":
        """The same question after an answer that was of no use, with what was wrong about it."""
        turns = (*self.turns, Turn(Speaker.ASSISTANT, answer), Turn(Speaker.USER, complaint))
        return replace(self, turns=turns)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call: read afresh, read from the cache, written to the cache, produced."""

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
    """An answer; `fault` is what kept it from being finished, in words for the model, if so."""

    text: str
    usage: Usage
    fault: str = ""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call as it is accounted for, whether it was answered or not.

    `seconds` is how long it took; `error` is the family of the error that it ended in, if any, and
    `reason` its words; `answer` is what was answered, as far as it came.
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
    """Where every call is entered before it is made, and again when it has ended."""

    def begin(self, question: ModelQuestion) -> int:
        """Enter a call that is about to be made; returns its number.

        Raises Misconfigured, at stage `spending`, when what models may cost is used up: then the
        call is not made.
        """
        ...

    def end(self, number: int, record: CallRecord) -> None:
        """Enter how it ended. Never raises: an answer that was paid for is not thrown away."""
        ...


class NoLog:
    """Enters nothing."""

    def begin(self, question: ModelQuestion) -> int:  # noqa: ARG002 - a log's promise
        """Always 0."""
        return 0

    def end(self, number: int, record: CallRecord) -> None:
        """Does nothing."""


class Model(Protocol):
    """Answers questions."""

    def ask(self, question: ModelQuestion) -> ModelReply:
        """The answer, finished or with its fault.

        Raises Transient (try later; Unavailable when the other side is away or busy), Rejected (not
        askable like this) or Misconfigured (no key, no such model, nothing left to spend).
        """
        ...
