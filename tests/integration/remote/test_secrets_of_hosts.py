"""What a host's entry only names: revealed where it is needed, and nothing that lies about."""

import shutil
import socket
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
)

from shared.domain.errors import Misconfigured
from tests.integration.remote.hosts import ssh_host
from tests.services.sshd import SshServer, SshServers
from workers.shells.ports import Call
from workers.shells.remote.connections import HostConnections

VAULT = {"KEY_WORD": "correct horse"}


def reveal(name: str) -> str:
    """A vault."""
    if name not in VAULT:
        raise Misconfigured(f"there is no secret {name}", stage="secrets")
    return VAULT[name]


def locked(path: Path) -> str:
    """Write a key that takes a passphrase; its public line."""
    key = Ed25519PrivateKey.generate()
    encryption = BestAvailableEncryption(VAULT["KEY_WORD"].encode())
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption))
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


@pytest.fixture
def guarded(sshd_factory: SshServers, tmp_path: Path) -> SshServer:
    """A server that lets in who has the locked key."""
    server = sshd_factory()
    (server.folder / "authorized_keys").write_text(locked(tmp_path / "locked") + "\n")
    return server


def test_a_passphrase_comes_from_the_vault(guarded: SshServer, tmp_path: Path) -> None:
    entry = {"key_path": str(tmp_path / "locked"), "passphrase": "${secret:KEY_WORD}"}
    with closing(HostConnections(reveal)) as connections:
        assert connections.shell(ssh_host(guarded, **entry)).run(Call("true", 20)).ok


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("${secret:other}", "there is no secret other"),
        ("correct horse", "must name a secret"),
        ("${secret:a b}", "must name a secret"),
    ],
)
def test_a_secret_that_is_not_there(
    guarded: SshServer, tmp_path: Path, reference: str, said: str
) -> None:
    entry = {"key_path": str(tmp_path / "locked"), "passphrase": reference}
    with closing(HostConnections(reveal)) as connections:
        with pytest.raises(Misconfigured, match=said) as caught:
            connections.shell(ssh_host(guarded, **entry))
        assert caught.value.stage == "secrets"
        assert "correct horse" not in caught.value.reason


def test_a_process_without_a_vault_says_so(guarded: SshServer, tmp_path: Path) -> None:
    entry = {"key_path": str(tmp_path / "locked"), "passphrase": "${secret:KEY_WORD}"}
    with (
        closing(HostConnections()) as connections,
        pytest.raises(Misconfigured, match="has no vault"),
    ):
        connections.shell(ssh_host(guarded, **entry))


def test_a_password_that_is_refused_is_not_told(sshd_factory: SshServers) -> None:
    server = sshd_factory("PasswordAuthentication yes")
    entry = {"key_path": None, "password": "${secret:KEY_WORD}"}
    with closing(HostConnections(reveal)) as connections:
        with pytest.raises(Misconfigured) as caught:
            connections.shell(ssh_host(server, **entry))
        assert caught.value.stage == "authenticate"
        assert "${secret:KEY_WORD}" in caught.value.reason
        assert "correct horse" not in caught.value.reason


def test_neither_an_agent_nor_the_keys_of_the_home_are_tried(
    sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right key lies where others would look, and an agent listens: nobody asks either."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    for name in ("id_ed25519", "id_rsa", "id_ecdsa"):
        shutil.copy(sshd.key_path, home / ".ssh" / name)
    (home / ".ssh/config").write_text(f"Host *\n  IdentityFile {sshd.key_path}\n")
    asked: list[bool] = []
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen()

        def listen() -> None:
            with suppress(OSError):
                while True:
                    agent.accept()[0].close()
                    asked.append(True)

        thread = threading.Thread(target=listen)
        thread.start()
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        with (
            closing(HostConnections()) as connections,
            pytest.raises(Misconfigured, match="refused the key"),
        ):
            connections.shell(ssh_host(sshd, key_path=str(sshd.other_key_path)))
        agent.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert asked == []
