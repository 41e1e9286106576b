"""Who acts."""

import os
import pwd
import socket
from dataclasses import dataclass
from functools import cache

from orchestrator.access.origin import Origin, origin_of_process
from orchestrator.access.roles import AccessRole


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who acts: the name for the audit, a role, and the origin if that is known."""

    name: str
    role: AccessRole
    origin: Origin | None = None


def account() -> Actor:
    """The account that runs this process, `user@machine`.

    Whoever has the database's address and password can do everything, so it is an admin. An account
    without a name is identified by its number.
    """
    return Actor(_account_name(), AccessRole.ADMIN, origin_of_process())


@cache
def _account_name() -> str:
    uid = os.geteuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid-{uid}"
    return f"{user}@{socket.gethostname()}"
