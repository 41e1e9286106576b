"""Bundles in a folder: written beside, made durable, and then named (S2.77).

Not through obstore, whose local store does not make durable what it has written.
"""

import errno
import fcntl
import os
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from shared.deliveries.backend import SHA256, STAGE, attestation_key, key
from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from shared.domain.patch_store import LARGEST_BUNDLE, Entry

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


class Folder:
    """The backend in a folder, which is made when something is stored; others may use it, too."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._bundles = self._root / "sha256"
        self._writing = self._root / "writing"

    def uri(self, sha256: str) -> str:
        """Its file as a URI."""
        return self._path(sha256).as_uri()

    def create(self, sha256: str, data: bytes) -> bytes | None:
        """See `Backend`."""
        path = self._path(sha256)
        with self._explained("written"):
            self._prepare(path)
            is_new = not self._renew(path) and self._write(path, data)
            _sync(path.parent)
            return None if is_new else self._bytes(path)

    def attest(self, tree: str, sha256: str, data: bytes) -> str:
        """See `Backend`."""
        path = self._root / attestation_key(tree, sha256)
        with self._explained("written"):
            _make_folder(self._root, 0o700)
            for folder in (self._writing, path.parent.parent, path.parent):
                _make_folder(folder, 0o777)
            if not path.exists():
                self._write(path, data)
            _sync(path.parent)
        return path.as_uri()

    def read(self, sha256: str) -> bytes | None:
        """See `Backend`."""
        with self._explained("read"):
            try:
                return self._bytes(self._path(sha256))
            except FileNotFoundError:
                return None

    def entries(self) -> Iterator[Entry]:
        """See `Backend`."""
        with self._explained("read"):
            for folder in _sorted_entries(self._bundles):
                if folder.is_dir(follow_symlinks=False):
                    yield from _bundles_in(folder)

    def remove(self, sha256: str, before: float) -> bool:
        """See `Backend`."""
        path = self._path(sha256)
        with self._explained("written"), suppress(FileNotFoundError), self._locked(fcntl.LOCK_EX):
            if path.stat().st_mtime < before:
                path.unlink()
                return True
        return False

    def leftovers(self, before: float, *, remove: bool) -> int:
        """See `Backend`."""
        count = 0
        with self._explained("written" if remove else "read"):
            for entry in _sorted_entries(self._writing):
                with suppress(FileNotFoundError):
                    if entry.stat().st_mtime < before:
                        count += 1
                        if remove:
                            Path(entry).unlink()
        return count

    def _path(self, sha256: str) -> Path:
        return self._root / key(sha256)

    def _prepare(self, path: Path) -> None:
        """Make the folders; those of the bundles at once, because making one durable takes long."""
        _make_folder(self._root, 0o700)
        _make_folder(self._writing, 0o777)
        if not self._bundles.is_dir():
            _make_folder(self._bundles, 0o777)
            for number in range(256):
                (self._bundles / f"{number:02x}").mkdir(exist_ok=True)
            _sync(self._bundles)
        _make_folder(path.parent, 0o777)

    def _renew(self, path: Path) -> bool:
        """Let a file count as new; False if it is not there."""
        try:
            with self._locked(fcntl.LOCK_SH):
                os.utime(path)
        except FileNotFoundError:
            return False
        return True

    def _write(self, path: Path, data: bytes) -> bool:
        """Write a file beside, and name it; False if somebody else has done so meanwhile."""
        staged = self._writing / secrets.token_hex(16)
        try:
            with staged.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            return self._publish(staged, path)
        finally:
            staged.unlink(missing_ok=True)

    def _publish(self, staged: Path, path: Path) -> bool:
        """Name a finished file; False if there is one of that name, which then counts as new."""
        with self._locked(fcntl.LOCK_SH):
            try:
                os.link(staged, path)
            except FileExistsError:
                os.utime(path)
                return False
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                staged.replace(path)  # what it may replace has the same bytes
        return True

    def _bytes(self, path: Path) -> bytes:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read(LARGEST_BUNDLE + 1)

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """While a file gets its name or counts as new, none is removed for its age."""
        with (self._root / "lock").open("ab") as file:
            fcntl.flock(file, how)
            yield

    @contextmanager
    def _explained(self, how: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = shlex.quote(str(self._root))
            full = error.errno in _FULL
            why = f"its disk has no room: {error.strerror}" if full else str(error)
            raise Misconfigured(
                f"the store of deliveries in {self._root} cannot be {how}: {why}",
                stage=STAGE,
                next_step=ShellCommand(f"df -h {place}" if full else f"ls -ld {place}"),
            ) from error


def _bundles_in(folder: os.DirEntry[str]) -> Iterator[Entry]:
    for entry in _sorted_entries(folder):
        named = SHA256.fullmatch(entry.name) and entry.name[:2] == folder.name
        if named and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):  # removed meanwhile
                found = entry.stat(follow_symlinks=False)
                yield Entry(entry.name, found.st_size, found.st_mtime)


def _sorted_entries(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []


def _make_folder(folder: Path, mode: int) -> None:
    """Make a folder durably, with those above it, which only this account may look into."""
    if folder.is_dir():
        return
    _make_folder(folder.parent, 0o700)
    with suppress(FileExistsError):
        folder.mkdir(mode=mode)
    _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
