"""The port of an embedded service: free, and if possible the same after a restart."""

import socket
import time
from pathlib import Path
from typing import Final

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand

LOOPBACK: Final = "127.0.0.1"


def choose(remembered: Path, configured: int | None = None, *, patience: float = 2.0) -> int:
    """The configured port, else the one written in `remembered` if it is free, else a free one.

    The chosen port is written to `remembered`. A port in use gets `patience` seconds to become
    free, because its last owner may be about to end. Raises Misconfigured
    if the configured one stays in use.
    """
    wanted = configured or remembered_port(remembered)
    deadline = time.monotonic() + patience
    while wanted and not free(wanted) and time.monotonic() < deadline:
        time.sleep(0.05)
    if configured and not free(configured):
        raise Misconfigured(
            f"port {configured} on {LOOPBACK} is in use or not allowed",
            stage="start",
            next_step=ShellCommand(f"ss -ltnp 'sport = :{configured}'"),
        )
    port = wanted if wanted and free(wanted) else any_free()
    remembered.write_text(f"{port}\n", encoding="ascii")
    return port


def remembered_port(remembered: Path) -> int:
    """The port written in a file, 0 if there is none."""
    try:
        return int(remembered.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return 0


def free(port: int) -> bool:
    """Whether a server could listen on it now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except (OSError, OverflowError):
            return False
    return True


def any_free() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port
