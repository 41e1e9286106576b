"""Follows the stream of a running agent: to its reader, and to whoever else listens."""

import threading
from collections.abc import Callable, Sequence
from time import monotonic

from shared.domain.attempt import CommandResult, EndedBy, OnOutput
from shared.domain.transcript import Transcript, TranscriptLine
from workers.agents.events import AgentEvent, Asked, ToolCalled
from workers.agents.runners.port import RunnerOutcome, StreamReader
from workers.agents.transcript import Mask, Recorder

OnLines = Callable[[Sequence[TranscriptLine]], None]
"""Called with what people read of it, in order."""

OnEvents = Callable[[Sequence[AgentEvent]], None]
"""Called with events of an agent, in order."""


class Follower:
    """Follows one run of a runner; `events` are its questions and the tools that it called.

    With `mask`, which hides secrets, it keeps a transcript, whose lines `on_lines` gets as they
    arrive.
    """

    def __init__(
        self,
        new_reader: Callable[[], StreamReader],
        on_output: OnOutput,
        on_events: OnEvents,
        on_lines: OnLines = lambda _: None,
        mask: Mask | None = None,
    ) -> None:
        self._on_lines = on_lines
        self._mask = mask
        self._recorder = Recorder(mask or str)
        self._new_reader = new_reader
        self._reader = new_reader()
        self._on_output = on_output
        self._on_events = on_events
        self._size = 0
        self.events: list[AgentEvent] = []
        self._ended_at: float | None = None
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """The bytes that the runner has written so far."""
        return self._size

    def take(self, stream: str, chunk: bytes) -> None:
        """Take output as it arrives."""
        self._on_output(stream, chunk)
        if stream != "stdout":
            return
        with self._lock:
            self._size += len(chunk)
            lines = self._read(chunk)
        if lines:
            self._on_lines(lines)

    @property
    def transcript(self) -> Transcript | None:
        """What people read of it; None where nothing is kept."""
        return self._recorder.transcript if self._mask else None

    def has_ended(self, since: float = 0.0) -> bool:
        """Whether the runner gave its result at least so many seconds ago."""
        return self._ended_at is not None and monotonic() - self._ended_at >= since

    def read_rest(self, result: CommandResult) -> None:
        """Read again what did not arrive live.

        What was kept is the beginning and the end of the output, where the result is.
        """
        with self._lock:
            if not self._is_whole(result):
                self._reader = self._new_reader()
                self.events = []
                self._recorder = Recorder(self._mask or str)
                self._read(result.stdout)

    def outcome(self, result: CommandResult, ended_by: EndedBy | None) -> RunnerOutcome:
        """What came of the run; call `read_rest` first."""
        return self._reader.outcome(result.exit_code, ended_by, result.stderr)

    def _read(self, chunk: bytes) -> Sequence[TranscriptLine]:
        events = self._reader.feed(chunk)
        self.events += (event for event in events if isinstance(event, Asked | ToolCalled))
        self._on_events(events)
        if self._reader.ended and self._ended_at is None:
            self._ended_at = monotonic()
        return self._recorder.note(events) if self._mask else ()

    def _is_whole(self, result: CommandResult) -> bool:
        """Whether the reader has seen all that matters."""
        if result.stdout_dropped:
            return self._reader.ended
        return self._size == len(result.stdout)
