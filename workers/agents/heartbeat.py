"""Something that happens again and again while an agent runs."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

import structlog

log = structlog.get_logger()


class Heartbeat:
    """Calls `beat` every so many seconds, in its own thread, until the block ends.

    A beat that fails is logged, and the next one comes all the same. The block ends once the last
    beat has: whoever gives `beat` sees to it that it does not last long.
    """

    def __init__(self, every: float, beat: Callable[[], None]) -> None:
        self._every = every
        self._beat = beat
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every):
            try:
                self._beat()
            except Exception as error:  # noqa: BLE001 - one lost snapshot must not cost the others
                log.warning("agent_heartbeat_failed", reason=str(error))
