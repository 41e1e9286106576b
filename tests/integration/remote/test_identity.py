"""Who the host is, and who we are: nothing is taken on trust."""

import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from tests.integration.remote.hosts import eventually, ssh_host
from tests.services.sshd import SshServer, SshServers
from workers.shells.ports import Call
from workers.shells.remote.hostkeys import parse_host_key
from workers.shells.remote.ssh import SshConnections

PrivateKey = Ed25519PrivateKey | rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

REPLACE = "replan host add web1 --replace-host-key"


def generated(kind: str) -> PrivateKey:
    """A new private key."""
    if kind == "ssh-rsa":
        return rsa.generate_private_key(65537, 2048)
    if kind.startswith("ecdsa"):
        return ec.generate_private_key(ec.SECP256R1())
    return Ed25519PrivateKey.generate()


def written(path: Path, key: PrivateKey, *, passphrase: str | None = None) -> str:
    """Write a private key as ssh-keygen does; its public line."""
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption))
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


# --- the host's key -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256"])
def test_a_host_is_known_by_the_type_of_key_it_was_enrolled_with(
    sshd_factory: SshServers, connections: SshConnections, tmp_path: Path, kind: str
) -> None:
    """Whatever else it offers, the pinned type is the one that is asked for."""
    line = written(tmp_path / "host_key", generated(kind))
    server = sshd_factory(f"HostKey {tmp_path / 'host_key'}")

    shell = connections.shell(ssh_host(server, host_key=f"{line} a comment"))

    assert shell.run(Call("true", 20)).ok


def test_a_changed_host_key_stops_everything(
    sshd_factory: SshServers, connections: SshConnections
) -> None:
    """Both fingerprints are shown, nobody logs in, and the way on is a person's decision."""
    server = sshd_factory()
    enrolled = server.host_public_key
    server.change_host_key()
    server.restart()

    with pytest.raises(Misconfigured) as caught:
        connections.shell(ssh_host(server, host_key=enrolled))

    assert caught.value.stage == "host_key"
    assert command_line(caught.value.next_step) == REPLACE
    assert parse_host_key(enrolled).fingerprint in caught.value.reason
    assert parse_host_key(server.host_public_key).fingerprint in caught.value.reason
    assert "Accepted" not in server.log.read_text()


def test_a_host_that_no_longer_has_the_pinned_type_has_changed(
    sshd: SshServer, tmp_path: Path
) -> None:
    """Another type is never accepted in its place; the one it offers now is shown."""
    line = written(tmp_path / "host_key", generated("ssh-rsa"))
    before = set(threading.enumerate())

    with closing(SshConnections()) as connections, pytest.raises(Misconfigured) as caught:
        connections.shell(ssh_host(sshd, host_key=line))

    assert eventually(lambda: not set(threading.enumerate()) - before)
    assert caught.value.stage == "host_key"
    assert command_line(caught.value.next_step) == REPLACE
    assert parse_host_key(line).fingerprint in caught.value.reason
    assert parse_host_key(sshd.host_public_key).fingerprint in caught.value.reason


@pytest.mark.parametrize(
    "host_key",
    [
        None,
        "",
        "ssh-ed25519",
        "ssh-ed25519 ???",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIA==",
        "ssh-xmss@openssh.com AAAAFHNzaC14bXNzQG9wZW5zc2guY29t",
    ],
)
def test_a_host_without_a_usable_host_key_is_not_trusted(
    sshd: SshServer, connections: SshConnections, host_key: str | None
) -> None:
    """There is no first time: enrolment comes before."""
    with pytest.raises(Misconfigured) as caught:
        connections.shell(ssh_host(sshd, host_key=host_key))

    assert caught.value.stage == "host_key"
    assert command_line(caught.value.next_step) == REPLACE


# --- our key --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ssh-rsa", "ecdsa-sha2-nistp256"])
def test_other_types_of_client_keys_work(
    sshd_factory: SshServers, connections: SshConnections, tmp_path: Path, kind: str
) -> None:
    """ed25519 is usual, the others log in as well."""
    server = sshd_factory()
    line = written(tmp_path / "client_key", generated(kind))
    with (server.folder / "authorized_keys").open("a") as keys:
        keys.write(f"{line}\n")

    shell = connections.shell(ssh_host(server, key_path=str(tmp_path / "client_key")))

    assert shell.run(Call("true", 20)).ok


def test_a_key_that_is_not_let_in_is_named(sshd: SshServer, connections: SshConnections) -> None:
    """With its fingerprint, and the command that lets it in."""
    with pytest.raises(Misconfigured, match="refused the key") as caught:
        connections.shell(ssh_host(sshd, key_path=str(sshd.other_key_path)))

    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(sshd.other_key_path)],
        capture_output=True,
        check=True,
        text=True,
    )
    assert caught.value.stage == "authenticate"
    assert shown.stdout.split()[1] in caught.value.reason
    assert command_line(caught.value.next_step) == (
        f"ssh-copy-id -i {sshd.other_key_path}.pub -p {sshd.port} {sshd.user}@{sshd.host}"
    )


def test_an_account_that_does_not_exist_is_refused(
    sshd: SshServer, connections: SshConnections
) -> None:
    """The host does not say which of the two was wrong, and neither do we."""
    with pytest.raises(Misconfigured, match="nobody-of-that-name") as caught:
        connections.shell(ssh_host(sshd, user="nobody-of-that-name"))

    assert caught.value.stage == "authenticate"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("PubkeyAuthentication no", "PasswordAuthentication yes"), "does not let this account"),
        (("AuthenticationMethods publickey,publickey",), "more than a key"),
    ],
)
def test_a_host_that_wants_something_else_than_a_key(
    sshd_factory: SshServers, connections: SshConnections, lines: tuple[str, ...], said: str
) -> None:
    """Passwords and second factors are a person's business."""
    server = sshd_factory(*lines)

    with pytest.raises(Misconfigured, match=said) as caught:
        connections.shell(ssh_host(server))

    assert caught.value.stage == "authenticate"


def test_a_key_file_with_a_passphrase_says_so(
    sshd: SshServer, connections: SshConnections, tmp_path: Path
) -> None:
    """A worker has nobody to ask."""
    written(tmp_path / "locked", generated("ssh-ed25519"), passphrase="secret")

    with pytest.raises(Misconfigured, match="passphrase") as caught:
        connections.shell(ssh_host(sshd, key_path=str(tmp_path / "locked")))

    assert caught.value.stage == "authenticate"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing", "does not exist"),
        ("folder", "cannot be read"),
        ("text", "not a usable private key"),
    ],
)
def test_a_key_file_that_is_none_says_so(
    sshd: SshServer, connections: SshConnections, tmp_path: Path, name: str, said: str
) -> None:
    """Before anything is sent to the host."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("-----BEGIN NOTHING-----\n")

    with pytest.raises(Misconfigured, match=said) as caught:
        connections.shell(ssh_host(sshd, key_path=str(tmp_path / name)))

    assert caught.value.stage == "authenticate"
    assert str(tmp_path / name) in caught.value.reason


@pytest.mark.parametrize("missing", ["user", "key_path"])
def test_a_host_without_an_account_is_the_operators_business(
    sshd: SshServer, connections: SshConnections, missing: str
) -> None:
    """No user is guessed, no key is looked for."""
    with pytest.raises(Misconfigured) as caught:
        connections.shell(ssh_host(sshd, **{missing: None}))

    assert caught.value.stage == "authenticate"
