"""A shell of which a test knows everything: its sh, its programs and its home."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from shared.domain.attempt import CommandResult
from tests.fakes.scripted_shell import ScriptedShell
from workers.shells.ports import Call


class ShOfAMachine(ScriptedShell):
    """Runs the text of each call with one sh and its tools, and nothing else of a shell."""

    def __init__(self, sh: Path, path: str, home: Path) -> None:
        super().__init__({})
        self._sh, self._environment = sh, {"PATH": path, "HOME": str(home)}

    def run(self, call: Call, **_: object) -> CommandResult:
        """What the sh did with it."""
        began = datetime.now(UTC)
        words = [str(self._sh), "-c", call.command, "sh"]
        ran = subprocess.run(
            words, env=self._environment, capture_output=True, cwd="/", check=False, timeout=60
        )
        out, err = ran.stdout, ran.stderr
        return CommandResult(call.command, ran.returncode, out, err, began, datetime.now(UTC))
