"""Counts the sessions that a host allows on one connection."""

from contextlib import ExitStack, closing

import paramiko

from shared.domain.host import Host
from workers.shells.remote.transport import connect


def count_sessions(host: Host, enough: int) -> int:
    """Open sessions side by side on a new connection; how many the host allows, up to `enough`.

    Nothing runs in them. Raises Transient or Misconfigured when the login fails.
    """
    with closing(connect(host)) as transport, ExitStack() as opened:
        for number in range(enough):
            try:
                opened.enter_context(transport.open_session(timeout=transport.channel_timeout))
            except (paramiko.SSHException, EOFError, OSError):
                return number
    return enough
