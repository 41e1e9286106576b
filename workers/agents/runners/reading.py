"""What the readers of all runners with a stream of JSON have in common."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from shared.domain.attempt import AgentStatus, EndedBy
from workers.agents.deliverable import Deliverable, parse_deliverable
from workers.agents.events import (
    AgentEvent,
    Asked,
    EndReason,
    RunnerEnded,
    SessionStarted,
    Unreadable,
    UsageReported,
)
from workers.agents.runners.json_lines import JsonLines, JsonObject, parse_json
from workers.agents.runners.port import RunnerOutcome

NOT_EXECUTABLE: Final = frozenset({126, 127})
"""Exit codes of a shell for a program that is missing or cannot be executed."""

BY_SIGNAL: Final = 128
"""Exit codes above it stand for a signal."""

CLAIMED: Final = {
    AgentStatus.OK: EndReason.COMPLETED,
    AgentStatus.PARTIAL: EndReason.PARTIAL,
    AgentStatus.BLOCKED: EndReason.BLOCKED,
    AgentStatus.NEEDS_INPUT: EndReason.QUESTION,
    AgentStatus.ERROR: EndReason.GAVE_UP,
    AgentStatus.TIMEOUT: EndReason.GAVE_UP,
}
"""The reason of an end for the status that the deliverable claims."""

_LONGEST_DETAIL: Final = 2000


@dataclass(slots=True)
class Seen:
    """What a reader has seen so far."""

    session: SessionStarted | None = None
    usage: UsageReported | None = None
    asked: Asked | None = None
    ended: RunnerEnded | None = None
    denied: list[str] = field(default_factory=list)
    http_status: int | None = None
    detail: str = ""
    events: int = 0


class JsonReader:
    """A `StreamReader` for a stream of JSON objects; a runner says what each of them means."""

    def __init__(self) -> None:
        self._lines = JsonLines()
        self.seen = Seen()

    @property
    def ended(self) -> bool:
        """See `StreamReader`."""
        return self.seen.ended is not None

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """See `StreamReader`."""
        return [event for value in self._lines.feed(chunk) for event in self._read(value)]

    def translate(self, value: JsonObject) -> Iterator[AgentEvent]:
        """The events that an object of the stream stands for."""
        raise NotImplementedError

    def translate_text(self, line: Unreadable) -> Iterator[AgentEvent]:
        """The events that another line stands for."""
        yield line

    def read_stderr(self, text: str) -> EndReason:
        """Why it ended without a result, from the last part of its standard error."""
        raise NotImplementedError

    def outcome(
        self, exit_code: int | None, ended_by: EndedBy | None = None, stderr: bytes = b""
    ) -> RunnerOutcome:
        """See `StreamReader`."""
        if (value := self._lines.rest()) is not None:
            list(self._read(value))
        told = stderr.decode("utf-8", "replace")[-_LONGEST_DETAIL:].strip()
        ended = self.seen.ended
        if ended is None:
            ended = self._without_result(exit_code, ended_by, told)
        elif ended.reason is EndReason.INTERRUPTED and ended_by is EndedBy.TIMEOUT:
            ended = _ending(AgentStatus.TIMEOUT, EndReason.INTERRUPTED, ended.summary)
        elif exit_code and ended_by is None and ended.status is AgentStatus.OK:
            ended = _ending(AgentStatus.ERROR, EndReason.EXIT_CODE, ended.summary)
        return self._outcome(ended, told)

    def _read(self, value: JsonObject | Unreadable) -> Iterator[AgentEvent]:
        if self.ended:
            return
        if isinstance(value, Unreadable):
            yield from self.translate_text(value)
            return
        for event in self.translate(value):
            self._see(event)
            yield event

    def _see(self, event: AgentEvent) -> None:
        self.seen.events += 1
        match event:
            case SessionStarted():
                self.seen.session = event
            case UsageReported():
                self.seen.usage = event
            case Asked(deferred=True):
                self.seen.asked = event
            case RunnerEnded():
                self.seen.ended = event
            case _:
                pass

    def _without_result(
        self, exit_code: int | None, ended_by: EndedBy | None, stderr: str
    ) -> RunnerEnded:
        if ended_by is EndedBy.TIMEOUT:
            return _ending(AgentStatus.TIMEOUT, EndReason.INTERRUPTED)
        if ended_by is not None:
            return _ending(AgentStatus.ERROR, EndReason.INTERRUPTED)
        if exit_code in NOT_EXECUTABLE and not self.seen.events:
            return _ending(AgentStatus.BLOCKED, EndReason.NOT_STARTED)
        if exit_code is not None and exit_code > BY_SIGNAL:
            return _ending(AgentStatus.ERROR, EndReason.INTERRUPTED)
        if self.seen.events or not exit_code:
            return _ending(AgentStatus.ERROR, EndReason.NO_RESULT)
        return _ending(AgentStatus.ERROR, self.read_stderr(stderr))

    def _outcome(self, ended: RunnerEnded, stderr: str) -> RunnerOutcome:
        session = self.seen.session or SessionStarted("")
        return RunnerOutcome(
            ended.status,
            ended.reason,
            summary=ended.summary,
            detail=self.seen.detail or stderr,
            session=session.session,
            model=session.model,
            version=session.version,
            structured=ended.structured,
            question=self.seen.asked,
            denied=tuple(dict.fromkeys(self.seen.denied)),
            http_status=self.seen.http_status,
            usage=self.seen.usage,
        )


def _ending(status: AgentStatus, reason: EndReason, summary: str = "") -> RunnerEnded:
    return RunnerEnded(status, summary, None, reason)


def deliverable_in(text: str) -> tuple[Any, Deliverable | None]:
    """The deliverable in the last line that holds one, as a value and as read."""
    for line in reversed(text.splitlines()):
        value = parse_json(line)
        if (found := parse_deliverable(value)) is not None:
            return value, found
    return None, None


def model_refusal(status: int | None) -> tuple[AgentStatus, EndReason]:
    """How a runner ended whose last request the model answered with that HTTP status."""
    if status == 402:  # noqa: PLR2004 - payment required: the gateway's cap is reached
        return AgentStatus.BLOCKED, EndReason.COST_LIMIT
    if status is None or status in {408, 409, 425, 429} or status >= 500:  # noqa: PLR2004 - HTTP
        return AgentStatus.ERROR, EndReason.MODEL_UNAVAILABLE
    return AgentStatus.ERROR, EndReason.MODEL_REFUSED
