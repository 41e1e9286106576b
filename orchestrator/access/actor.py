"""Who acts."""

import os
import pwd
import socket
from dataclasses import dataclass
from functools import cache

from orchestrator.access.roles import AccessRole


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who acts: the name for the audit, and a role."""

    name: str
    role: AccessRole


@cache
def account() -> Actor:
    """The account that runs this process, `user@machine`.

    Whoever has the database's address and password can do everything, so it is an admin. An account
    without a name is identified by its number.
    """
    uid = os.geteuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid-{uid}"
    return Actor(f"{user}@{socket.gethostname()}", AccessRole.ADMIN)
