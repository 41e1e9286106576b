"""The key with which people on this machine sign their approvals and what tasks proved.

It stays on this machine: executors know only its public half, and neither the database nor the
broker ever sees it.
"""

from base64 import b64encode
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.access.approval_key import ApprovalKey, Passphrases
from shared.domain.approval import Approval, statement


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The public half of the key, and whether its private half is `protected` by a passphrase."""

    public_key: str
    protected: bool


class Signer:
    """Signs with the key in a folder; see `ApprovalKey`, also for what is raised."""

    def __init__(self, folder: Path, passphrases: Passphrases | None = None) -> None:
        self._key = ApprovalKey(folder, passphrases)

    @property
    def public(self) -> str:
        """The public half, as `approval_keys` of an executor takes it."""
        return self._key.public

    @property
    def protected(self) -> bool:
        """Whether signing takes a passphrase, or an ssh-agent."""
        return self._key.protected

    def set_passphrase(self) -> None:
        """Ask for a new passphrase of the key."""
        self._key.set_passphrase()

    def sign(self, task: int, approval: Approval) -> Approval:
        """The approval, signed for that task."""
        signature = b64encode(self._key.sign(statement(task, approval))).decode("ascii")
        return replace(approval, signature=signature)

    def attest(self, statement: dict[str, Any]) -> str:
        """The in-toto statement in a signed envelope, as JSON."""
        from orchestrator.export import attestation  # it reads views, which need SQLAlchemy

        return attestation.sign(statement, self._key.private)
