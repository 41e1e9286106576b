"""A question to a model, the reply, and the record of the call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any, Protocol

from shared.domain.next_step import Advice
from workers.llm.prompt_text import PromptText, join, own, set_apart


class Speaker(StrEnum):
    """Who spoke in a turn."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said.

    `breaks` are the lengths of the beginnings of the text that other questions share: a provider is
    asked to keep its work on each of them in its cache.
    """

    speaker: Speaker
    text: str
    breaks: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The text, cut at its breaks."""
        return tuple(self.text[start:end] for start, end in pairwise((0, *self.breaks, None)))

    def convert(self, change: Callable[[str], str]) -> "Turn":
        """The same turn with each of its parts changed."""
        return _turn_of(self.speaker, tuple(map(change, self.parts)))


def _turn_of(speaker: Speaker, parts: tuple[str, ...]) -> Turn:
    return Turn(speaker, "".join(parts), tuple(accumulate(map(len, parts[:-1]))))


def user_turn(*blocks: PromptText) -> Turn:
    """What replan says to the model; text of others stands in it between marks alone.

    A block is a part that other questions may share, together with what stands before it.
    """
    texts = [block.text for block in blocks if block.text]
    parts = (*(f"{text}\n\n" for text in texts[:-1]), *texts[-1:])
    return _turn_of(Speaker.USER, parts)


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A question to a model.

    `system` holds the parts that come first and are the same for many questions. The provider
    caches them, so they contain nothing about a task. `purpose` is the stage that errors name,
    `role` the role that asks, `prompt` the version of the prompt, `schema` the JSON Schema of the
    answer, and `next_step` what a person can do if there is no answer. `looks_left` says how many
    more rounds of looks the model may ask for before it answers. `now` is the date and time, which
    is told at the end of the first turn; it is no part of the turns, so that a question that is put
    again later is still the same. `repositories` and `runners` are the names that its answer may
    use where it plans with agents.
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
    looks_left: int = 0
    now: str = ""
    repositories: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()

    @property
    def characters(self) -> int:
        """The length of everything that is said."""
        return sum(map(len, self.system)) + sum(len(turn.text) for turn in self.turns)

    def timed(self) -> "ModelQuestion":
        """The question as it is sent: with the time."""
        if not self.now:
            return self
        first, *others = self.turns
        clock = join(own("The date and time here:"), set_apart("clock", self.now), between="\n")
        told = replace(first, text=f"{first.text}\n\n{clock}")
        return replace(self, turns=(told, *others), now="")

    def again(self, answer: str, complaint: PromptText) -> "ModelQuestion":
        """The same question, followed by an unusable answer and the complaint about it."""
        turns = (*self.turns, Turn(Speaker.ASSISTANT, answer), user_turn(complaint))
        return replace(self, turns=turns)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call: uncached input, read from cache, written to cache, output.

    `cache_kept_tokens` are those among the written ones that the provider keeps for an hour.
    """

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    output_tokens: int = 0
    cache_kept_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_written_tokens + other.cache_written_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_kept_tokens + other.cache_kept_tokens,
        )


class FaultKind(StrEnum):
    """Why an answer that has ended is not whole."""

    CUT_OFF = "cut_off"
    REFUSED = "refused"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an answer is not whole: `complaint` in words for the model, `reason` for a person."""

    kind: FaultKind
    complaint: str
    reason: str

    @classmethod
    def cut_off(cls, limit: int) -> "Fault":
        """The answer was longer than `limit` tokens."""
        cut = f"the answer was cut off at {limit} tokens"
        return cls(
            FaultKind.CUT_OFF,
            f"{cut}: give a shorter one",
            f"{cut}, thinking included: raise model_max_tokens where the planners run, or lower "
            "model_effort, and start them again",
        )

    @classmethod
    def refused(cls, said: str) -> "Fault":
        """The model, or its provider, does not want to answer."""
        told = f"the model refused to answer: {said}"
        return cls(FaultKind.REFUSED, told, told)

    @classmethod
    def other(cls, told: str) -> "Fault":
        """Something else, told in the same words to both."""
        return cls(FaultKind.OTHER, told, told)


WANTED_TOOL = Fault.other("the answer wanted to use a tool, and there is none")


def estimate_tokens(characters: int) -> int:
    """The number of tokens of a text of that length; real texts have somewhat fewer."""
    return -(-characters // 3)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """An answer of a model, with the number of its call in the log."""

    text: str
    usage: Usage
    fault: Fault | None = None
    call: int = 0


@dataclass(frozen=True, slots=True)
class CallRecord:
    """The record of one call, whether it was answered or not.

    `seconds` is how long it took; `error` is the family of the error that ended it, if any, or
    `CANCELLED`, and `reason` its message; `answer` is the part of the answer that arrived.
    `estimated` says that the provider did not tell the tokens of the answer.
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
    estimated: bool = False


CANCELLED = "cancelled"
"""The `error` of a call that was ended because nobody wants its answer any more."""


class CallLog(Protocol):
    """Records every call before it is made and again when it has ended."""

    def recall(self, question: ModelQuestion) -> ModelReply | None:
        """The whole answer that a lost worker has received to this very question of the same job.

        It is paid for, so it is not asked for again.
        """
        ...

    def begin(self, question: ModelQuestion) -> int:
        """Record a call that is about to be made; returns its number.

        Raises Misconfigured at stage `spending` if a spending cap is reached; then the call is not
        made.
        """
        ...

    def end(self, number: int, record: CallRecord) -> None:
        """Record how it ended. Never raises: an answer that was paid for is not thrown away."""
        ...

    def refuse(self, number: int, reason: str) -> None:
        """Record that the answer of a call that has ended cannot be used. Never raises."""
        ...

    def withdrawal(self) -> Callable[[], bool]:
        """Says, in any thread, whether nobody wants the answer to this thread's call any more."""
        ...


class NoLog:
    """Records nothing."""

    def recall(self, question: ModelQuestion) -> ModelReply | None:  # noqa: ARG002 - as above
        """Return None."""
        return None

    def begin(self, question: ModelQuestion) -> int:  # noqa: ARG002 - a log's promise
        """Return 0."""
        return 0

    def end(self, number: int, record: CallRecord) -> None:
        """Do nothing."""

    def refuse(self, number: int, reason: str) -> None:
        """Do nothing."""

    def withdrawal(self) -> Callable[[], bool]:
        """Every answer is wanted."""
        return lambda: False


class Model(Protocol):
    """Answers questions."""

    def ask(self, question: ModelQuestion) -> ModelReply:
        """The answer, either complete or with its fault.

        Raises Transient (try later; Unavailable if the provider is down or busy), Rejected (the
        question is not accepted) or Misconfigured (no key, no such model, spending cap reached). A
        call ends soon after nobody wants its answer any more, and after the longest time that one
        may take, with Transient.
        """
        ...

    def refuse(self, reply: ModelReply, reason: str) -> None:
        """Record that an answer cannot be used, and why."""
        ...
