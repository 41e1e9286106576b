"""Runs commands with a harmless program that writes down how it was called."""

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from shared.guard.findings import Findings
from shared.guard.shell.interpret import Walk
from shared.guard.shell.parse import Dialect, Shfmt
from shared.guard.shell.scope import Scope
from shared.guard.shell.streams import Input
from shared.guard.words import HOME

_HOME = "/home-of-nobody"
_RECORD = '#!/bin/sh\n{ printf "%s\\0" "$#" "$@"; } >> "$RECORD"\n'
SHELLS = sorted({"/bin/sh", shutil.which("bash") or "/bin/sh"})


def dialect_of(shell: str) -> Dialect:
    """The grammar of a shell of this machine; `/bin/sh` is dash here and bash there."""
    words = (shell, "-c", 'echo "${BASH_VERSION:-}"')
    version = subprocess.run(words, capture_output=True, check=True).stdout
    return Dialect.BASH if version.strip() else Dialect.POSIX


@dataclass
class Recorder:
    """`rec` is the only program; a command runs in an empty directory, without input."""

    folder: Path
    shfmt: Shfmt = field(default_factory=Shfmt)

    def __post_init__(self) -> None:
        self.program = self.folder / "bin" / "rec"
        self.program.parent.mkdir()
        self.program.write_text(_RECORD)
        self.program.chmod(0o755)
        self.record = self.folder / "record"
        self.room = self.folder / "room"

    def executed(self, shell: str, command: str) -> list[list[str]]:
        """The arguments of each call that the shell really made."""
        shutil.rmtree(self.room, ignore_errors=True)
        self.room.mkdir()
        self.record.write_bytes(b"")
        environment = {
            "PATH": f"{self.program.parent}:/usr/bin:/bin",
            "RECORD": str(self.record),
            "HOME": _HOME,
            "LC_ALL": "C.UTF-8",
        }
        subprocess.run(
            (shell, "-c", command),
            cwd=self.room,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        return _calls(self.record.read_bytes().decode("utf-8", "surrogateescape").split("\0"))

    def read(self, dialect: Dialect, command: str) -> tuple[list[list[str] | None], Findings]:
        """The arguments of each call that the guard sees; None for those it does not know."""
        walk = Walk(self.shfmt)
        interpreter = "bash" if dialect is Dialect.BASH else "dash"
        walk.finish(walk.text(command, interpreter, Scope(arguments=()), Input()))
        runs = [run for run in walk.findings.runs if run.program == "rec"]
        return [_known([word.literal for word in run.argv[1:]]) for run in runs], walk.findings


def _calls(written: list[str]) -> list[list[str]]:
    calls = []
    rest = written[:-1]
    while rest:
        count = int(rest[0])
        calls.append(rest[1 : count + 1])
        rest = rest[count + 1 :]
    return calls


def _known(words: list[str | None]) -> list[str] | None:
    texts = [word.replace(HOME, _HOME) for word in words if word is not None]
    return texts if len(texts) == len(words) else None
