"""Checks signatures: an approval is accepted if a key that this executor knows has signed it."""

from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from shared.domain.approval import PUBLIC_KEY, Approval, statement
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.key_pair import read_public


class Signatures:
    """Verifies approvals with the keys in the settings, or else with the one in the data folder.

    The latter counts as it was when it was first read: what replaces it later needs a restart. An
    executor that knows no key accepts no approval. Raises Misconfigured for a setting that is not a
    valid key.
    """

    def __init__(self, keys: Sequence[str], folder: Path) -> None:
        self._known = [_key(text, "approval_keys") for text in keys]
        self._file = folder / PUBLIC_KEY

    def believes(self, task: int, approval: Approval) -> bool:
        """Whether a known key has signed exactly this approval of that task."""
        if not self._known:
            self._known = self._own()
        return any(_is_signed(key, task, approval) for key in self._known)

    def _own(self) -> list[Ed25519PublicKey]:
        """The key of this machine, which may have been created since the start."""
        try:
            text = self._file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise _key_error(str(self._file), str(error)) from error
        return [_key(text, str(self._file))]


def _is_signed(key: Ed25519PublicKey, task: int, approval: Approval) -> bool:
    try:
        key.verify(b64decode(approval.signature), statement(task, approval))
    except (InvalidSignature, ValueError):
        return False
    return True


def _key(text: str, where: str) -> Ed25519PublicKey:
    try:
        return read_public(text)
    except ValueError as error:
        raise _key_error(where, f"{text!r} is not a valid public key") from error


def _key_error(where: str, why: str) -> Misconfigured:
    return Misconfigured(
        f"the keys that sign approvals cannot be read from {where}: {why}",
        stage="config",
        next_step=NextStep.of("intervention key"),
    )
