"""Keeps what an agent says and does, in a form for people: the beginning and the end of it."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from shared.domain.attempt import AgentStatus
from shared.domain.transcript import Transcript, TranscriptKind, TranscriptLine
from workers.agents.events import (
    AgentEvent,
    Asked,
    RetriedModel,
    RunnerEnded,
    Said,
    ToolCalled,
    ToolReturned,
    Unreadable,
)

LONGEST_TEXT: Final = 2_000
"""Characters of one line."""

_READ: Final = 4 * LONGEST_TEXT

HEAD_LINES: Final = 40
TAIL_LINES: Final = 360
TAIL_CHARACTERS: Final = 160_000

Mask = Callable[[str], str]


@dataclass(slots=True)
class Recorder:
    """Makes lines of events and keeps a bounded number of them; `mask` hides secrets."""

    mask: Mask = str
    _head: list[TranscriptLine] = field(default_factory=list)
    _tail: deque[TranscriptLine] = field(default_factory=deque)
    _size: int = 0
    _left_out: int = 0

    def note(self, events: Iterable[AgentEvent]) -> Sequence[TranscriptLine]:
        """Keep the lines of these events, and return them."""
        lines = [line for event in events for line in _lines(event, self.mask)]
        for line in lines:
            self._keep(line)
        return lines

    @property
    def transcript(self) -> Transcript:
        """What is kept."""
        return Transcript((*self._head, *self._tail), len(self._head), self._left_out)

    def _keep(self, line: TranscriptLine) -> None:
        if len(self._head) < HEAD_LINES:
            self._head.append(line)
            return
        self._tail.append(line)
        self._size += len(line.text)
        while len(self._tail) > TAIL_LINES or self._size > TAIL_CHARACTERS:
            self._size -= len(self._tail.popleft().text)
            self._left_out += 1


def encode(lines: Iterable[TranscriptLine]) -> bytes:
    """The lines as live output has them, each as JSON."""
    return b"".join(json.dumps(asdict(line)).encode() + b"\n" for line in lines)


def _lines(event: AgentEvent, mask: Mask) -> Iterable[TranscriptLine]:
    kind = TranscriptKind
    match event:
        case Said(text):
            yield _line(kind.SAID, text, mask)
        case ToolCalled(_, tool, arguments):
            yield _line(kind.CALLED, arguments, mask, tool=tool)
        case ToolReturned(_, failed, _, shown):
            yield _line(kind.RETURNED, shown, mask, failed=failed)
        case Asked(question):
            yield _line(kind.ASKED, question.text, mask)
        case RetriedModel(attempt, of, status):
            yield TranscriptLine(kind.RETRIED, attempt=attempt, of=of, status=status)
        case RunnerEnded(status, summary):
            yield _line(kind.ENDED, summary, mask, failed=status is not AgentStatus.OK)
        case Unreadable(line):
            yield _line(kind.UNREADABLE, line.decode("utf-8", "replace"), mask)
        case _:
            pass


def _line(
    kind: TranscriptKind, text: str, mask: Mask, *, tool: str = "", failed: bool = False
) -> TranscriptLine:
    # Nothing that the first cut may have split stays after the second one.
    masked = mask(text[:_READ]).replace("\x00", "\\x00")
    cut = max(0, len(text) - _READ) + max(0, len(masked) - LONGEST_TEXT)
    return TranscriptLine(kind, masked[:LONGEST_TEXT], mask(tool[:_READ])[:100], failed, cut)
