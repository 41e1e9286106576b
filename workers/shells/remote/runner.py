"""The near end of a runner: it runs commands on a host, and reads the records of other runners."""

import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic

from shared.domain.containment import Containment, Hidden, Missing
from shared.domain.errors import ReplanError
from shared.domain.host import Host
from workers.shells.ports import Call
from workers.shells.records import (
    CommandRecord,
    Identity,
    Log,
    nonce_of,
    process_names,
    read_log,
)
from workers.shells.remote.capture import Taker
from workers.shells.remote.channels import Carrier, LostError
from workers.shells.remote.errors import misconfigured, transient
from workers.shells.remote.frames import STREAM_OF, FrameKind, Frames, Refusal, RunnerFrame
from workers.shells.remote.runner_text import (
    JOB_ROOT,
    RECORDS_CAP,
    begin_text,
    call,
    containment,
    opening,
)
from workers.shells.remote.short_names import RunnerVerb

BLOCK = 32_768
"""Bytes of a file in one request."""

_HALF = 16
"""Blocks that are read from each end of a file that is too long."""

INLINE = 16_384
"""Bytes of a stream that the frame of a command's end carries."""

ANSWER_SECONDS = 10.0
"""How long a runner may take for an immediate answer."""

_CONTAINING_SECONDS = 15.0
"""How long a runner may take to make its containment; it gives up earlier."""

GRACE_SECONDS = 2
"""Seconds between TERM and KILL."""

KEPT_SECONDS = 2 * 86_400
"""How long, at least, a host keeps the records of a run that nobody drives."""


