"""Runs commands on hosts over SSH, each in a session of its own on a warm connection."""

import secrets
import threading
from datetime import UTC, datetime
from functools import partial

import paramiko

from shared.domain.attempt import CommandResult, OnOutput
from shared.domain.errors import ReplanError, Transient
from shared.domain.host import Host
from workers.ports import Cancelled
from workers.remote.capture import STREAM_LIMIT, Capture, Opening
from workers.remote.follow import Followed
from workers.remote.pool import Pool
from workers.remote.script import GRACE_SECONDS, NO_WORKDIR, ending, login_line
from workers.remote.sentences import misconfigured, no_workdir, not_ended, transient
from workers.remote.translation import translated
from workers.remote.transport import DEFAULT_TIMING, Timing, connect
from workers.remote.waiting import POLL_SECONDS, Deadline, Stop, never_ran

IDLE_SECONDS = 300.0
"""A host's connections are closed after this long without a command."""

_OPENING_SECONDS = 5.0
_ENDING_SECONDS = 15.0
_LAST_WORDS_SECONDS = 2.0


class SshShell:
    """A shell on a host reached by SSH; see `workers.ports.Shell`.

    Commands may run side by side from several threads. A command that a signal ended has exit code
    128 + its number. A process that the command leaves in the background with its output still
    open does not hold up the result, but may be ended by its next write, since nobody reads it.
    """

    def __init__(self, host: Host, pool: Pool, *, stream_limit: int = STREAM_LIMIT) -> None:
        self._host = host
        self._pool = pool
        self._stream_limit = stream_limit

    def run(
        self,
        command: str,
        *,
        timeout: float,
        on_output: OnOutput | None = None,
        cancelled: Cancelled | None = None,
    ) -> CommandResult:
        """Run a command; see `workers.ports.Shell.run`.

        Raises Rejected for a command that no host can take (`script.LONGEST`), Misconfigured when
        the workdir cannot be entered, the account cannot run /bin/sh, or processes of a command
        could not be ended.
        """
        if cancelled is not None and cancelled():
            return never_ran(command)
        nonce = secrets.token_hex(8)
        line = login_line(command, nonce=nonce, workdir=self._host.workdir)
        out = Capture("stdout", on_output, limit=self._stream_limit)
        err = Capture("stderr", on_output, limit=self._stream_limit)
        with self._pool.session(cancelled) as channel:
            started = datetime.now(UTC)
            if channel is None:
                return never_ran(command)
            followed = Followed(channel, Opening(nonce), out, err)
            stop = self._follow(followed, line, Deadline(timeout, cancelled))
        self._check_opening(followed)
        return CommandResult(
            command,
            followed.exit_code if stop in (Stop.EXITED, Stop.HELD) else None,
            out.content(),
            err.content(),
            started,
            datetime.now(UTC),
            timed_out=stop is Stop.TIMED_OUT,
            cancelled=stop is Stop.CANCELLED,
            stdout_dropped=out.dropped,
            stderr_dropped=err.dropped,
        )

    def close(self) -> None:
        """Nothing: the connections stay warm for the next shell on this host."""

    def _follow(self, followed: Followed, line: str, deadline: Deadline) -> Stop:
        try:
            _execute(followed.channel, line, self._host)
            stop = followed.until(deadline)
        except ReplanError:
            raise
        except BaseException:
            # The caller's own function failed: nobody waits for the command any more.
            self._end(followed)
            raise
        if stop is Stop.LOST:
            raise self._lost("before the command had ended")
        if stop in (Stop.TIMED_OUT, Stop.CANCELLED):
            self._end(followed)
            followed.until(Deadline(_LAST_WORDS_SECONDS))
        return stop

    def _end(self, followed: Followed) -> None:
        leader = self._leader(followed)
        if leader is None:
            return
        nonce = secrets.token_hex(8)
        line = login_line(ending(leader, grace=GRACE_SECONDS), nonce=nonce)
        with self._pool.session_beside(followed.channel) as channel:
            killing = Followed(channel, Opening(nonce), Capture("stdout"), Capture("stderr"))
            _execute(channel, line, self._host)
            stop = killing.until(Deadline(_ENDING_SECONDS))
        if stop is Stop.LOST:
            raise self._lost("while the command was being ended")
        if stop is not Stop.EXITED or killing.exit_code != 0:
            left = killing.out.content().decode("utf-8", "replace").strip()
            raise not_ended(self._host, left or f"session {leader}")

    def _leader(self, followed: Followed) -> int | None:
        """The process to end; None when the command never ran or is over."""
        give_up = Deadline(_OPENING_SECONDS)
        while followed.opening.word is None and give_up.passed() is None:
            stop = followed.until(Deadline(POLL_SECONDS / 2))
            if stop is Stop.LOST:
                raise self._lost("before the command had begun")
            if stop is not Stop.TIMED_OUT:
                break
        word = followed.opening.word
        if word is None and followed.exit_code is None:
            sentence = "the account's login shell does not get to the command, which may run yet"
            raise misconfigured(self._host, sentence, stage="execute")
        return None if word is None or word == NO_WORKDIR else int(word)

    def _check_opening(self, followed: Followed) -> None:
        if followed.opening.word == NO_WORKDIR:
            raise no_workdir(self._host, _text(followed.err.content()))
        if followed.opening.word is None:
            said = _text(followed.opening.noise) or _text(followed.err.content()) or "no output"
            raise misconfigured(
                self._host,
                "the account's login shell does not run /bin/sh "
                f"(exit code {followed.exit_code}: {said})",
                stage="execute",
            )

    def _lost(self, when: str) -> Transient:
        sentence = f"the connection was lost {when}; it may still run on the host"
        return transient(self._host, sentence, stage="execute")


class SshConnections:
    """Opens shells over SSH and keeps their connections warm; safe to use from many threads."""

    def __init__(
        self, timing: Timing = DEFAULT_TIMING, *, stream_limit: int = STREAM_LIMIT
    ) -> None:
        self._timing = timing
        self._stream_limit = stream_limit
        self._pools: dict[Host, Pool] = {}
        self._lock = threading.Lock()

    def shell(self, host: Host) -> SshShell:
        """A shell on the host; see `workers.ports.Connections.shell`."""
        pool = self._pool(host)
        pool.warm_up()
        return SshShell(host, pool, stream_limit=self._stream_limit)

    def close(self) -> None:
        """Close every connection; commands that still run are lost."""
        with self._lock:
            pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.close()

    def _pool(self, host: Host) -> Pool:
        with self._lock:
            pool = self._pools.get(host)
            if pool is None:
                opening = partial(connect, host, self._timing)
                pool = Pool(host, opening, open_timeout=self._timing.open_session)
                self._pools[host] = pool
            others = [other for other in self._pools.values() if other is not pool]
        for other in others:
            other.cool_down(IDLE_SECONDS)
        return pool


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip()


def _execute(channel: paramiko.Channel, line: str, host: Host) -> None:
    try:
        channel.exec_command(line)
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise translated(error, host, stage="execute") from error
