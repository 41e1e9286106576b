"""A shell that answers from a script instead of a host, and remembers what was run on it."""

import json
import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from shared.domain.attempt import CommandResult, EndedBy, OnOutput
from shared.domain.containment import UNCONTAINED, Containment, Hidden
from shared.domain.host import Host
from workers.passes.ports import Cancelled
from workers.shells.ports import Call, PassRecord
from workers.shells.records import CommandRecord


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command does on the imagined host.

    `takes` is how long it would run, in seconds: longer than the timeout means timed out. No time
    really passes; a command that takes time can be cancelled once it has written its output.
    """

    exit_code: int = 0
    stdout: bytes | str = b""
    stderr: bytes | str = b""
    takes: float = 0.0


SimpleAnswer = Answer | int | str | bytes | Exception
"""An Answer; an exit code; standard output with exit code 0; or an exception to raise."""

ScriptedAnswer = SimpleAnswer | Sequence[SimpleAnswer] | Callable[[str], SimpleAnswer]
"""One answer for ever; a list, one for each time it is asked, the last for ever after; or a
function of the command."""


class ScriptedShell:
    """Answers by the first key that fits: a str is the whole command, a pattern is searched in it.

    Exact commands go before patterns. What no key fits gets `default`, or fails the test by
    AssertionError when `default` is None.
    """

    def __init__(
        self,
        answers: Mapping[str | re.Pattern[str], ScriptedAnswer] | None = None,
        *,
        default: SimpleAnswer | None = 0,
    ) -> None:
        self.calls: list[Call] = []
        self.closed = False
        self.settled = False
        self.erased = False
        self.pipelined: list[str] = []
        self._coming: Generator[Call] | None = None
        self._begun: set[str] = set()
        self._answers = dict(answers or {})
        self._default = default
        self._asked: dict[str | re.Pattern[str], int] = {}
        self._kept: dict[str, tuple[CommandRecord, CommandResult]] = {}
        self._recalled: set[str] = set()
        self._lock = threading.Lock()

    @property
    def commands(self) -> list[str]:
        """The commands that were run, oldest first."""
        return [call.command for call in self.calls]

    def run(
        self,
        call: Call,
        *,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Answer as scripted, once for each key; see `workers.shells.ports.Shell.run`.

        `pipelined` are the commands among those that ran which had been pipelined.
        """
        assert not self.closed, f"run after close: {call.command}"
        announced = self._announced(call)
        if call.key is not None and call.key in self._kept:
            return self._kept[call.key][1]
        result = self._answered(call, on_output, cancelled)
        if call.key is not None:
            self._kept[call.key] = _record(call.key, call.command, call.label), result
        if announced is not None:
            assert replace(announced, ends_well=call.ends_well) == call
            self.pipelined.append(call.command)
            if result.exit_code is None or announced.ends_well is not result.ok:
                self._forget()
        return result

    def pipeline(self, calls: Generator[Call]) -> None:
        """Take them one by one, as they are asked for."""
        self._forget()
        self._coming = calls

    def begin(self, key: str, command: str, result: CommandResult) -> None:
        """Have an announced command begin before it is asked for: known once that is cancelled."""
        self._kept[key] = _record(key, command, json.dumps([None, command])), result
        self._begun.add(key)

    def cancel_pipeline(self) -> None:
        """Recall what has started."""
        self._forget()
        self._recalled |= self._begun

    def _announced(self, call: Call) -> Call | None:
        coming = None if self._coming is None else next(self._coming, None)
        if coming is None or (coming.command, coming.key) != (call.command, call.key):
            self._forget()
            return None
        return coming

    def _forget(self) -> None:
        if self._coming is not None:
            self._coming.close()
            self._coming = None

    def remember(self, key: str, command: str, result: CommandResult, label: str = "") -> None:
        """Have an earlier driver of the pass run a command under that key."""
        told = label or json.dumps([None, command])
        self._kept[key] = _record(key, command, told), result
        self._recalled.add(key)

    def resume(self) -> None:
        """Have the next driver of the pass come: it recalls everything that was started."""
        self._recalled |= self._kept.keys()

    def containment(self, hidden: Hidden) -> Containment:  # noqa: ARG002
        """None: nothing keeps what it is scripted to do from changing anything."""
        return UNCONTAINED

    def recall(self, key: str) -> CommandRecord | None:
        """What an earlier driver started."""
        return self._kept[key][0] if key in self._recalled else None

    def _answered(
        self, call: Call, on_output: OnOutput | None, cancelled: Cancelled | None
    ) -> CommandResult:
        command, timeout = call.command, call.timeout
        with self._lock:
            self.calls.append(call)
            answer = _plain(self._pick(command))
        started = datetime.now(UTC)
        if cancelled is not None and cancelled():
            return CommandResult(command, None, b"", b"", started, started, ended_by=EndedBy.CANCEL)
        stdout, stderr = _bytes(answer.stdout), _bytes(answer.stderr)
        for stream, data in (("stdout", stdout), ("stderr", stderr)):
            if data and on_output is not None:
                on_output(stream, data)
        if answer.takes and cancelled is not None and cancelled():
            ended = datetime.now(UTC)
            return CommandResult(
                command, None, stdout, stderr, started, ended, ended_by=EndedBy.CANCEL
            )
        timed_out = answer.takes > timeout
        return CommandResult(
            command,
            None if timed_out else answer.exit_code,
            stdout,
            stderr,
            started,
            started + timedelta(seconds=min(answer.takes, timeout)),
            ended_by=EndedBy.TIMEOUT if timed_out else None,
        )

    def erase(self) -> None:
        """Note it."""
        self.erased = True

    def settle(self) -> None:
        """Note it."""
        self.settled = True

    def close(self) -> None:
        """End it: a later `run` fails the test."""
        self.closed = True

    def _pick(self, command: str) -> SimpleAnswer:
        key = self._key(command)
        if key is None:
            assert self._default is not None, f"no answer was scripted for: {command}"
            return self._default
        answer = self._answers[key]
        if isinstance(answer, Answer | int | str | bytes | Exception):
            return answer
        if isinstance(answer, Sequence):
            turn = self._asked.get(key, 0)
            self._asked[key] = turn + 1
            return answer[min(turn, len(answer) - 1)]
        return answer(command)

    def _key(self, command: str) -> str | re.Pattern[str] | None:
        if command in self._answers:
            return command
        patterns = (key for key in self._answers if isinstance(key, re.Pattern))
        return next((pattern for pattern in patterns if pattern.search(command)), None)


@dataclass(slots=True)
class ScriptedConnections:
    """Hands out one scripted shell for each host name, or raises the exception given for it."""

    shells: Mapping[str, ScriptedShell | Exception]
    opened: list[str] = field(default_factory=list)
    closed: bool = False

    def shell(self, host: Host, record: PassRecord | None = None) -> ScriptedShell:  # noqa: ARG002
        """The shell of that host; `opened` keeps the names in order."""
        self.opened.append(host.name)
        shell = self.shells[host.name]
        if isinstance(shell, Exception):
            raise shell
        shell.closed = False
        return shell

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True


def _record(key: str, command: str, label: str) -> CommandRecord:
    return CommandRecord(key, "token/1-0-1.1.1", None, 0, label, command)


def _plain(answer: SimpleAnswer) -> Answer:
    if isinstance(answer, Answer):
        return answer
    if isinstance(answer, int):
        return Answer(exit_code=answer)
    if isinstance(answer, str | bytes):
        return Answer(stdout=answer)
    raise answer


def _bytes(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else text
