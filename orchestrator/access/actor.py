"""Who acts."""

import os
import pwd
import socket
from dataclasses import dataclass
from functools import cache

from orchestrator.access.roles import AccessRole


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who acts: a name that the audit bears, and what it may do."""

    name: str
    role: AccessRole


@cache
def account() -> Actor:
    """The account that this process runs under, `user@machine`.

    Whoever has the address of the database with its password can do everything, so it is an admin.
    An account without a name is known by its number.
    """
    uid = os.geteuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid-{uid}"
    return Actor(f"{user}@{socket.gethostname()}", AccessRole.ADMIN)
