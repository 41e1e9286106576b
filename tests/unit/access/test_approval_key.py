"""The key that signs approvals: what a job of its owner's account can, and cannot, do with it."""

import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.access.approval_key import ApprovalKey
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import command_line
from shared.key_pair import read_public

DATA = b"an approval"


@dataclass
class Person:
    """Somebody at a terminal who knows a passphrase."""

    knows: str = "correct horse"
    chooses: str = "correct horse"
    asked: list[str] = field(default_factory=list)

    def current(self, path: Path) -> str | None:
        """Type the passphrase."""
        self.asked.append(f"current {path.name}")
        return self.knows

    def new(self, path: Path) -> str | None:
        """Choose one."""
        self.asked.append(f"new {path.name}")
        return self.chooses


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent of whoever runs the tests."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An ssh-agent of this test's own."""
    socket = tmp_path / "agent"
    with subprocess.Popen(("ssh-agent", "-D", "-a", str(socket)), stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline()  # it names its socket once that exists
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        yield socket
        run.terminate()


def verify(public: str, signature: bytes) -> None:
    read_public(public).verify(signature, DATA)


def add_to_agent(folder: Path, *options: str) -> None:
    """As a person does who typed the passphrase."""
    plain = folder / "plain"
    plain.write_bytes((folder / "approval-key").read_bytes())
    plain.chmod(0o600)
    words = ("-q", "-p", "-P", "correct horse", "-N", "", "-f", str(plain))
    subprocess.run(("ssh-keygen", *words), check=True, capture_output=True)
    subprocess.run(("ssh-add", *options, str(plain)), check=True, capture_output=True)
    plain.unlink()


def test_the_file_of_a_protected_key_is_of_no_use_without_its_passphrase(tmp_path: Path) -> None:
    """T33: a job reads the whole data folder, and still signs nothing."""
    public = ApprovalKey(tmp_path, Person()).public
    stolen = ApprovalKey(tmp_path)
    assert (stolen.public, stolen.protected) == (public, True)
    with pytest.raises(Misconfigured, match="no terminal to ask") as error:
        stolen.sign(DATA)
    step = command_line(error.value.next_step)
    assert step == f"ssh-add -c -t 10m {tmp_path / 'approval-key'}"
    with pytest.raises(Rejected, match="not the passphrase"):
        ApprovalKey(tmp_path, Person(knows="guess")).sign(DATA)


def test_who_knows_the_passphrase_signs_and_types_it_once_for_each_command(tmp_path: Path) -> None:
    person = Person()
    key = ApprovalKey(tmp_path, person)
    verify(key.public, key.sign(DATA))
    assert key.sign(DATA) == key.sign(DATA)
    assert person.asked == ["new approval-key", "current approval-key"]
    with pytest.raises(InvalidSignature):
        read_public(key.public).verify(key.sign(DATA), b"another")


def test_a_key_without_a_passphrase_asks_nobody(tmp_path: Path) -> None:
    for person in (None, Person(chooses="")):
        folder = tmp_path / str(person is None)
        key = ApprovalKey(folder, person)
        assert not key.protected
        verify(key.public, key.sign(DATA))
        assert (folder / "approval-key").stat().st_mode & 0o777 == 0o600


def test_a_passphrase_is_set_later_and_the_key_stays_the_same(tmp_path: Path) -> None:
    public = ApprovalKey(tmp_path).public
    key = ApprovalKey(tmp_path, Person())
    key.set_passphrase()
    assert key.protected
    assert ApprovalKey(tmp_path).public == public
    with pytest.raises(Misconfigured, match="no terminal"):
        ApprovalKey(tmp_path).sign(DATA)
    verify(public, ApprovalKey(tmp_path, Person()).sign(DATA))
    with pytest.raises(Misconfigured, match="no terminal"):
        ApprovalKey(tmp_path).set_passphrase()


def test_the_key_of_an_older_version_goes_on_signing(tmp_path: Path) -> None:
    old = Ed25519PrivateKey.generate()
    path = tmp_path / "approval-key"
    path.write_bytes(b64encode(old.private_bytes_raw()) + b"\n")
    path.chmod(0o600)
    key = ApprovalKey(tmp_path, Person())
    assert b64decode(key.public) == old.public_key().public_bytes_raw()
    verify(key.public, key.sign(DATA))
    key.set_passphrase()
    assert key.protected
    verify(key.public, ApprovalKey(tmp_path, Person()).sign(DATA))


@pytest.mark.parametrize("protected", [True, False])
def test_the_public_half_is_that_of_the_key_whatever_lies_beside_it(
    tmp_path: Path, protected: bool
) -> None:
    public = ApprovalKey(tmp_path, Person() if protected else None).public
    foreign = ApprovalKey(tmp_path / "other").public
    (tmp_path / "approval-key.pub").write_text(foreign)
    assert ApprovalKey(tmp_path).public == public
    assert (tmp_path / "approval-key.pub").read_text().strip() == public


def test_an_agent_signs_while_it_holds_the_key(tmp_path: Path, agent: Path) -> None:
    folder = tmp_path / "data"
    public = ApprovalKey(folder, Person()).public
    assert agent.exists()
    with pytest.raises(Misconfigured, match="no terminal"):
        ApprovalKey(folder).sign(DATA)
    add_to_agent(folder, "-t", "60")
    verify(public, ApprovalKey(folder).sign(DATA))
    (folder / "approval-key").unlink()
    away = ApprovalKey(folder)
    assert (away.public, away.protected) == (public, True)
    verify(public, away.sign(DATA))


def test_who_is_asked_by_the_agent_can_refuse(
    tmp_path: Path, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ssh-add -c`: a job that finds the socket signs nothing behind a person's back."""
    folder = tmp_path / "data"
    ApprovalKey(folder, Person())
    assert agent.exists()
    add_to_agent(folder, "-c")
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(Rejected, match="your ssh-agent did not sign"):
        ApprovalKey(folder).sign(DATA)


def test_an_agent_that_is_gone_is_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nothing"))
    person = Person()
    verify(ApprovalKey(tmp_path, person).public, ApprovalKey(tmp_path, person).sign(DATA))


@pytest.mark.parametrize("text", ["", "nonsense", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
def test_what_is_not_a_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "approval-key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(Misconfigured, match="not a valid key"):
        ApprovalKey(tmp_path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    ApprovalKey(tmp_path, Person())
    (tmp_path / "approval-key").chmod(0o640)
    with pytest.raises(Misconfigured, match="readable by nobody else"):
        ApprovalKey(tmp_path)
