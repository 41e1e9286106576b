"""An Ed25519 key in a folder, that its first user creates, and its public half beside it."""

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


class KeyPair:
    """The key `name` in a folder, readable by its owner only, and `name.pub`; both in base64.

    `purpose` says what it does (`signs approvals`), `stage` when. Raises Misconfigured when it
    cannot be created or read, or when others may read it.
    """

    def __init__(self, folder: Path, name: str, *, purpose: str, stage: str) -> None:
        self._path = folder / name
        self._purpose, self._stage = purpose, stage
        try:
            if not self._path.exists():
                self._make()
            self.private = self._read()
            self._publish()
        except OSError as error:
            raise self._unusable(str(error.strerror)) from error

    @property
    def public(self) -> str:
        """The public half, in base64."""
        return b64encode(self.private.public_key().public_bytes_raw()).decode("ascii")

    def _make(self) -> None:
        """Create the key atomically; two processes that do so at once both use the first key."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._write_beside(b64encode(Ed25519PrivateKey.generate().private_bytes_raw()))
        try:
            os.link(fresh, self._path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()

    def _publish(self) -> None:
        path, text = self._path.with_name(f"{self._path.name}.pub"), self.public.encode("ascii")
        if not path.exists() or path.read_bytes().strip() != text:
            fresh = self._write_beside(text)
            fresh.chmod(0o644)
            fresh.replace(path)

    def _write_beside(self, text: bytes) -> Path:
        """A new file beside the key that only its owner can read."""
        descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}-", dir=self._path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text + b"\n")
        return Path(name)

    def _read(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        status = self._path.stat()
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise self._unusable("it must be yours, and readable by nobody else")
        try:
            return Ed25519PrivateKey.from_private_bytes(b64decode(self._path.read_bytes()))
        except ValueError as error:
            raise self._unusable("it is not a valid key") from error

    def _unusable(self, why: str) -> Misconfigured:
        return Misconfigured(
            f"the key that {self._purpose}, {self._path}, cannot be used: {why}",
            stage=self._stage,
            next_step=ShellCommand(f"ls -l {self._path}"),
        )
