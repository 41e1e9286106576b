"""The records that a runner keeps of a pass on its host; pure."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

_NEXT_PROCESS = re.compile(r" (?=\d+\(|\+)")


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be mistaken for another, even after a restart of the host.

    `start` is in ticks after boot, `space` is the namespace in which `pid` is valid, and `watch`
    is the pid of the process that watches it.
    """

    pid: int
    start: int
    boot: str
    space: str
    watch: int = 0

    @property
    def words(self) -> tuple[str | int, ...]:
        """The words that the runner's functions take."""
        return (self.pid, self.start, self.boot, self.space)


class Mark(StrEnum):
    """The first word of a record in a log; fixed, because hosts keep logs across upgrades."""

    RUNNER = "i"  # the runner that writes this log
    START = "s"
    END = "e"
    NEVER = "x"  # the command of the last start never started
    LEFT = "l"  # what a command that has ended left running


class State(StrEnum):
    """What the records say about a command."""

    RUNNING = "running"  # started, without a recorded end
    ENDED = "ended"
    NEVER = "never"  # it was about to start but did not


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One command. `until` is the uptime, in seconds, at which the host ends it.

    `number` is the number of its output files, None if it wrote nothing. `why` says what ended it
    early, if anything did ("timeout", "cancel"). `left` names the processes that it left running.
    `since` is the uptime at its start, None in logs of older versions.
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
    left: tuple[str, ...] = ()
    since: int | None = None


@dataclass(slots=True)
class Log:
    """The contents of the log of one stem."""

    stem: str
    runner: Identity | None = None
    records: dict[str, CommandRecord] = field(default_factory=dict)
    last: CommandRecord | None = None

    @property
    def open(self) -> CommandRecord | None:
        """The command that started and has no recorded end."""
        last = None if self.last is None else self.records[self.last.key]
        return last if last is not None and last.state is State.RUNNING else None


def read_log(stem: str, nonce: str, log: bytes, names: Iterable[str] = ()) -> Log:
    """Read a log; `nonce` marks its records, `names` are the endings of the files beside it."""
    found = Log(stem)
    text: list[str] = []
    mark = f"@@{nonce} "
    # The text after the last line break is incomplete.
    for line in log.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        if not line.startswith(mark):
            text.append(line)
            continue
        with suppress(ValueError):  # not a record: a power cut left half of one
            _take(found, line[len(mark) :].split(" "), text)
        text = []
    for name in names:
        _take_name(found, name)
    return found


def nonce_of(log: bytes) -> str:
    """The nonce of a log's records; empty for a log without a first line."""
    begun = re.match(rb"@@([0-9a-f]+) i ", log)
    return begun[1].decode() if begun else ""


def process_names(words: Iterable[str]) -> tuple[str, ...]:
    """The processes in the words of a line, each "pid(name)"; "+3" stands for three more.

    A name may contain spaces.
    """
    return tuple(filter(None, _NEXT_PROCESS.split(" ".join(words))))


_PLACE = re.compile(r"-(\d+)-(\d+)$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stem:
    """The beginning of the names of one driver's records: `ab/RUN-STEP-REVISION-PASS.FENCE.COUNT`.

    After the count, an underscore and the random token of the driver's claim may follow; stems of
    older versions have none. `text` is the stem as the host writes it, with its folder.
    """

    text: str
    name: str
    fence: int
    count: int
    claim: str

    @property
    def generation(self) -> tuple[int, int]:
        """The position among the stems of its pass."""
        return self.fence, self.count

    @property
    def place(self) -> tuple[int, int]:
        """The revision and the number of its pass; zeros if its name says neither."""
        found = _PLACE.search(self.name)
        return (0, 0) if found is None else (int(found[1]), int(found[2]))


def stem_text(name: str, fence: int, count: int, claim: str) -> str:
    """The stem of a driver of the pass with that name."""
    return f"{name}.{fence}.{count}" + (f"_{claim}" if claim else "")


def stem_of(text: str) -> Stem:
    """Read a stem."""
    path, fence, rest = text.rsplit(".", 2)
    count, _, claim = rest.partition("_")
    return Stem(text, path.rpartition("/")[2], int(fence), int(count), claim)


def _take(log: Log, words: list[str], text: list[str]) -> None:
    match words:
        case [Mark.RUNNER, pid, start, boot, space, watch]:
            log.runner = Identity(int(pid), int(start), boot, space, int(watch or 0))
        case [Mark.START, key, number, until, *rest]:
            label = text[0] if text else ""
            command = "\n".join(text[1:])
            _settle_silent(log, int(number))
            since = int(rest[1]) if len(rest) > 1 else None
            log.last = CommandRecord(
                key, log.stem, int(number), int(until), label, command, since=since
            )
            log.records[key] = log.last
        case [Mark.END, key, code] if key in log.records:
            log.records[key] = replace(log.records[key], state=State.ENDED, exit_code=int(code))
        case [Mark.NEVER, key] if key in log.records:
            log.records[key] = replace(log.records[key], state=State.NEVER)
        case [Mark.LEFT, key, *left] if key in log.records:
            log.records[key] = replace(log.records[key], left=process_names(left))


def _settle_silent(log: Log, number: int) -> None:
    # The next command takes over a pair of files only if nothing was written to it.
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
