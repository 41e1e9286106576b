"""What the gateway needs of a protocol: one class for each implements it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from pydantic_core import from_json

from workers.gateway.faults import Refusal
from workers.gateway.protocols.content import Said
from workers.gateway.protocols.sse import EventSplitter
from workers.llm.calls import Usage

Json = Mapping[str, Any]

_KEPT_ANSWER: Final = 200_000
"""Characters of an answer that are kept."""

_LONGEST_WHOLE: Final = 32_000_000
"""Bytes of an answer in one piece that are read for its tokens."""


class Vendor(StrEnum):
    """Whose protocol it is: whose address and key a request goes to."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GOOGLE = "google"


@dataclass(slots=True)
class Heard:
    """What an answer has said so far.

    `whole` says that it ended as its protocol wants it, `counted` that it told its tokens,
    `failure` is the error that it carried. `characters` is the length of all that it said.
    """

    usage: Usage = field(default_factory=Usage)
    counted: bool = False
    whole: bool = False
    stop_reason: str | None = None
    failure: str | None = None
    characters: int = 0
    pieces: list[str] = field(default_factory=list)

    def say(self, text: Any) -> None:
        """Add a piece of the answer."""
        if isinstance(text, str) and text:
            if self.characters < _KEPT_ANSWER:
                self.pieces.append(text)
            self.characters += len(text)

    @property
    def text(self) -> str:
        """The answer, as far as it is kept."""
        return "".join(self.pieces)[:_KEPT_ANSWER]


class AnswerReader:
    """Reads an answer while it passes by; never raises, whatever it reads."""

    def __init__(self, *, streamed: bool) -> None:
        self.heard = Heard()
        self._streamed = streamed
        self._events = EventSplitter()
        self._body: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the answer."""
        if self._streamed:
            for data in self._events.feed(chunk):
                self._read(data)
        elif self._length < _LONGEST_WHOLE:
            self._body.append(chunk)
            self._length += len(chunk)

    def finish(self) -> None:
        """The answer has ended."""
        if not self._streamed:
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                self.take_whole(from_json(b"".join(self._body)))

    def take_event(self, event: Any) -> None:
        """Read one event; may raise what malformed JSON makes raise."""
        raise NotImplementedError

    def take_whole(self, body: Any) -> None:
        """Read an answer in one piece; may raise as `take_event` does."""
        raise NotImplementedError

    def _read(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.heard.whole = True
            return
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            self.take_event(from_json(data))


@dataclass(frozen=True, slots=True)
class Text:
    """A scripted text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A scripted call of a tool; a `custom` one takes a text, where the protocol knows such."""

    name: str
    input: Any
    custom: bool = False

    @property
    def arguments(self) -> str:
        """The input as JSON; that of a custom tool as it is."""
        return self.input if self.custom else json.dumps(self.input, ensure_ascii=False)


Part = Text | ToolUse


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """A whole answer of a script. `turn` is its place, from which its ids are made."""

    model: str
    turn: int
    parts: Sequence[Part]
    usage: Usage
    stop_reason: str | None = None

    @property
    def calls_tools(self) -> bool:
        """Whether a part of it calls a tool."""
        return any(isinstance(part, ToolUse) for part in self.parts)

    def call_id(self, place: int) -> str:
        """The id of the call of a tool at that place."""
        return f"call_{self.turn}_{place}"


class ApiProtocol(Protocol):
    """One protocol: reads requests and answers, and writes scripted answers and errors."""

    name: str
    vendor: Vendor

    def turns(self, body: Json) -> list[Said]:
        """The conversation of a request, first to last."""
        ...

    def system(self, body: Json) -> str:
        """What is said before the conversation."""
        ...

    def reader(self, *, streamed: bool) -> AnswerReader:
        """A reader for one answer."""
        ...

    def error(self, refusal: Refusal) -> Json:
        """The body of an error answer."""
        ...

    def whole(self, answer: ScriptedAnswer) -> Json:
        """A scripted answer in one piece."""
        ...

    def begin(self, answer: ScriptedAnswer) -> bytes:
        """The events before the parts of a streamed answer."""
        ...

    def part(self, answer: ScriptedAnswer, place: int) -> Iterator[bytes]:
        """The events of one part."""
        ...

    def end(self, answer: ScriptedAnswer) -> bytes:
        """The events after the parts."""
        ...


def halves(text: str) -> tuple[str, ...]:
    """A text in two pieces, so that a client must join them."""
    middle = len(text) // 2
    return tuple(filter(None, (text[:middle], text[middle:])))


def count(value: Any) -> int:
    """A number of tokens as told; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
