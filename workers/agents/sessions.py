"""Whether the host still has the session of a runner that is to go on."""

import posixpath
import shlex
from typing import Final

from workers.agents.runners.port import Capabilities
from workers.shells.ports import Call, Shell

_TIMEOUT: Final = 60.0


def has_session(shell: Shell, capabilities: Capabilities, home: str, session: str) -> bool:
    """Whether that home holds that session. Raises what the shell raises.

    Homes go with their workspaces, and runners remove old sessions by themselves.
    """
    text = session_look(capabilities, home, session)
    return shell.run(Call(text, _TIMEOUT, ends_well=False)).ok


def session_look(capabilities: Capabilities, home: str, session: str) -> str:
    """A text for sh that ends with 0 if that home holds that session, and otherwise with 1."""
    before, named, after = capabilities.sessions.partition("{session}")
    # The name is the agent's word: it is quoted, the stars of the pattern are not.
    file = f"{before}{shlex.quote(session) if named else ''}{after}"
    path = posixpath.join(shlex.quote(home), file)
    return f'for each in {path}; do [ ! -e "$each" ] || exit 0; done; exit 1'
