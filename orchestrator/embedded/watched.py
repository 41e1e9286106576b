"""One supervised child: started, found ready, and started again when it dies."""

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from orchestrator.embedded.backoff import Backoff
from orchestrator.embedded.process import Process, Tether

SETTLED_AFTER: Final = 0.3

Condition = Literal["starting", "ready", "resting", "stopped"]


@dataclass(frozen=True, slots=True)
class Child:
    """What to run and how to tell that it works.

    `env` is its whole environment (None: that of this process). `ready` is asked repeatedly, in
    the supervisor's thread, and must answer within about a second; an exception counts as no.
    Without it a child is ready when its program has run for 0.3 s.
    Spans are in seconds. `stop_signal` is also what it gets when this process dies.
    `unprivileged` and `owned` are for programs that refuse to run as root: see `Tether`.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    ready: Callable[[], bool] | None = None
    ready_within: float = 30.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_within: float = 10.0
    unprivileged: bool = False
    owned: Path | None = None

    @property
    def tether(self) -> Tether:
        """How it is tied to this process."""
        return Tether(self.stop_signal, unprivileged=self.unprivileged, owned=self.owned)


@dataclass(frozen=True, slots=True)
class ChildEvent:
    """Something happened to a child; `detail` says it in words."""

    name: str
    kind: Literal["started", "ready", "died", "stopped"]
    pid: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ChildStatus:
    """A child as it is now; `pid` is None while it does not run."""

    name: str
    condition: Condition
    pid: int | None
    restarts: int
    last_end: str | None


@dataclass(slots=True)
class Watched:
    """The life of one child; every method is called from the supervisor's thread only."""

    child: Child
    log: Path
    tell: Callable[[ChildEvent], None]
    batch: int = 0
    condition: Condition = "stopped"
    restarts: int = 0
    last_end: str | None = None
    was_ready: bool = False
    _process: Process | None = None
    clock: Callable[[], float] = time.monotonic
    _since: float = 0.0
    _began: float | None = None
    _ready_since: float | None = None
    _backoff: Backoff = field(default_factory=Backoff)
    _pause: float = 0.0
    _doubt: str = ""
    _asked: bool = False

    def start(self) -> None:
        """Launch it; a launch that fails counts as a death."""
        self._since = self.clock()
        self._began = self._ready_since = None
        self._asked = False
        env = None if self.child.env is None else dict(self.child.env)
        try:
            self._process = Process.launch(
                self.child.argv, tether=self.child.tether, log=self.log, env=env, cwd=self.child.cwd
            )
        except OSError as error:
            self._rest(f"could not be started: {error}", pid=0)
            return
        self.condition = "starting"
        self.tell(ChildEvent(self.child.name, "started", self._process.pid))

    def tick(self) -> None:
        """Notice what has happened since the last time and act on it."""
        now = self.clock()
        if self.condition == "resting":
            if now >= self._since + self._pause:
                self.restarts += 1
                self.start()
            return
        process = self._process
        if process is None or self.condition == "stopped":
            return
        code = process.exit_code()
        if code is not None:
            self._rest(describe_exit(code), pid=process.pid)
        elif self.condition == "starting":
            self._await_readiness(process, now)

    def ask_to_stop(self) -> None:
        """Send its stop signal and do not wait; `stop` has to follow."""
        if self._process is not None:
            self._process.send(self.child.stop_signal)
            self._asked = True

    def stop(self) -> None:
        """End it and whatever is left in its process group; it is not started again."""
        process, self._process = self._process, None
        already = self.condition == "stopped"
        self.condition = "stopped"
        if process is not None:
            # A second signal would end at once what is about to end by itself.
            asking = None if self._asked else self.child.stop_signal
            code = process.end(asking, self.child.stop_within)
            self.last_end = describe_exit(code)
            if not already:
                self.tell(ChildEvent(self.child.name, "stopped", process.pid, self.last_end))

    def status(self) -> ChildStatus:
        """Its current status."""
        pid = None if self._process is None else self._process.pid
        return ChildStatus(self.child.name, self.condition, pid, self.restarts, self.last_end)

    def _await_readiness(self, process: Process, now: float) -> None:
        if self._says_ready(process, now):
            self.condition = "ready"
            self.was_ready = True
            self._ready_since = now
            self.tell(ChildEvent(self.child.name, "ready", process.pid))
        elif now >= self._since + self.child.ready_within:
            process.end(self.child.stop_signal, self.child.stop_within)
            reason = f"was not ready within {self.child.ready_within:g} s and was stopped"
            self._rest(reason + self._doubt, pid=process.pid)

    def _says_ready(self, process: Process, now: float) -> bool:
        if self.child.ready is None:
            return self._has_settled(process, now)
        try:
            ready = self.child.ready()
        except Exception as error:  # noqa: BLE001 - a probe must not end the supervisor
            self._doubt = f" ({error!r})"
            return False
        self._doubt = ""
        return ready

    def _has_settled(self, process: Process, now: float) -> bool:
        if self._began is None and process.has_begun():
            self._began = now
        return self._began is not None and now >= self._began + SETTLED_AFTER

    def _rest(self, reason: str, *, pid: int) -> None:
        self._process = None
        self.condition = "resting"
        self.last_end = reason
        now = self._since = self.clock()
        self._pause = self._backoff.pause(
            None if self._ready_since is None else now - self._ready_since
        )
        self.tell(ChildEvent(self.child.name, "died", pid, reason))


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exited with {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
