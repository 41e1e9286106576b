"""The patch store: bundles under their SHA-256, written once and never changed (S2.32-S2.35)."""

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from shared.deliveries.backend import SHA256, STAGE, Backend
from shared.deliveries.bucket import Bucket
from shared.deliveries.bundle import digest, unpack
from shared.deliveries.folder import Folder
from shared.deliveries.in_toto import canonical
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import Blank, NextStep
from shared.domain.patch_store import (
    LEAST_AGE,
    Condition,
    Entry,
    GcPolicy,
    GcReport,
    Stored,
    Verification,
)
from shared.settings.server import BUCKET

OBJECT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class PatchStore:
    """A delivery is immutable (S2.83): what is stored has exactly the bytes of its name."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @classmethod
    def open(cls, place: str) -> "PatchStore":
        """The store in a folder, or in the bucket of an `s3://…` address. Nothing is read yet.

        Raises Misconfigured for an address that is not valid, or a library that is missing.
        """
        if "://" not in place:
            return cls(Folder(Path(place)))
        found = BUCKET.fullmatch(place)
        if found is None:
            raise Misconfigured(
                "delivery_store is not valid: it is a folder, or s3://BUCKET/PREFIX",
                stage="config",
                next_step=NextStep.of("config show", "delivery_store"),
            )
        return cls(Bucket(found["bucket"], (found["prefix"] or "").strip("/")))

    def put(self, data: bytes) -> Stored:
        """Store a bundle; storing it again changes nothing (S2.32).

        Raises Rejected for what is not a bundle, Misconfigured for what the operator has to put
        right (a full disk, a bundle that was changed in the store), Unavailable.
        """
        unpack(data)
        sha256 = digest(data)
        there = self._backend.create(sha256, data)
        if there is not None and there != data:
            raise Misconfigured(
                f"{self._backend.uri(sha256)} was changed: it is not the bundle of that name any "
                "more. Move it away, and store the bundle again",
                stage=STAGE,
                next_step=NextStep.of("store verify", sha256),
            )
        return Stored(self._backend.uri(sha256), sha256, len(data))

    def attest(self, tree: str, envelope: Mapping[str, Any]) -> str:
        """Store a signed attestation about a git tree beside the bundles; returns where it is.

        Whoever verifies from outside finds it by that tree. Storing it again changes nothing.
        Raises Rejected for what is not the id of a tree; Misconfigured and Unavailable as `put`.
        """
        if not OBJECT.fullmatch(tree):
            raise Rejected(f"{tree!r:.80} is not the id of a tree", stage=STAGE)
        data = canonical(envelope) + b"\n"
        return self._backend.attest(tree, digest(data), data)

    def get(self, sha256: str) -> bytes:
        """The bundle of that name, verified (S2.33).

        Raises Rejected when it is absent or was changed, or for what is not a SHA-256;
        Misconfigured and Unavailable as `put`.
        """
        verification, data = self._look(sha256)
        if data is None:
            what = {
                Condition.ABSENT: "is not in the store",
                Condition.CHANGED: "was changed in the store",
            }[verification.condition]
            raise Rejected(
                f"the bundle {sha256} {what}: {verification.uri}",
                stage=STAGE,
                next_step=NextStep.of("store verify", sha256),
            )
        return data

    def verify(self, sha256: str) -> Verification:
        """Whether the bundle of that name is there, unchanged (S2.34). Raises what `get` raises."""
        return self._look(sha256)[0]

    def entries(self) -> Iterator[Entry]:
        """Every bundle, in the order of their names; nothing is verified."""
        return self._backend.entries()

    def gc(self, policy: GcPolicy) -> GcReport:
        """Remove bundles that nothing needs (S2.35); raises Rejected for an age that is too small.

        A bundle that is stored again meanwhile counts as new, and stays.
        """
        if policy.age < LEAST_AGE:
            raise Rejected(
                f"every bundle stays for {LEAST_AGE:g} seconds, and {policy.age:g} are fewer",
                stage="input",
                next_step=NextStep.of("store gc", help=True),
            )
        before = time.time() - policy.age
        referred = frozenset(policy.referred)
        removed: list[Entry] = []
        kept = young = 0
        for entry in self.entries():
            if entry.sha256 in referred:
                kept += 1
            elif entry.stored_at < before and self._goes(entry, before, policy):
                removed.append(entry)
            else:
                young += 1
        return GcReport(
            applied=policy.apply,
            removed=tuple(removed),
            freed=sum(entry.size for entry in removed),
            leftovers=self._backend.leftovers(before, remove=policy.apply),
            referred=kept,
            young=young,
        )

    def _goes(self, entry: Entry, before: float, policy: GcPolicy) -> bool:
        return not policy.apply or self._backend.remove(entry.sha256, before)

    def _look(self, sha256: str) -> tuple[Verification, bytes | None]:
        """What is there under a name, and its bytes if they are those of the name."""
        if not SHA256.fullmatch(sha256):
            raise Rejected(
                f"{sha256!r:.80} is not a SHA-256: it has 64 hexadecimal digits, in lower case",
                stage="input",
                next_step=NextStep.of("store get", Blank("SHA256")),
            )
        data = self._backend.read(sha256)
        good = data is not None and digest(data) == sha256
        absent = Condition.ABSENT if data is None else Condition.CHANGED
        condition = Condition.GOOD if good else absent
        found = Verification(self._backend.uri(sha256), sha256, condition)
        return found, data if good else None
