"""The key with which people on this machine sign their approvals and what tasks proved.

It stays on this machine: executors know only its public half, and neither the database nor the
broker ever sees it.
"""

import os
import stat
import tempfile
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.domain.approval import PUBLIC_KEY, Approval, statement
from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand

if TYPE_CHECKING:  # slow to load, and few commands sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PRIVATE_KEY = "approval-key"


class Signer:
    """Signs with the key in a folder; the first to ask creates it, readable by its owner only.

    Raises Misconfigured when the key cannot be created or read, or when others may read it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / PRIVATE_KEY
        try:
            if not self._path.exists():
                self._make()
            self._key = self._read()
            self._publish()
        except OSError as error:
            raise self._unusable(str(error.strerror)) from error

    @property
    def public(self) -> str:
        """The public half, as `approval_keys` of an executor takes it."""
        return b64encode(self._key.public_key().public_bytes_raw()).decode("ascii")

    def sign(self, task: int, approval: Approval) -> Approval:
        """The approval, signed for that task."""
        signature = b64encode(self._key.sign(statement(task, approval))).decode("ascii")
        return replace(approval, signature=signature)

    def attest(self, statement: dict[str, Any]) -> str:
        """The in-toto statement in a signed envelope, as JSON."""
        from orchestrator.export import attestation  # it reads views, which need SQLAlchemy

        return attestation.sign(statement, self._key)

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
        path, text = self._path.with_name(PUBLIC_KEY), self.public.encode("ascii")
        if not path.exists() or path.read_bytes().strip() != text:
            fresh = self._write_beside(text)
            fresh.chmod(0o644)
            fresh.replace(path)

    def _write_beside(self, text: bytes) -> Path:
        """A new file beside the key that only its owner can read."""
        descriptor, name = tempfile.mkstemp(prefix=".approval-", dir=self._path.parent)
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
            f"the key that signs approvals, {self._path}, cannot be used: {why}",
            stage="approve",
            next_step=ShellCommand(f"ls -l {self._path}"),
        )
