"""Gives runners to shells: idle ones first, then new ones."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from shared.domain.containment import Containment, Hidden
from shared.domain.host import Host
from workers.passes.ports import Cancelled
from workers.shells.remote.channels import Carrier, LostError, NoRoomError
from workers.shells.remote.errors import misconfigured, transient
from workers.shells.remote.runner import Runner, WrongSessionError
from workers.shells.remote.runner_text import RECORDS_CAP

IDLE_SECONDS = 30.0
"""A runner that has been idle for so long is released."""

Reach = Callable[[bool, Cancelled], Carrier]
"""Opens a connection to a new shell on a host, in its own session if asked to.

Raises NoRoomError if it had to wait and the second argument returned True.
"""


class RunnerPool:
    """The runners of one host; safe to use from many threads."""

    def __init__(self, host: Host, reach: Reach, *, records_cap: int = RECORDS_CAP) -> None:
        self._host = host
        self._records_cap = records_cap
        self._settled: list[str] = []
        self._containments: dict[tuple[Hidden, str], Containment] = {}
        self._reach = reach
        self._idle: list[Runner] = []
        self._out: set[Runner] = set()
        self._closed = False
        self._own_session = False
        self._lock = threading.Lock()

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        """A runner for the duration of the block; if the block fails, it is not used again."""
        runner = self.take()
        try:
            yield runner
        except BaseException:
            self.drop(runner)
            raise
        self.give_back(runner)

    def containment(self, hidden: Hidden, folder: str) -> Containment:
        """The host's containment for looks that start in that folder; the host is asked once.

        Raises what `take` raises, and LostError.
        """
        asked = (hidden, folder)
        known = self._containments.get(asked)
        if known is None:
            with self.runner() as runner:
                known = self._containments[asked] = runner.contain(hidden, folder)
        return known

    def take(self) -> Runner:
        """An idle runner or a new one.

        Raises Transient or Misconfigured if there is none, LostError if it is lost at once.
        """
        while True:
            with self._lock:
                if self._idle:
                    runner = self._idle.pop()
                    self._out.add(runner)
                    return runner
            with suppress(NoRoomError):
                return self._register(self._fresh())

    def beside(self, runner: Runner) -> Runner:
        """Another runner at once, however many there are; raises what `take` raises."""
        return self._register(runner.beside())

    def give_back(self, runner: Runner) -> None:
        """Take back a runner that has nothing to do for now."""
        runner.quiet_since = monotonic()
        with self._lock:
            self._out.discard(runner)
            if not self._closed:
                self._idle.append(runner)
                return
        runner.close()

    def drop(self, runner: Runner) -> None:
        """Close a runner that is lost or may still be busy; it is not used again."""
        with self._lock:
            self._out.discard(runner)
        runner.close()

    def settle(self, path: str) -> None:
        """Have the host told, when it is next spoken to, that nobody needs a pass's output."""
        with self._lock:
            self._settled.append(path)

    def take_settled(self) -> tuple[str, ...]:
        """The passes that the host has not been told of yet; the caller tells it."""
        with self._lock:
            settled, self._settled = tuple(self._settled), []
        return settled

    def cool_down(self, after: float = IDLE_SECONDS) -> None:
        """Close the runners that have been idle for that many seconds."""
        oldest = monotonic() - after
        with self._lock:
            tired = [runner for runner in self._idle if runner.quiet_since <= oldest]
            self._idle = [runner for runner in self._idle if runner.quiet_since > oldest]
        for runner in tired:
            self._dismiss(runner)

    def close(self) -> None:
        """Close all runners, also those in use; what they run goes on."""
        with self._lock:
            self._closed = True
            idle, busy = self._idle, self._out
            self._idle, self._out = [], set()
        for runner in idle:
            self._dismiss(runner)
        for runner in busy:
            runner.close()

    def _dismiss(self, runner: Runner) -> None:
        """Close an idle runner, which may tell the host first what it was not told yet."""
        settled = self.take_settled()
        if settled:
            with suppress(LostError):
                runner.settle(settled)
        runner.close()

    def _register(self, runner: Runner) -> Runner:
        with self._lock:
            if not self._closed:
                self._out.add(runner)
                return runner
        runner.close()
        raise transient(self._host, "the connections were closed", stage="connect")

    def _fresh(self) -> Runner:
        try:
            return self._start()
        except WrongSessionError:
            self._own_session = True
        try:
            return self._start()
        except WrongSessionError:
            raise self._no_session() from None

    def _start(self) -> Runner:
        carrier = self._reach(self._own_session, self._has_idle)
        try:
            return Runner(carrier, self._host, records_cap=self._records_cap)
        except LostError as error:
            carrier.close()
            if b"setsid" in carrier.noise:
                raise self._no_session() from error
            raise
        except BaseException:
            carrier.close()
            raise

    def _has_idle(self) -> bool:
        with self._lock:
            return bool(self._idle)

    def _no_session(self) -> Exception:
        return misconfigured(
            self._host,
            "its login shell starts commands in its own session, and there is no setsid to give "
            "them one; install util-linux or busybox on it",
            stage="execute",
        )
