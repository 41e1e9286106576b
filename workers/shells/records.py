"""The records that a runner keeps of a pass on its host; pure."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be mistaken for another: not after a restart of the host either.

    `start` is in ticks after boot, `space` the namespace that the number `pid` means something in;
    `watch` is the process beside it.
    """

    pid: int
    start: int
    boot: str
    space: str
    watch: int = 0

    @property
    def words(self) -> tuple[str | int, ...]:
        """As the runner's functions take it."""
        return (self.pid, self.start, self.boot, self.space)


class Mark(StrEnum):
    """What a line of a log begins with; these stay, since hosts keep logs over upgrades."""

    RUNNER = "i"  # who writes this log
    START = "s"
    END = "e"
    NEVER = "x"  # what was noted as a start did not start


class State(StrEnum):
    """What the records say of a command."""

    RUNNING = "running"  # started, no end recorded
    ENDED = "ended"
    NEVER = "never"  # it was about to start and did not


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One command. `until` is the host's uptime, in seconds, at which it is ended there.

    `number` is that of the files which it wrote to, None when it wrote nothing. `why` says who
    ended it before its time, if so ("timeout", "cancel").
    """

    key: str
    stem: str
    number: int | None
    until: int
    label: str
    command: str
    state: State = State.RUNNING
    exit_code: int | None = None
    why: str = ""


@dataclass(slots=True)
class Log:
    """The log of one stem, read."""

    stem: str
    runner: Identity | None = None
    records: dict[str, CommandRecord] = field(default_factory=dict)
    last: CommandRecord | None = None

    @property
    def open(self) -> CommandRecord | None:
        """The command that was started and has no recorded end."""
        last = None if self.last is None else self.records[self.last.key]
        return last if last is not None and last.state is State.RUNNING else None


def read_log(stem: str, nonce: str, log: bytes, names: Iterable[str] = ()) -> Log:
    """Read a log; `nonce` is that of the records, `names` what the files beside it end with."""
    found = Log(stem)
    text: list[str] = []
    mark = f"@@{nonce} "
    # What follows the last line break was cut in the middle.
    for line in log.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        if not line.startswith(mark):
            text.append(line)
            continue
        with suppress(ValueError):  # not a record: what a power cut left of one
            _take(found, line[len(mark) :].split(" "), text)
        text = []
    for name in names:
        _take_name(found, name)
    return found


def nonce_of(log: bytes) -> str:
    """The nonce of a log's records; empty for one that was never begun."""
    begun = re.match(rb"@@([0-9a-f]+) i ", log)
    return begun[1].decode() if begun else ""


def generation(stem: str) -> tuple[int, int]:
    """The order of a stem among those of its pass: the fence of its driver, and its count."""
    _, fence, count = stem.rsplit(".", 2)
    return int(fence), int(count)


def _take(log: Log, words: list[str], text: list[str]) -> None:
    match words:
        case [Mark.RUNNER, pid, start, boot, space, watch]:
            log.runner = Identity(int(pid), int(start), boot, space, int(watch or 0))
        case [Mark.START, key, number, until, *_]:
            label = text[0] if text else ""
            command = "\n".join(text[1:])
            _settle_silent(log, int(number))
            log.last = CommandRecord(key, log.stem, int(number), int(until), label, command)
            log.records[key] = log.last
        case [Mark.END, key, code] if key in log.records:
            log.records[key] = replace(log.records[key], state=State.ENDED, exit_code=int(code))
        case [Mark.NEVER, key] if key in log.records:
            log.records[key] = replace(log.records[key], state=State.NEVER)


def _settle_silent(log: Log, number: int) -> None:
    # A pair of files goes from one command to the next only while nothing was written to it.
    last = None if log.last is None else log.records[log.last.key]
    if last is not None and last.number == number:
        log.records[last.key] = replace(last, number=None)


def _take_name(log: Log, name: str) -> None:
    kind, _, rest = name.partition(".")
    if kind == "end":
        key, _, code = rest.rpartition(".")
        if key in log.records:
            log.records[key] = replace(log.records[key], state=State.ENDED, exit_code=int(code))
    if kind == "why":
        key, _, why = rest.rpartition(".")
        if key in log.records:
            log.records[key] = replace(log.records[key], why=why)
