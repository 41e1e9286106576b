"""The owner of named child processes: started, restarted, and stopped in the reverse order."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, Self

from orchestrator.embedded.watched import Child, ChildEvent, ChildStatus, Watched
from shared.domain.errors import Defect, Misconfigured
from shared.domain.next_step import ShellCommand

TICK: Final = 0.02
IDLE_TICK: Final = 0.1
LAST_LINES: Final = 5


def ignore(_event: ChildEvent) -> None:
    """Ignore an event: the default for callers without interest in events."""


class Supervisor:
    """Runs children until it is stopped.

    Each child is a direct child of one thread of this process that lives as long as the
    supervisor does: the kernel ends a child at the end of the *thread* that started it. A child
    that ends, with whatever exit code, is started again, after a pause if it ends again and again
    (see `Backoff`). Their output goes to `<logs>/<name>.log`. They are stopped in the reverse order
    of `add`; those of one call at the same time. `on_event` is called in the supervisor's thread
    and must return at once.
    """

    def __init__(self, logs: Path, on_event: Callable[[ChildEvent], None] = ignore) -> None:
        self._logs = logs
        self._on_event = on_event
        self._children: dict[str, Watched] = {}
        self._requests: SimpleQueue[tuple[Callable[[], None], Future[None]]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._batches = 0
        self._closing = False
        self._crash: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, *children: Child) -> None:
        """Start children at once and return when all are ready.

        Raises Misconfigured with the end of its log if one dies, or is not ready in time, before
        it was ready for the first time; then none of `children` is left running.
        """
        self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._in_thread(lambda: self._start(children))
        try:
            self._await_first_readiness([child.name for child in children])
        except BaseException:
            self._in_thread(lambda: self._stop([child.name for child in children]))
            raise

    def check(self) -> None:
        """Raise Defect if the supervisor itself has ended; its children have, too."""
        self._check_thread()

    def remove(self, name: str) -> None:
        """Stop a child and forget it; nothing happens if there is none of that name."""
        self._in_thread(lambda: self._stop([name]))

    def restart(self, name: str) -> None:
        """Stop a child and start it again; KeyError if there is none of that name."""
        self._in_thread(lambda: self._restart(self._children[name]))

    def status(self) -> tuple[ChildStatus, ...]:
        """All children, in the order in which they were started."""
        return tuple(child.status() for child in tuple(self._children.values()))

    def log_of(self, name: str) -> Path:
        """Where a child's output is."""
        return self._logs / f"{name}.log"

    def close(self) -> None:
        """Stop all children, the last one started first; a second call does nothing."""
        if self._thread is None or not self._thread.is_alive():
            return
        try:
            self._in_thread(self._stop_all)
        finally:
            self._closing = True
            self._thread.join()

    def _await_first_readiness(self, names: list[str]) -> None:
        while True:
            children = [self._children[name] for name in names]
            for child in children:
                if not child.was_ready and child.last_end is not None:
                    raise self._never_ready(child)
            if all(child.was_ready for child in children):
                return
            self._check_thread()
            time.sleep(TICK / 2)

    def _never_ready(self, child: Watched) -> Misconfigured:
        name = child.child.name
        log = self.log_of(name)
        said = " / ".join(last_lines(log)) or "nothing"
        return Misconfigured(
            f"{name} {child.last_end}; it said: {said}",
            stage="start",
            next_step=ShellCommand(f"tail -n 50 {log}"),
        )

    def _in_thread(self, action: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
            self._thread.start()
        answer: Future[None] = Future()
        self._requests.put((action, answer))
        while not answer.done():
            self._check_thread()
            try:
                answer.result(timeout=1.0)
            except TimeoutError:
                continue
        answer.result()

    def _check_thread(self) -> None:
        if self._thread is not None and not self._thread.is_alive():
            raise Defect(f"the supervisor ended: {self._crash!r}", stage="start") from self._crash

    def _run(self) -> None:
        try:
            while not self._closing:
                self._answer_requests()
                for child in tuple(self._children.values()):
                    child.tick()
        except BaseException as crash:
            self._crash = crash
            self._stop_all()
            raise

    def _answer_requests(self) -> None:
        busy = any(child.condition == "starting" for child in self._children.values())
        try:
            action, answer = self._requests.get(timeout=TICK if busy else IDLE_TICK)
        except Empty:
            return
        try:
            action()
        except Exception as error:  # noqa: BLE001 - carried to the caller, who is waiting for it
            answer.set_exception(error)
        else:
            answer.set_result(None)

    def _start(self, children: tuple[Child, ...]) -> None:
        self._batches += 1
        for child in children:
            if child.name in self._children:
                raise Defect(f"a child named {child.name} runs already", stage="start")
            self._children[child.name] = Watched(
                child, self.log_of(child.name), self._on_event, self._batches
            )
        for child in children:
            self._children[child.name].start()

    def _restart(self, child: Watched) -> None:
        child.stop()
        child.start()

    def _stop(self, names: list[str]) -> None:
        children = [self._children.pop(name) for name in names if name in self._children]
        for child in children:
            child.ask_to_stop()
        for child in children:
            child.stop()

    def _stop_all(self) -> None:
        for batch in range(self._batches, 0, -1):
            self._stop([name for name, child in self._children.items() if child.batch == batch])


def last_lines(log: Path) -> list[str]:
    """The last lines of a log that say something."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()][-LAST_LINES:]
