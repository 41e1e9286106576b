"""Turns errors of paramiko and of sockets into our own."""

import errno
import socket
from collections.abc import Mapping

from paramiko import ssh_exception
from paramiko.pkey import UnknownKeyType

from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.domain.host import Host
from workers.shells.remote.errors import check_command, place

Family = type[Transient] | type[Misconfigured]

FAMILIES: Mapping[type[Exception], tuple[Family, str]] = {
    ssh_exception.SSHException: (Transient, "the SSH connection failed"),
    ssh_exception.AuthenticationException: (Misconfigured, "the host refused the key"),
    ssh_exception.PasswordRequiredException: (
        Misconfigured,
        "the private key is protected by a passphrase, which a worker cannot type",
    ),
    ssh_exception.BadAuthenticationType: (
        Misconfigured,
        "the host does not let this account log in with a key",
    ),
    ssh_exception.PartialAuthentication: (
        Misconfigured,
        "the host requires more than a key (a second factor)",
    ),
    ssh_exception.UnableToAuthenticate: (Misconfigured, "the host refused every key"),
    ssh_exception.ChannelException: (Transient, "the host does not open another session"),
    ssh_exception.BadHostKeyException: (Misconfigured, "the host key has changed"),
    ssh_exception.IncompatiblePeer: (
        Misconfigured,
        "the host and this program have no algorithm in common",
    ),
    ssh_exception.ProxyCommandFailure: (Transient, "the proxy command failed"),
    ssh_exception.NoValidConnectionsError: (Transient, "the host does not answer"),
    ssh_exception.CouldNotCanonicalize: (Misconfigured, "the host name cannot be resolved"),
    ssh_exception.ConfigParseError: (Misconfigured, "the SSH configuration cannot be read"),
    ssh_exception.MessageOrderError: (Transient, "the SSH connection was disturbed"),
    UnknownKeyType: (Misconfigured, "the private key is of a type that is not supported"),
    EOFError: (Transient, "the host closed the connection"),
    socket.gaierror: (Misconfigured, "the host name is unknown"),
    TimeoutError: (Transient, "the host does not answer"),
    ConnectionRefusedError: (Transient, "nothing listens on that port"),
    ConnectionError: (Transient, "the connection was lost"),
    OSError: (Transient, "the host cannot be reached"),
}
"""The family and the sentence of every error that paramiko or a socket can raise.

A class that is not listed is treated as its nearest ancestor.
"""

_CHANNEL_PROHIBITED = 1
_NAME_MAY_COME_BACK = frozenset({socket.EAI_AGAIN})
_UNREACHABLE = {
    errno.EHOSTUNREACH: "there is no route to the host",
    errno.ENETUNREACH: "there is no route to its network",
    errno.ETIMEDOUT: "the host does not answer",
}


def translate(error: Exception, host: Host, *, stage: str) -> ReplanError:
    """Turn the error into one of ours; it names the host and the command to type next.

    The stages are "connect", "host_key", "authenticate", "channel" and "execute".
    """
    if isinstance(error, ReplanError):
        return error
    family, sentence = _family_and_sentence(error)
    detail = str(error).strip()
    reason = f"{place(host)}: {sentence}" + (f" ({detail})" if detail else "")
    return family(reason, stage=stage, next_step=check_command(host))


def _family_and_sentence(error: Exception) -> tuple[Family, str]:
    if isinstance(error, socket.gaierror) and error.errno in _NAME_MAY_COME_BACK:
        return Transient, "the name service does not answer"
    if isinstance(error, ssh_exception.ChannelException) and error.code == _CHANNEL_PROHIBITED:
        return Misconfigured, "the host does not allow sessions for this account"
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return Transient, _UNREACHABLE[error.errno]
    for ancestor in type(error).__mro__:
        if ancestor in FAMILIES:
            return FAMILIES[ancestor]
    return Transient, "the SSH connection failed"
