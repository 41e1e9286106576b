"""Ed25519 keys in a folder, that their first user creates, and their public halves beside them."""

import os
import stat
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand

if TYPE_CHECKING:  # slow to load, and few commands sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


def read_public(text: str) -> "Ed25519PublicKey":
    """The public key that base64 stands for. Raises ValueError if it is not one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(b64decode(text.strip(), validate=True))


class KeyFile:
    """The file `name` in a folder, readable by its owner only, and `name.pub` beside it.

    `purpose` says what its key does (`signs approvals`), `stage` when. Whatever raises OSError is
    for the caller to translate with `unusable`.
    """

    def __init__(self, folder: Path, name: str, *, purpose: str, stage: str) -> None:
        self.path = folder / name
        self.public_path = folder / f"{name}.pub"
        self._purpose, self._stage = purpose, stage

    def create(self, content: bytes) -> None:
        """Create it atomically; of two processes that do so at once, both use the first key."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._write_beside(content)
        try:
            os.link(fresh, self.path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()

    def replace(self, content: bytes) -> None:
        """Put another content in its place, atomically."""
        self._write_beside(content).replace(self.path)

    def read(self) -> bytes:
        """Its content. Raises Misconfigured when others may read it."""
        status = self.path.stat()
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise self.unusable("it must be yours, and readable by nobody else")
        return self.path.read_bytes()

    def publish(self, public: str) -> None:
        """Write the public half where everybody may read it."""
        text = public.encode("ascii")
        if not self.public_path.exists() or self.public_path.read_bytes().strip() != text:
            fresh = self._write_beside(text)
            fresh.chmod(0o644)
            fresh.replace(self.public_path)

    def unusable(self, why: str) -> Misconfigured:
        """The error for a key that cannot be created or read."""
        return Misconfigured(
            f"the key that {self._purpose}, {self.path}, cannot be used: {why}",
            stage=self._stage,
            next_step=ShellCommand(f"ls -l {self.path}"),
        )

    def _write_beside(self, text: bytes) -> Path:
        """A new file beside the key that only its owner can read."""
        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}-", dir=self.path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.rstrip() + b"\n")
        return Path(name)


class KeyPair:
    """The key `name` in a folder, readable by its owner only, and `name.pub`; both in base64.

    `purpose` says what it does (`signs approvals`), `stage` when. Raises Misconfigured when it
    cannot be created or read, or when others may read it.
    """

    def __init__(self, folder: Path, name: str, *, purpose: str, stage: str) -> None:
        self._file = KeyFile(folder, name, purpose=purpose, stage=stage)
        try:
            if not self._file.path.exists():
                self._make()
            self.private = self._read()
            self._file.publish(self.public)
        except OSError as error:
            raise self._file.unusable(str(error.strerror)) from error

    @property
    def public(self) -> str:
        """The public half, in base64."""
        return b64encode(self.private.public_key().public_bytes_raw()).decode("ascii")

    def _make(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._file.create(b64encode(Ed25519PrivateKey.generate().private_bytes_raw()))

    def _read(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        try:
            return Ed25519PrivateKey.from_private_bytes(b64decode(self._file.read()))
        except ValueError as error:
            raise self._file.unusable("it is not a valid key") from error
