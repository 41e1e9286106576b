"""What a person may ask of the audit."""

from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.chain import Anchor, AuditEntry, ChainFault, parse_anchor
from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act


@dataclass(frozen=True, slots=True)
class Verification:
    """Where the chain ends, and its faults: none when it is intact."""

    head: Anchor
    faults: tuple[ChainFault, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of the audit, newest first; older ones follow after `next`, unless it is None."""

    links: tuple[AuditEntry, ...]
    next: int | None = None


@act("audit.list")
def entries(
    caller: Caller,
    *,
    limit: int,
    actor: str | None = None,
    ref: str | None = None,
    around: int | None = None,
    after: int | None = None,
) -> Entries:
    """What people did, newest first; see `audit.newest`."""
    with caller.database.begin() as connection:
        found = audit.newest(
            connection, limit=limit + 1, actor=actor, ref=ref, around=around, after=after
        )
    links = found[:limit]
    return Entries(links, next=links[-1].seq if len(found) > limit else None)


@act("audit.verify")
def verify(caller: Caller, anchor: str | None = None) -> Verification:
    """Whether the audit is unchanged since it was written, and since its `anchor` was noted.

    Raises Rejected when `anchor` is not a valid anchor, Misconfigured when the chain has no head.
    """
    known = None if anchor is None else parse_anchor(anchor)
    head, faults = audit.verify(caller.database, known)
    return Verification(head, tuple(faults))
