"""The port to where bundles are kept: a folder, or a bucket."""

import re
from collections.abc import Iterator
from typing import Final, Protocol

from shared.domain.patch_store import Entry

STAGE: Final = "store"

SHA256: Final = re.compile(r"[0-9a-f]{64}")


def key(sha256: str) -> str:
    """The name of a bundle in a store."""
    return f"sha256/{sha256[:2]}/{sha256}"


def attestation_key(tree: str, sha256: str) -> str:
    """The name of an attestation: by the git tree that it is about, and its own SHA-256."""
    return f"attestations/{tree}/{sha256}.json"


class Backend(Protocol):
    """Keeps bytes under their SHA-256.

    Every method raises Misconfigured for what the operator has to put right, such as a full disk,
    and Unavailable where the other side is away.
    """

    def uri(self, sha256: str) -> str:
        """Where a bundle is, or would be."""

    def create(self, sha256: str, data: bytes) -> bytes | None:
        """Store bytes unless there are some: those are returned, and count as stored now.

        Nobody ever reads a part of them, whatever dies, and they are durable on return.
        """

    def attest(self, tree: str, sha256: str, data: bytes) -> str:
        """Store an attestation beside the bundles, and durably; returns where it is."""

    def read(self, sha256: str) -> bytes | None:
        """The bytes; None if there are none. Of what is larger than a bundle, only a part."""

    def entries(self) -> Iterator[Entry]:
        """Every bundle, in the order of their names."""

    def remove(self, sha256: str, before: float) -> bool:
        """Remove a bundle that was stored before then; False if it was not, or is gone."""

    def leftovers(self, before: float, *, remove: bool) -> int:
        """How many files of writers there are that died before then; `remove` removes them."""
