"""The private key that signs approvals: in OpenSSH's format, with a passphrase if one was chosen.

Without a passphrase, whatever runs as its owner can sign. With one, only who knows it can, or who
may use the ssh-agent that holds the key.
"""

from base64 import b64decode, b64encode
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from orchestrator.access import ssh_agent
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import NextStep, ShellCommand
from shared.key_pair import KeyFile

if TYPE_CHECKING:  # slow to load, and few commands sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE_KEY: Final = "approval-key"
_HEADER: Final = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_MAGIC: Final = b"openssh-key-v1\0"
_KIND: Final = "ssh-ed25519"


class Passphrases(Protocol):
    """Asks a person; every answer is None where there is no terminal."""

    def current(self, path: Path) -> str | None:
        """The passphrase of the key."""
        ...

    def new(self, path: Path) -> str | None:
        """A passphrase for the key; empty for none."""
        ...


class Nobody:
    """There is nobody to ask (`Passphrases`)."""

    def current(self, path: Path) -> str | None:  # noqa: ARG002
        """None."""
        return None

    def new(self, path: Path) -> str | None:  # noqa: ARG002
        """None."""
        return None


class ApprovalKey:
    """The key in a folder; the first to ask creates it, readable by its owner only.

    A person at a terminal chooses its passphrase then. A folder with only the public half is for a
    key that an ssh-agent holds. Raises Misconfigured when the key cannot be created or read, or
    when others may read it.
    """

    def __init__(self, folder: Path, passphrases: Passphrases | None = None) -> None:
        self._ask = passphrases or Nobody()
        self._file = KeyFile(folder, PRIVATE_KEY, purpose="signs approvals", stage="approve")
        try:
            if not self._file.path.exists() and not self._is_in_agent():
                self._file.create(_written(_generate(), self._ask.new(self._file.path)))
            self.public = self._read_public()
            self._file.publish(self.public)
        except OSError as error:
            raise self._file.unusable(str(error.strerror)) from error

    @property
    def protected(self) -> bool:
        """Whether signing takes a passphrase, or an agent."""
        return self._open is None

    def sign(self, data: bytes) -> bytes:
        """The Ed25519 signature of the data.

        Raises Misconfigured where a passphrase is needed and nobody can be asked, and Rejected when
        it is wrong or the agent's owner refuses.
        """
        if self._open is None and (signature := ssh_agent.sign(self._raw_public, data)):
            return signature
        return self.private.sign(data)

    @cached_property
    def private(self) -> "Ed25519PrivateKey":
        """The private key, for which a person is asked if it is protected. Raises as `sign`."""
        if self._open is not None:
            return self._open
        path = self._file.path
        given = self._ask.current(path) if path.exists() else None
        if given is None:
            raise Misconfigured(
                f"the key that signs approvals, {path}, has a passphrase, and there is no terminal "
                "to ask for it: use one, or let your ssh-agent hold the key for some minutes",
                stage="approve",
                next_step=ShellCommand(f"ssh-add -c -t 10m {path}"),
            )
        found = _load(self._file.read(), given)
        if found is None:
            raise Rejected(
                f"this is not the passphrase of {path}",
                stage="approve",
                next_step=NextStep.of("intervention list"),
            )
        return found

    def set_passphrase(self) -> None:
        """Ask for a new passphrase and write the same key with it. Raises as `sign`."""
        key, path = self.private, self._file.path
        chosen = self._ask.new(path)
        if chosen is None:
            raise Misconfigured(
                f"there is no terminal to ask for the new passphrase of {path}",
                stage="approve",
                next_step=ShellCommand(f"ssh-keygen -p -f {path}"),
            )
        self._file.replace(_written(key, chosen))
        self.__dict__.pop("_open", None)

    @property
    def _raw_public(self) -> bytes:
        return b64decode(self.public)

    @cached_property
    def _open(self) -> "Ed25519PrivateKey | None":
        """The private key if it has no passphrase."""
        if not self._file.path.exists():
            return None
        try:
            return _load(self._file.read(), None)
        except ValueError as error:
            raise self._file.unusable("it is not a valid key") from error

    def _is_in_agent(self) -> bool:
        try:
            public = b64decode(self._file.public_path.read_bytes(), validate=False)
        except (FileNotFoundError, ValueError):
            return False
        return ssh_agent.holds(public)

    def _read_public(self) -> str:
        """From the private key's own file, whoever may have changed the other one."""
        if not self._file.path.exists():
            return self._file.public_path.read_text(encoding="ascii").strip()
        if self._open is not None:
            raw = self._open.public_key().public_bytes_raw()
        else:
            raw = _public_of(self._file.read())
        return b64encode(raw).decode("ascii")


def _generate() -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def _written(key: "Ed25519PrivateKey", passphrase: str | None) -> bytes:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    protection = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, protection)


def _load(text: bytes, passphrase: str | None) -> "Ed25519PrivateKey | None":
    """The key; None if it has a passphrase and this is not the one. Raises ValueError for others.

    Older versions wrote the bare key in base64.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    if not text.startswith(_HEADER):
        return Ed25519PrivateKey.from_private_bytes(b64decode(text))
    try:
        found = load_ssh_private_key(text, None if passphrase is None else passphrase.encode())
    except TypeError:
        return None  # it has a passphrase
    except ValueError:
        if passphrase is None:
            raise
        return None
    if not isinstance(found, Ed25519PrivateKey):
        raise ValueError("not an Ed25519 key")  # noqa: TRY004 - like every key that is not valid
    return found


def _public_of(text: bytes) -> bytes:
    """The public half, which is in clear in a file with a passphrase. Raises ValueError."""
    body = b64decode(b"".join(text.split(b"\n")[1:-2]))
    if not body.startswith(_MAGIC):
        raise ValueError("not an OpenSSH key")
    rest = body[len(_MAGIC) :]
    for _ in ("cipher", "derivation", "its options"):
        _, rest = _field(rest)
    blob, _ = _field(rest[4:])
    kind, blob = _field(blob)
    raw, _ = _field(blob)
    if kind.decode(errors="replace") != _KIND:
        raise ValueError("not an Ed25519 key")
    return raw


def _field(data: bytes) -> tuple[bytes, bytes]:
    """A string with its length before it (RFC 4251), and what follows."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < end:
        raise ValueError("cut off")
    return data[4:end], data[end:]
