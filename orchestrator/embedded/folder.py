"""The data folder: private, and held by one process at a time."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand


class HeldFolder:
    """A data folder that this process alone uses; the hold ends with the process, however it ends.

    Entering raises Misconfigured, naming the process that holds it, or that it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: int | None = None

    def __enter__(self) -> Self:
        lock = self._folder / "lock"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise Misconfigured(
                f"the data folder {self._folder} cannot be used: {error.strerror}",
                stage="start",
                next_step=ShellCommand(f"ls -ld {self._folder}"),
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = lock.read_text(encoding="ascii").strip() or "unknown"
            self._close()
            raise Misconfigured(
                f"the data folder {self._folder} is in use by process {holder}",
                stage="start",
                next_step=ShellCommand(f"ps -fp {holder}"),
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
