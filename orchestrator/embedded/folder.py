"""The data folder: private, and held by one process at a time."""

import fcntl
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep, ShellCommand
from shared.settings.connection import is_alive

_NAME_WITHIN: Final = 2.0
"""Seconds within which whoever holds a folder has noted its number."""

_TICK: Final = 0.02


class HeldFolder:
    """A data folder that this process alone uses; the hold ends with the process, however it ends.

    Entering raises Misconfigured, naming the process that holds it, or that it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: int | None = None

    def __enter__(self) -> Self:
        make_private(self._folder)
        try:
            lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unusable(self._folder, error) from error
        try:
            holder = _holder(lock, fcntl.LOCK_EX)
            if holder is not None:
                raise _in_use(self._folder, holder)
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            with suppress(OSError):  # a full disk: then it stays, and names nobody once this ends
                os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None


def make_private(folder: Path) -> None:
    """Make a folder for this account alone; raises Misconfigured if that cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from error


def holder_of(folder: Path) -> int | None:
    """The number of the process that holds a data folder; None if nobody does.

    Raises Misconfigured when the folder cannot be read, or its holder cannot be told.
    """
    try:
        lock = os.open(folder / "lock", os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(folder, error) from error
    try:
        return _holder(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def refuse_held(folder: Path) -> None:
    """Raise Misconfigured, naming the process, if one holds the folder."""
    holder = holder_of(folder)
    if holder is not None:
        raise _in_use(folder, holder)


def end_holder(folder: Path, holder: int, within: float) -> bool:
    """Ask the process that holds a folder to stop, and wait; whether it has let go of the folder.

    It gets SIGTERM, once. `within` is in seconds.
    """
    with suppress(ProcessLookupError):
        os.kill(holder, signal.SIGTERM)
    deadline = time.monotonic() + within
    while holder_of(folder) == holder:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_TICK)
    return True


def _holder(lock: int, kind: int) -> int | None:
    """Take the lock of that kind if nobody has it (None), else tell who has.

    Whoever only looks has it for a moment, too, without noting its number: that is waited for.
    """
    deadline = time.monotonic() + _NAME_WITHIN
    while True:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            noted = os.pread(lock, 32, 0).strip()
            if noted.isdigit() and _has_open(int(noted), lock):
                return int(noted)
        else:
            return None
        if time.monotonic() >= deadline:
            raise Misconfigured(
                "the data folder is in use by a process that has not noted its number",
                stage="start",
            )
        time.sleep(_TICK)


def _has_open(pid: int, lock: int) -> bool:
    """Whether the process has that file open: a number that was left behind is somebody else's."""
    wanted = os.fstat(lock)
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except PermissionError:
        return True
    except OSError:
        return not Path("/proc/self").exists() and is_alive(pid)
    for entry in entries:
        with suppress(OSError):
            if os.path.samestat(entry.stat(), wanted):
                return True
    return False


def _in_use(folder: Path, holder: int) -> Misconfigured:
    return Misconfigured(
        f"replan already runs in the data folder {folder}, as process {holder}",
        stage="start",
        next_step=NextStep.of("status"),
    )


def _unusable(folder: Path, error: OSError) -> Misconfigured:
    return Misconfigured(
        f"the data folder {folder} cannot be used: {error.strerror}",
        stage="start",
        next_step=ShellCommand(f"ls -ld {folder}"),
    )
