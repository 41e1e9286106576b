"""The vault of files: a folder that belongs to this user alone, one file per secret."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from shared.domain.secret import is_name
from shared.secrets.vaults.vault import STAGE, NotHere, one_line_less

LARGEST = 65_536
"""Bytes of the largest value."""

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_OTHERS = 0o077


class FileVault:
    """Reads and writes `FOLDER/NAME`.

    The folder and each file must belong to the user of this process, be readable by nobody else,
    and not be a link. Anything else is refused, because others may have read or written it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def label(self) -> str:
        """Where it is."""
        return f"files in {self._folder}"

    def find(self, name: str) -> str:
        """The content of the file without its last newline; raises NotHere, Misconfigured."""
        try:
            with self._open() as folder:
                return self._content(folder, name)
        except FileNotFoundError:
            raise NotHere from None

    def names(self) -> tuple[str, ...]:
        """The files whose names are names of secrets; raises Misconfigured."""
        try:
            with self._open() as folder:
                listed = os.listdir(folder)  # noqa: PTH208 - by its descriptor
                return tuple(sorted(filter(is_name, listed)))
        except FileNotFoundError:
            return ()

    def put(self, name: str, value: str) -> Path:
        """Write a value, whole or not at all, with mode 0600; returns the file's path.

        Creates the folder if it does not exist. Raises Misconfigured.
        """
        path = self._folder / name
        fresh = f".{name}.{os.getpid()}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_FOLDER)
            with self._open() as folder:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
                descriptor = os.open(fresh, flags, _PRIVATE_FILE, dir_fd=folder)
                with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                    file.write(value)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise _refuse(f"{path} cannot be written ({error.strerror})", "ls -ld", path) from None
        return path

    @contextmanager
    def _open(self) -> Iterator[int]:
        """The folder as a descriptor, so that nobody can swap it after the check."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self._folder, flags)
        except FileNotFoundError:
            raise
        except OSError as error:
            why = "is a link, or not a folder" if not isinstance(error, PermissionError) else (
                "cannot be read by this user"
            )  # fmt: skip
            raise _refuse(f"{self._folder} {why}", "ls -ld", self._folder) from None
        try:
            _require_private(self._folder, os.fstat(descriptor), _PRIVATE_FOLDER)
            yield descriptor
        finally:
            os.close(descriptor)

    def _content(self, folder: int, name: str) -> str:
        path = self._folder / name
        # Do not wait for a writer if it is a pipe instead of a file.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            raise
        except PermissionError:
            raise _refuse(f"{path} cannot be read by this user", "ls -l", path) from None
        except OSError:
            raise _refuse(f"{path} is a link; put the file itself there", "ls -l", path) from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _refuse(f"{path} is not a file", "ls -ld", path)
            _require_private(path, status, _PRIVATE_FILE)
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(LARGEST + 1)
        finally:
            os.close(descriptor)
        if len(content) > LARGEST:
            raise _refuse(f"{path} is larger than {LARGEST} bytes", "ls -l", path)
        return one_line_less(content.decode("utf-8", "surrogateescape"))


def _require_private(path: Path, status: os.stat_result, mode: int) -> None:
    if status.st_uid != os.geteuid():
        raise _refuse(f"{path} belongs to another user (number {status.st_uid})", "ls -ld", path)
    if status.st_mode & _OTHERS:
        shown = stat.S_IMODE(status.st_mode)
        raise _refuse(
            f"{path} has mode {shown:04o}, so others can read or write it; it needs {mode:04o}",
            f"chmod {mode:04o}",
            path,
        )


def _refuse(reason: str, command: str, path: Path) -> Misconfigured:
    return Misconfigured(reason, stage=STAGE, next_step=ShellCommand(f"{command} {path}"))
