"""A host: where commands run, and how it is reached."""

from dataclasses import dataclass
from enum import StrEnum


class Connection(StrEnum):
    """How a host is reached."""

    SSH = "ssh"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Host:
    """An enrolled host.

    `host_key` is the pinned public key ("ssh-ed25519 AAAA…"), `key_path` the private key file on
    the worker's machine; both are None for a local connection. `workdir` is where commands start
    (None: the account's home).
    """

    name: str
    connection: Connection = Connection.SSH
    address: str = "127.0.0.1"
    port: int = 22
    user: str | None = None
    key_path: str | None = None
    host_key: str | None = None
    workdir: str | None = None


LOCALHOST = Host(name="localhost", connection=Connection.LOCAL)
"""The machine that the executor runs on; it needs no enrolment."""
