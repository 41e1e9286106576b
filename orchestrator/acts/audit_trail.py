"""What a person may ask of the audit."""

from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.chain import Anchor, AuditEntry, ChainFault, parse_anchor
from orchestrator.access.kept_anchor import KeptAnchor
from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act


@dataclass(frozen=True, slots=True)
class Verification:
    """Where the chain ends, and its faults: none when it is intact.

    `kept` is the file of the anchor that it was checked against, if it has faults.
    """

    head: Anchor
    faults: tuple[ChainFault, ...]
    kept: str | None = None


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

    Without one, the anchor counts that the last check from this machine has kept. Raises Rejected
    when `anchor` is not a valid anchor, Misconfigured when the chain has no head.
    """
    server = caller.settings.server
    kept = None if server.database is None else KeptAnchor(server.data_dir, server.database)
    before = None if kept is None else kept.read()
    known = before if anchor is None else parse_anchor(anchor)
    head, faults = audit.verify(caller.database, known)
    if kept is not None and not faults:
        kept.write(head)
    by_kept = kept if faults and anchor is None and before is not None else None
    return Verification(head, tuple(faults), None if by_kept is None else str(by_kept.path))
