"""The key from which the tokens of attempts are derived."""

import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Final

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from shared.settings import ServerSettings

GATEWAY_KEY: Final = "gateway-key"
_SHORTEST: Final = 32
"""Characters of a key that cannot be guessed."""


def installation_key(server: ServerSettings) -> bytes:
    """REPLAN_GATEWAY_KEY, else the key in the data folder, which the first to ask creates.

    Raises Misconfigured when it is too short, or cannot be created or read.
    """
    if server.replan_gateway_key is not None:
        if len(server.replan_gateway_key) < _SHORTEST:
            raise Misconfigured(
                f"REPLAN_GATEWAY_KEY is shorter than {_SHORTEST} characters, and could be guessed",
                stage="config",
                next_step=ShellCommand("openssl rand -hex 32"),
            )
        return server.replan_gateway_key.encode()
    path = server.data_dir / GATEWAY_KEY
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error


def _make(path: Path) -> None:
    """Create the key atomically; two processes that do so at once both use the first key."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(prefix=".gateway-", dir=path.parent)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{secrets.token_hex(32)}\n")
    fresh = Path(name)
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()


def _read(path: Path) -> bytes:
    status = path.stat()
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise _unusable(path, "it must be yours, and readable by nobody else")
    key = path.read_bytes().strip()
    if len(key) < _SHORTEST:
        raise _unusable(path, "it is not a valid key")
    return key


def _unusable(path: Path, why: str) -> Misconfigured:
    return Misconfigured(
        f"the key of agents' tokens, {path}, cannot be used: {why}",
        stage="start",
        next_step=ShellCommand(f"ls -l {path}"),
    )
