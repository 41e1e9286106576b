"""The file in which an agent documents its decisions (S4.39)."""

import posixpath
import shlex
from typing import Final

from workers.shells.ports import Call, Shell

HANDOFF_FILE: Final = "framework/docs/handoff.md"
"""Below the root of the repository."""

_LONGEST: Final = 500_000
_TIMEOUT: Final = 60.0


def read_handoff(shell: Shell, workspace: str) -> str | None:
    """The text of the file in a workspace; None if there is none. Raises what the shell raises.

    A link is not followed: it may lead out of the workspace, or to something that never ends.
    """
    file = shlex.quote(posixpath.join(workspace, HANDOFF_FILE))
    text = f"[ -f {file} ] && [ ! -L {file} ] && head -c {_LONGEST} {file}"
    read = shell.run(Call(text, _TIMEOUT, ends_well=False))
    return read.stdout.decode(errors="replace") if read.ok else None
