"""What a coding agent said and did, in a form that people read; bounded, and without secrets."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

EVENTS: Final = "events"
"""The stream of live output that holds the lines of a transcript, each as JSON."""


RAW: Final = "raw"
"""The stream of live output that holds what such a program writes, for programs to read."""


class TranscriptKind(StrEnum):
    """What a line of a transcript tells."""

    SAID = "said"
    CALLED = "called"  # it uses a tool
    RETURNED = "returned"  # a tool has returned
    ASKED = "asked"  # it asks a person
    RETRIED = "retried"  # its model did not answer, and is asked again
    ENDED = "ended"  # what it says at its end
    UNREADABLE = "unreadable"  # a line that its runner should not have written


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A line of a transcript; `cut` counts the characters of `text` that are left out at its end.

    `text` is what was said or asked, the arguments of a tool as JSON, or the beginning of its
    result. `failed` is about a tool, or about the end. Of a retry it is the number `attempt` of at
    most `of` (0: not known), after an answer with the HTTP `status` (None: without an answer).
    """

    kind: TranscriptKind
    text: str = ""
    tool: str = ""
    failed: bool = False
    cut: int = 0
    attempt: int = 0
    of: int = 0
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The lines of an attempt; behind the first `head` of them, `left_out` ones are not kept."""

    lines: tuple[TranscriptLine, ...] = ()
    head: int = 0
    left_out: int = 0

    def after(self, known: int) -> "Transcript":
        """What follows the first `known` lines of all."""
        if known <= self.head:
            return Transcript(self.lines[known:], self.head - known, self.left_out)
        gone = min(known - self.head, self.left_out)
        begin = known - gone
        return Transcript(self.lines[begin:], 0, self.left_out - gone)


@dataclass(frozen=True, slots=True)
class RunnerOutput:
    """What a runner wrote, without secrets: read, and as it came.

    `transcript` is None for a runner without events. The streams are bounded; `dropped` counts the
    bytes of each that are not in it.
    """

    transcript: Transcript | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_dropped: int = 0
    stderr_dropped: int = 0
