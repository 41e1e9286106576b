"""A host: where commands run, and how it is reached."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256


class ConnectionKind(StrEnum):
    """How a host is reached."""

    SSH = "ssh"
    LOCAL = "local"


class SudoFound(StrEnum):
    """What the check of a host has found of sudo, for the account that commands run as."""

    ROOT = "root"  # the account is root and needs none
    YES = "yes"
    NO = "no"  # it asks for a password, or refuses the account
    ABSENT = "absent"


def fingerprint_of(blob: bytes) -> str:
    """The fingerprint of a public key as `ssh-keygen -l` prints it: `SHA256:…`."""
    return f"SHA256:{b64encode(sha256(blob).digest()).decode().rstrip('=')}"


@dataclass(frozen=True, slots=True)
class Host:
    """An enrolled host.

    `host_key` is the pinned public key ("ssh-ed25519 AAAA…"), `key_path` the private key file on
    the worker's machine; both are None for a local connection. `workdir` is where commands start
    (None: the account's home).

    `jump` names the enrolled host through which this one is reached; `via` is that host after a
    look-up. `password`, `passphrase` (of the key file) and `sudo_password` name secrets,
    `${secret:NAME}`, and never hold one. With `sudo` commands run as root. `distrusted` says why
    nothing may run there until a person has enrolled it anew. `labels` are a person's words for its
    role and environment: `env=production`.
    """

    name: str
    connection: ConnectionKind = ConnectionKind.SSH
    address: str = "127.0.0.1"
    port: int = 22
    user: str | None = None
    key_path: str | None = None
    host_key: str | None = None
    workdir: str | None = None
    jump: str | None = None
    password: str | None = None
    passphrase: str | None = None
    sudo: bool = False
    sudo_password: str | None = None
    distrusted: str | None = None
    labels: tuple[str, ...] = ()
    via: "Host | None" = None

    @property
    def fingerprint(self) -> str:
        """That of the pinned key, as `ssh-keygen -l` prints it: `SHA256:…`; empty without one."""
        if self.host_key is None:
            return ""
        _, _, blob = self.host_key.partition(" ")
        return fingerprint_of(b64decode(blob))

    @property
    def in_any_folder(self) -> "Host":
        """The host as it is reached, wherever its commands start: what connections belong to."""
        return self if self.workdir is None else replace(self, workdir=None)


LOCALHOST = Host(name="localhost", connection=ConnectionKind.LOCAL)
"""The machine that the executor runs on; it needs no enrolment."""


def scope_of(labels: Iterable[str]) -> str:
    """The labels of a host as one text; hosts with the same ones are one scope."""
    return ",".join(sorted(set(labels)))