class WrongSessionError(Exception):
    """The login shell is not the leader of its session."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a command.

    `out` and `err` are the beginnings of its streams. `number` is the number of its output files,
    None if it wrote nothing; `cut` says whether something is missing from a file. `left` holds the
    pid and name of each process that the command left running; see `CommandResult.left_over`.
    """

    exit_code: int
    out: bytes = b""
    err: bytes = b""
    number: int | None = None
    cut: bool = False
    left: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether `out` and `err` are complete."""
        return not self.cut and max(len(self.out), len(self.err)) < INLINE


@dataclass(frozen=True, slots=True)
class Refused:
    """A command that was not started, and why."""

    why: Refusal


@dataclass(frozen=True, slots=True)
class Killed:
    """How a command was ended: TERM, KILL, LEFT if that failed, empty if it was already over.

    `left` holds the pid and name of each process that still runs.
    """

    how: str
    left: tuple[str, ...] = ()


NOT_KILLED = Killed("")


class Runner:
    """A runner on a host. Every function raises LostError once the connection to it is lost."""

    def __init__(
        self,
        carrier: Carrier,
        host: Host,
        root: str = JOB_ROOT,
        *,
        records_cap: int = RECORDS_CAP,
    ) -> None:
        self.host = host
        self._records_cap = records_cap
        self.stem = ""
        self.quiet_since = monotonic()
        self.contained: tuple[Hidden, str] | None = None
        self._carrier = carrier
        self._records = secrets.token_hex(6)
        nonce = secrets.token_hex(6)
        self._frames = Frames(carrier, nonce)
        carrier.send(opening(nonce, self._records, root, records_cap))
        self.identity, self._clock = self._await_greeting()

    def uptime(self, after: float = 0.0) -> int:
        """The host's uptime in whole seconds, that many seconds from now."""
        return int(self._clock + monotonic() + after)

    def open(
        self,
        stem: str,
        then: Sequence[Call] = (),
        *,
        workdir: str | None = None,
        not_after: int = 0,
        settled: Iterable[str] = (),
    ) -> tuple[str, ...]:
        """Open records under a stem below the root; return the other stems of its step.

        The names of the record files begin with the stem (`workers.shells.records.Stem`). Commands
        start in `workdir`, None for the account's home.

        `then` starts right away, or is skipped if there are other stems. Raises Misconfigured when
        the host has no place for records, and Transient while old records of the same run are
        about to be removed. `settled` are passes for `settle`, which costs no answer.
        """
        opening = call(RunnerVerb.OPEN, stem, workdir or "")
        begin = begin_text(then, not_after=not_after, after=True)
        self._carrier.send(_settle(settled) + opening + begin)
        others: list[str] = []
        while True:
            frame = self._answer()
            match frame.verb:
                case FrameKind.OTHER:
                    others.append(" ".join(frame.words[1:]))
                case FrameKind.OPEN:
                    self.identity = replace(self.identity, watch=int(frame.words[1]))
                    self.stem = " ".join(frame.words[2:])
                    return tuple(others)
                case FrameKind.BUSY:
                    raise transient(
                        self.host,
                        "it is about to remove old records of this run",
                        stage="execute",
                    )
                case _:
                    raise no_room(self.host)

    def begin(self, calls: Sequence[Call], *, not_after: int, after: bool | None = None) -> None:
        """Start commands with keys, one after another; call `await_end` once for each.

        None starts once the host's uptime has passed `not_after`. The first starts at once, or,
        with `after`, only if the command before it ends well (True) or says no (False). Each of
        the others starts only if the one before it ends as its `ends_well` says. The runner skips
        commands that do not start.
        """
        self._carrier.send(begin_text(calls, not_after=not_after, after=after))

    def contain(self, hidden: Hidden, folder: str) -> Containment:
        """Make the containment for looks that start in that folder, in place of an earlier one."""
        self.contained = None
        self._carrier.send(containment(hidden, folder))
        frame = self._frames.next(_CONTAINING_SECONDS)
        match frame.words if frame is not None else ():
            case [FrameKind.CONTAINED, _, uid]:
                self.contained = (hidden, folder)
                return Containment(owners=uid == "0")
            case [FrameKind.UNCONTAINED, why, *words]:
                return Containment(Missing(why), said=" ".join(words))
        raise LostError(f"no answer within {_CONTAINING_SECONDS:.0f} s")

    def await_end(self, seconds: float) -> Ended | Refused | None:
        """The end of the first command that was begun; None if it still runs after `seconds`."""
        frame = self._frames.next(seconds)
        if frame is None:
            return None
        match frame.words:
            case [FrameKind.ENDED, _, code]:  # nearly always, so nothing is done about the rest
                return Ended(int(code))
            case [FrameKind.ENDED, _, code, *left]:
                return Ended(int(code), left=process_names(left))
            case [FrameKind.ENDED_WITH_OUTPUT, _, code, number, cut, *left]:
                out, err = self._data(), self._data()
                return Ended(int(code), out, err, int(number), bool(cut), process_names(left))
            case [why, *_]:
                with suppress(ValueError):
                    return Refused(Refusal(why))
        raise LostError(f"{frame}")

    def fetch(self, path: str, into: Taker) -> int:
        """Read a file, or the beginning and the end of a long one; return its size in bytes."""
        size = self.size(path)
        blocks = -(-size // BLOCK)
        for number in range(min(blocks, _HALF)):
            into.take(self._block(path, number))
        tail = max(_HALF, blocks - _HALF - 1)
        if tail > _HALF:
            into.skip((tail - _HALF) * BLOCK)
        for number in range(tail, blocks):
            into.take(self._block(path, number))
        return size

    def size(self, path: str) -> int:
        """The bytes of a file; 0 if there is none."""
        self._carrier.send(call(RunnerVerb.SIZE, path))
        return int(self._expect(FrameKind.SIZE).words[1])

    def read(self, path: str) -> bytes:
        """The beginning of a file."""
        return self._block(path, 0)

    def log(self, stem: str) -> Log:
        """The log of a stem."""
        self._carrier.send(call(RunnerVerb.LOG, stem))
        self._expect(FrameKind.DATA)
        text = self._data()
        names = self._expect(FrameKind.NAMES).words[1:]
        return read_log(stem, nonce_of(text), text, names)

    def stop(self, stem: str) -> bool:
        """Let nothing more start under a stem; False if the host cannot record that."""
        self._carrier.send(call(RunnerVerb.STOP, stem))
        return self._answer().verb == FrameKind.STOPPED

    def erase(self, name: str) -> None:
        """Remove the output of a pass's commands; the record that they ran stays."""
        self._carrier.send(call(RunnerVerb.ERASE, name))
        self._expect(FrameKind.ERASED)

    def settle(self, passes: Iterable[str]) -> None:
        """Note that nobody will read the output of these passes any more, by their full paths."""
        self._carrier.send(_settle(passes))

    def quit(self, other: Identity, stem: str) -> None:
        """End another runner that runs no command, unless it has opened another stem by now."""
        self._carrier.send(call(RunnerVerb.QUIT, *other.words, stem))
        self._expect(FrameKind.QUIT)

    def remaining_processes(self, record: CommandRecord, runner: Identity) -> tuple[str, ...]:
        """The processes of a command that still run, even if its runner is gone."""
        self._carrier.send(
            call(RunnerVerb.LEFT, record.stem, record.key, runner.pid, runner.start, runner.watch)
        )
        return process_names(self._answer().words[1:])

    def kill(self, record: CommandRecord, runner: Identity, why: str) -> Killed:
        """End a command and everything that it started: TERM, a grace period, KILL, a last look."""
        words = (record.stem, record.key, why, GRACE_SECONDS)
        self._carrier.send(call(RunnerVerb.END, *words, runner.pid, runner.start, runner.watch))
        _, how, *left = self._answer().words
        return Killed(how, process_names(left) if how == "LEFT" else ())

    def follow(self, record: CommandRecord, runner: Identity, told: tuple[int, int]) -> None:
        """Start to follow the output of a command of another runner; see `next_output`.

        `told` holds the number of known bytes of both streams.
        """
        words = (record.stem, record.key, *told)
        self._carrier.send(call(RunnerVerb.FOLLOW, *words, *runner.words))

    def next_output(self, seconds: float) -> tuple[str, bytes] | None:
        """The next output, ("stdout" or "stderr", bytes), or the end, ("ended" or "gone", b"")."""
        frame = self._frames.next(seconds)
        if frame is None:
            return None
        stream = STREAM_OF.get(frame.verb)
        return (frame.verb, b"") if stream is None else (stream, self._data())

    def beside(self) -> "Runner":
        """Another runner on the same host at once, however many there are."""
        return Runner(self._carrier.beside(), self.host, records_cap=self._records_cap)

    def close(self) -> None:
        """Let the runner end."""
        self._carrier.close()

    def _block(self, path: str, number: int) -> bytes:
        self._carrier.send(call(RunnerVerb.BLOCK, path, number))
        self._expect(FrameKind.DATA)
        return self._data()

    def _await_greeting(self) -> tuple[Identity, float]:
        frame = None
        cause = f"nothing within {ANSWER_SECONDS:.0f} s"
        try:
            frame = self._frames.next(ANSWER_SECONDS)
        except LostError as lost:
            if not lost.alone or b"setsid" in self._carrier.noise:
                raise
            cause = str(lost)
        else:
            if frame is None and not self._carrier.moves():
                raise LostError("the connection no longer moves")
        if frame is None:
            said = self._frames.noise() or self._carrier.noise.decode("utf-8", "replace").strip()
            if self.host.sudo:
                raise _no_sudo(self.host, said)
            raise misconfigured(
                self.host,
                f"the account's login shell does not run /bin/sh ({cause}: {said or 'no output'})",
                stage="execute",
            )
        match frame.words:
            case [FrameKind.HELLO, pid, start, boot, space, uptime]:
                known = Identity(int(pid), int(start), boot, space)
                return known, int(uptime) - monotonic()
            case [FrameKind.BAD, "session"]:
                raise WrongSessionError
            case _:
                raise misconfigured(
                    self.host,
                    "it has no /proc, which is needed to find a command again; mount it",
                    stage="execute",
                )

    def _answer(self) -> RunnerFrame:
        frame = self._frames.next(ANSWER_SECONDS)
        if frame is None:
            raise LostError(f"no answer within {ANSWER_SECONDS:.0f} s")
        return frame

    def _expect(self, verb: str) -> RunnerFrame:
        return self._frames.expect(verb, ANSWER_SECONDS)

    def _data(self) -> bytes:
        return self._expect(FrameKind.END_OF_DATA).before


def _settle(passes: Iterable[str]) -> bytes:
    return b"".join(call(RunnerVerb.SETTLE, each) for each in passes)


def _no_sudo(host: Host, said: str) -> ReplanError:
    named = f"the password {host.sudo_password}" if host.sudo_password else "no password"
    return misconfigured(
        host,
        f"sudo does not let the account become root with {named}: {said or 'no output'}; allow "
        "it, or enrol the host without --sudo",
        stage="execute",
    )


def no_room(host: Host) -> ReplanError:
    """The error for a host without a place for records."""
    return misconfigured(
        host,
        f"it has no place for the records of commands: neither {JOB_ROOT} nor /dev/shm is "
        "writable; free some space, or make one of them a folder that only the account can use",
        stage="execute",
    )
