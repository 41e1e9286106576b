"""Messages that are dropped: each is logged, and counted for as long as the process runs."""

import threading
from dataclasses import dataclass, field
from typing import Final

import structlog

log = structlog.get_logger()

_SHOWN: Final = 200
"""Characters of a reason, and of a message."""


@dataclass
class DroppedMessages:
    """How many messages this process has dropped."""

    count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, queue: str, reason: str, message: str = "") -> None:
        """Log a message that is dropped, and count it."""
        with self._lock:
            self.count += 1
            count = self.count
        log.warning(
            "message_dropped",
            queue=queue,
            reason=reason[:_SHOWN],
            message=message[:_SHOWN],
            dropped=count,
        )


DROPPED: Final = DroppedMessages()
"""Those of this process."""
