"""Reads the frames of a runner: lines that begin with a nonce, and the bytes before each."""

from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from types import MappingProxyType

from workers.shells.remote.channels import Carrier, LostError

_NOISE_LIMIT = 65_536


class FrameKind(StrEnum):
    """The first word of a frame, as the runner sends it; see also `STREAM_OF`."""

    HELLO = "hello"
    BAD = "bad"  # it cannot be a runner here
    OPEN = "open"
    OTHER = "other"  # a log of an earlier driver
    BUSY = "busy"
    ENDED = "e"  # of a command that wrote nothing
    ENDED_WITH_OUTPUT = "E"
    SIZE = "h"
    DATA = "d"
    END_OF_DATA = "."
    NAMES = "names"
    STOPPED = "stopped"
    ERASED = "erased"
    QUIT = "quit"
    CONTAINED = "contained"
    UNCONTAINED = "uncontained"  # there is none, or one that does not show the host as it is


class Refusal(StrEnum):
    """Why the runner did not start a command: the first word of its frame."""

    LATE = "late"
    SKIP = "skip"  # the command before it ended in another way than it should have
    FULL = "full"  # nothing can be noted
    NODIR = "nodir"
    OVER = "over"  # another driver has the pass
    UNCONTAINED = "uncontained"
    BROKEN = "broken"  # it had begun, and ended with its containment


STREAM_OF = MappingProxyType({"o": "stdout", "e": "stderr"})
"""The streams of a followed command, by the first word of their frames."""


@dataclass(frozen=True, slots=True)
class RunnerFrame:
    """One line of a runner: its words, and the bytes before it."""

    words: tuple[str, ...]
    before: bytes

    @property
    def verb(self) -> str:
        """The first word."""
        return self.words[0] if self.words else ""


class Frames:
    """The frames that arrive on a carrier."""

    def __init__(self, carrier: Carrier, nonce: str) -> None:
        self._carrier = carrier
        self._mark = f"@@{nonce} ".encode()
        self._buffer = bytearray()
        self._searched = 0
        self.heard = False

    def next(self, seconds: float) -> RunnerFrame | None:
        """The next frame; None if none is complete after that many seconds.

        Raises LostError when the runner is gone.
        """
        give_up, left = monotonic() + seconds, seconds
        while True:
            frame = self._cut()
            if frame is not None:
                self.heard = True
                return frame
            if left < 0:
                return None
            self._buffer += self._carrier.receive(left)
            left = give_up - monotonic()
            if not self.heard:
                # Nobody needs what a login shell prints before the runner starts.
                del self._buffer[:-_NOISE_LIMIT]

    def expect(self, verb: str, seconds: float) -> RunnerFrame:
        """The next frame; raises LostError if it is not of that kind."""
        frame = self.next(seconds)
        if frame is None or frame.verb != verb:
            raise LostError(f"no {verb!r} within {seconds:.0f} s, but {frame}")
        return frame

    def noise(self) -> str:
        """The text that came instead of a frame."""
        return bytes(self._buffer).decode("utf-8", "replace").strip()

    def _cut(self) -> RunnerFrame | None:
        start = self._buffer.find(self._mark, self._searched)
        if start < 0:
            self._searched = max(0, len(self._buffer) - len(self._mark))
            return None
        end = self._buffer.find(b"\n", start)
        if end < 0:
            self._searched = start
            return None
        line = bytes(self._buffer[start + len(self._mark) : end])
        frame = RunnerFrame(
            tuple(line.decode("utf-8", "replace").split(" ")), bytes(self._buffer[:start])
        )
        del self._buffer[: end + 1]
        self._searched = 0
        return frame
