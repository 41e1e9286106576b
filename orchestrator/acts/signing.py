"""The key with which people on this machine sign their approvals and what tasks proved.

It stays on this machine: executors know only its public half, and neither the database nor the
broker ever sees it.
"""

from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

from shared.domain.approval import Approval, statement
from shared.key_pair import KeyPair

PRIVATE_KEY = "approval-key"


class Signer:
    """Signs with the key in a folder; the first to ask creates it, readable by its owner only.

    Raises Misconfigured when the key cannot be created or read, or when others may read it.
    """

    def __init__(self, folder: Path) -> None:
        self._key = KeyPair(folder, PRIVATE_KEY, purpose="signs approvals", stage="approve")

    @property
    def public(self) -> str:
        """The public half, as `approval_keys` of an executor takes it."""
        return self._key.public

    def sign(self, task: int, approval: Approval) -> Approval:
        """The approval, signed for that task."""
        signature = b64encode(self._key.private.sign(statement(task, approval))).decode("ascii")
        return replace(approval, signature=signature)

    def attest(self, statement: dict[str, Any]) -> str:
        """The in-toto statement in a signed envelope, as JSON."""
        from orchestrator.export import attestation  # it reads views, which need SQLAlchemy

        return attestation.sign(statement, self._key.private)
