"""The files that an agent is to read first: without them it would be paid for guessing."""

import shlex
from collections.abc import Sequence
from typing import Final

from shared.domain.errors import Rejected
from workers.shells.ports import Call, Shell

_TIMEOUT: Final = 60.0
_MOST_NAMED: Final = 5


def require_files(shell: Shell, workspace: str, names: Sequence[str]) -> None:
    """Raise Rejected for files that the workspace does not have; and what the shell raises."""
    if not names:
        return
    listed = shlex.join(f"{workspace}/{name}" for name in names)
    text = f'for each in {listed}; do [ -e "$each" ] && printf 1 || printf 0; done'
    seen = shell.run(Call(text, _TIMEOUT)).stdout.decode(errors="replace")
    missing = [name for name, found in zip(names, seen, strict=False) if found == "0"]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        told = ", ".join(map(repr, missing[:_MOST_NAMED])) + more
        raise Rejected(
            f"the agent was not started: its context names {told}, which the workspace does not "
            "have",
            stage="execute",
        )
