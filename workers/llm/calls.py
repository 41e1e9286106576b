"""A question to a model, its answer, and the record of the call."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol


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
class Question:
    """What a model is asked. `system` is the same for every question of a purpose.

    `purpose` is the stage that errors name, `prompt` the version of the prompt, `schema` the JSON
    Schema that the answer has to fit, `next_step_cmd` what a person can do when it goes unanswered.
    """

    purpose: str
    prompt: str
    model: str
    system: str
    turns: tuple[Turn, ...]
    schema: Mapping[str, Any]
    next_step_cmd: str | None = None

    def again(self, answer: str, complaint: str) -> "Question":
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
class Reply:
    """A finished answer."""

    text: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call as it is accounted for, whether it was answered or not.

    `seconds` is how long it took; `error` is the family of the error that it ended in, if any.
    """

    purpose: str
    prompt: str
    model: str
    seconds: float
    usage: Usage
    stop_reason: str | None = None
    request_id: str | None = None
    error: str | None = None


class Model(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> Reply:
        """The finished answer.

        Raises Transient (try later), Rejected (refused, cut off, not askable like this) or
        Misconfigured (no key, no such model).
        """
        ...
