"""Every error of paramiko and of sockets has a family and a sentence."""

import errno
import inspect
import socket

import pytest
from paramiko import ECDSAKey, pkey, ssh_exception

from shared.domain.errors import Misconfigured, ReplanError, Transient
from shared.domain.host import Host
from shared.domain.next_step import command_line
from workers.shells.remote.foreign_errors import FAMILIES, translate

HOST = Host("web1", address="10.0.0.5", port=2222, user="deploy", key_path="/keys/web1")

PARAMIKO = [
    error
    for module in (ssh_exception, pkey)
    for _, error in inspect.getmembers(module, inspect.isclass)
    if issubclass(error, Exception) and error.__module__ == module.__name__
]


def test_the_list_is_not_empty() -> None:
    """Otherwise the next test could not fail."""
    assert ssh_exception.SSHException in PARAMIKO
    assert len(PARAMIKO) > 10


@pytest.mark.parametrize("error", PARAMIKO)
def test_every_class_of_paramiko_stands_in_the_table(error: type[Exception]) -> None:
    """By itself: a new one must be thought about."""
    assert error in FAMILIES


def example(error: type[Exception]) -> Exception:
    """An instance of it."""
    if error is ssh_exception.ChannelException:
        return ssh_exception.ChannelException(2, "Connect failed")
    if error is ssh_exception.BadAuthenticationType:
        return ssh_exception.BadAuthenticationType("Bad authentication type", ["password"])
    if error is ssh_exception.PartialAuthentication:
        return ssh_exception.PartialAuthentication(["keyboard-interactive"])
    if error is ssh_exception.NoValidConnectionsError:
        return ssh_exception.NoValidConnectionsError({("10.0.0.5", 22): OSError("refused")})
    if error is ssh_exception.BadHostKeyException:
        key = ECDSAKey.generate()
        return ssh_exception.BadHostKeyException("web1", key, key)
    if error is ssh_exception.ProxyCommandFailure:
        return ssh_exception.ProxyCommandFailure("nc", "2")
    if error is pkey.UnknownKeyType:
        return pkey.UnknownKeyType(key_type="ssh-new", key_bytes=b"key")
    return error("what it said")


@pytest.mark.parametrize("error", list(FAMILIES))
def test_a_translated_error_names_the_host_the_stage_and_the_next_step(
    error: type[Exception],
) -> None:
    """In the family that the table says."""
    ours = translate(example(error), HOST, stage="connect")

    assert type(ours) is FAMILIES[error][0]
    assert ours.reason.startswith("web1 (deploy@10.0.0.5:2222): ")
    assert FAMILIES[error][1] in ours.reason
    assert ours.stage == "connect"
    assert command_line(ours.next_step) == "replan host check web1"


@pytest.mark.parametrize(
    ("error", "family", "said"),
    [
        (socket.gaierror(socket.EAI_NONAME, "not known"), Misconfigured, "unknown"),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), Transient, "name service"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), Transient, "nothing listens"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), Transient, "was lost"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), Transient, "no route to the host"),
        (OSError(errno.ENETUNREACH, "unreachable"), Transient, "no route to its network"),
        (TimeoutError("timed out"), Transient, "does not answer"),
        (ssh_exception.ChannelException(1, "prohibited"), Misconfigured, "not allow sessions"),
        (ssh_exception.ChannelException(4, "shortage"), Transient, "not open another session"),
        (RuntimeError("a bug in a library"), Transient, "a bug in a library"),
    ],
)
def test_what_an_error_carries_decides_too(
    error: Exception, family: type[ReplanError], said: str
) -> None:
    """The same class may be anybody's business."""
    ours = translate(error, HOST, stage="channel")

    assert type(ours) is family
    assert said in ours.reason


def test_our_own_errors_pass_through() -> None:
    """What has been translated once stays as it is."""
    ours = Transient("as it is", stage="connect")
    assert translate(ours, HOST, stage="execute") is ours
