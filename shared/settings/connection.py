"""The connection file: where this user's `replan up` can be reached; only the user can read it."""

import hashlib
import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from shared.settings.server import ServerSettings

NAME = "connection.toml"


@dataclass(frozen=True, slots=True)
class ConnectionFile:
    """The file of a running `replan up` in its data folder; its URLs contain passwords."""

    database_url: str
    broker_url: str
    pid: int

    def write(self, data_dir: Path) -> Path:
        """Write it with mode 0600, atomically; returns its path."""
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = data_dir / NAME
        fresh = path.with_name(f".{NAME}.{os.getpid()}")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("# Written by `replan up`, removed when it ends.\n")
            file.write(f"database_url = {json.dumps(self.database_url)}\n")
            file.write(f"broker_url = {json.dumps(self.broker_url)}\n")
            file.write(f"pid = {self.pid}\n")
        fresh.replace(path)
        return path

    @classmethod
    def remove(cls, data_dir: Path) -> None:
        """Remove it; nothing happens if it does not exist."""
        (data_dir / NAME).unlink(missing_ok=True)

    @classmethod
    def read(cls, data_dir: Path) -> "ConnectionFile | None":
        """The file of a running `replan up`; None if there is none.

        Raises Misconfigured if others could have written or read the file.
        """
        path = data_dir / NAME
        try:
            status = path.stat()
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise Misconfigured(
                f"{path} does not belong to this user alone, so it is not trusted",
                stage="config",
                next_step=ShellCommand(f"rm {path}"),
            )
        return cls._parse(path, text)

    @classmethod
    def _parse(cls, path: Path, text: str) -> "ConnectionFile | None":
        try:
            data = tomllib.loads(text)
            found = cls(str(data["database_url"]), str(data["broker_url"]), int(data["pid"]))
        except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
            raise Misconfigured(
                f"{path} cannot be read: {error}",
                stage="config",
                next_step=ShellCommand(f"rm {path}"),
            ) from error
        return found if is_alive(found.pid) else None


def find_up(server: ServerSettings) -> Path | None:
    """The data folder of the `replan up` whose database this process uses; None if it uses another.

    Raises Misconfigured if its file is not trusted.
    """
    running = ConnectionFile.read(server.data_dir)
    found = running is not None and running.database_url == server.database
    return server.data_dir if found else None


class RunningElsewhere:
    """The notes, in the usual data folder, of where else `replan up` of this user runs.

    So commands find one that was started with another folder, as long as it is the only one.
    """

    def __init__(self, usual: Path) -> None:
        self._usual = usual
        self._notes = usual / "elsewhere"

    def note(self, folder: Path) -> None:
        """Note a folder, and forget those in which nothing runs any more."""
        if folder.absolute() == self._usual.absolute():
            return
        self._notes.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path, place in self._noted():
            if _running_in(place) is None:
                path.unlink(missing_ok=True)
        text = str(folder.absolute())
        name = hashlib.sha256(os.fsencode(text)).hexdigest()[:16]
        (self._notes / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    def only(self) -> Path | None:
        """The folder in which one runs; None if there is none, or more than one."""
        places = [place for _, place in self._noted() if _running_in(place) is not None]
        return places[0] if len(places) == 1 else None

    def _noted(self) -> list[tuple[Path, Path]]:
        try:
            paths = sorted(self._notes.iterdir())
            return [
                (path, Path(path.read_text(encoding="utf-8", errors="surrogateescape")))
                for path in paths
            ]
        except OSError:
            return []


def _running_in(folder: Path) -> ConnectionFile | None:
    try:
        return ConnectionFile.read(folder)
    except Misconfigured:
        return None


def is_alive(pid: int) -> bool:
    """Whether there is a process of that number, of any account."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
