"""What a person may do with the store of deliveries: put, get and verify bundles, and clean up."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from orchestrator.views.referred_bundles import referred_bundles
from shared.deliveries.bundle import unpack
from shared.deliveries.store import PatchStore
from shared.domain.patch_store import Condition, GcPolicy, GcReport, Stored, Verification
from shared.wire import to_json


@dataclass(frozen=True, slots=True)
class Fetched:
    """A bundle from the store, and what it says; `patch` counts the bytes of its patch."""

    sha256: str
    data: bytes
    patch: int
    meta: Mapping[str, Any]
    stats: Mapping[str, int] | None
    deliverables: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoreVerification:
    """How many bundles were verified, and those that are not as they were stored."""

    verified: int
    faults: tuple[Verification, ...]


@act("store.put")
def put(caller: Caller, data: bytes) -> Stored:
    """Store a bundle, unless it is there. Raises Rejected, Misconfigured and Unavailable."""
    store = _store(caller)
    database = caller.database
    stored = store.put(data)
    with database.begin() as connection:
        audit.record(connection, caller.actor, Act("store.put", stored.sha256))
    return stored


@act("store.get")
def get(caller: Caller, sha256: str) -> Fetched:
    """A bundle, verified. Raises Rejected, Misconfigured and Unavailable."""
    data = _store(caller).get(sha256)
    bundle = unpack(data)
    return Fetched(
        sha256=sha256,
        data=data,
        patch=len(bundle.patch),
        meta=to_json(bundle.meta),
        stats=None if bundle.stats is None else asdict(bundle.stats),
        deliverables=bundle.deliverables,
    )


@act("store.verify")
def verify(caller: Caller, sha256: str | None = None) -> StoreVerification:
    """Whether a bundle is there, unchanged; or each in the store, and each of a delivery.

    Raises Rejected for what is not a SHA-256, Misconfigured and Unavailable.
    """
    store = _store(caller)
    names = {sha256} if sha256 is not None else {e.sha256 for e in store.entries()}
    if sha256 is None:
        names |= _referred(caller)
    found = map(store.verify, sorted(names))
    faults = tuple(each for each in found if each.condition is not Condition.GOOD)
    return StoreVerification(len(names), faults)


@act("store.gc")
def gc(caller: Caller, *, age: float, apply: bool = False) -> GcReport:
    """Remove bundles of no delivery, stored more than `age` seconds ago; or say which would go.

    Raises Rejected for an age that is too small, Misconfigured and Unavailable.
    """
    store = _store(caller)
    policy = GcPolicy(_referred(caller), age)
    foretold = store.gc(policy)
    if not apply:
        return foretold
    # Entered before, so that nothing goes without an entry.
    details = {"bundles": len(foretold.removed), "bytes": foretold.freed, "age": age}
    with caller.database.begin() as connection:
        audit.record(connection, caller.actor, Act("store.gc", "store", details))
    return store.gc(replace(policy, apply=True))


def _store(caller: Caller) -> PatchStore:
    return PatchStore.open(caller.settings.server.delivery_place)


def _referred(caller: Caller) -> frozenset[str]:
    with caller.database.begin() as connection:
        return referred_bundles(connection)
