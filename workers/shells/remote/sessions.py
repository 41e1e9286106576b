"""How many sessions a host gives on one connection."""

from contextlib import ExitStack, closing

import paramiko

from shared.domain.host import Host
from workers.shells.remote.transport import connect


def count_sessions(host: Host, enough: int) -> int:
    """Open sessions side by side on a connection made for it; how many were given, or enough.

    Nothing is run in them. Raises Transient or Misconfigured when the host lets nobody in.
    """
    with closing(connect(host)) as transport, ExitStack() as opened:
        for number in range(enough):
            try:
                opened.enter_context(transport.open_session(timeout=transport.channel_timeout))
            except (paramiko.SSHException, EOFError, OSError):
                return number
    return enough
