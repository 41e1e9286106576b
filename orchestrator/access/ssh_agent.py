"""Signing with a key that an ssh-agent holds: it is unlocked there, for as long as its owner said.

`ssh-add -c -t 10m FILE` keeps it for ten minutes, and has the agent ask before each use.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shared.domain.errors import Rejected
from shared.domain.next_step import ShellCommand

if TYPE_CHECKING:
    from paramiko import AgentKey


def holds(public: bytes) -> bool:
    """Whether the agent of this session holds the Ed25519 key with that public half."""
    with _key(public) as found:
        return found is not None


def sign(public: bytes, data: bytes) -> bytes | None:
    """The signature by that key; None if there is no agent, or it does not hold the key.

    Raises Rejected when the agent refuses: its owner was asked, and said no.
    """
    with _key(public) as found:
        if found is None:
            return None
        from paramiko import Message, SSHException

        try:
            signed = Message(bytes(found.sign_ssh_data(data)))
        except SSHException as error:
            raise Rejected(
                f"your ssh-agent did not sign: {error}",
                stage="approve",
                next_step=ShellCommand("ssh-add -L"),
            ) from error
        signed.get_text()  # the kind of the signature
        return signed.get_binary()


@contextmanager
def _key(public: bytes) -> "Iterator[AgentKey | None]":
    if not _is_there(os.environ.get("SSH_AUTH_SOCK", "")):
        yield None
        return
    from paramiko import Agent, SSHException

    try:
        agent = Agent()
    except SSHException:
        yield None
        return
    try:
        keys = [key for key in agent.get_keys() if key.get_name() == "ssh-ed25519"]
        yield next((key for key in keys if key.asbytes()[-len(public) :] == public), None)
    finally:
        agent.close()


def _is_there(address: str) -> bool:
    """Whether an agent listens: paramiko leaves its socket open where none does."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address)
        except OSError:
            return False
    return True
