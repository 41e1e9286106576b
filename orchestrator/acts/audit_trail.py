"""What a person may ask of the audit."""

from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.chain import Anchor, Fault, Link, parse_anchor
from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act


@dataclass(frozen=True, slots=True)
class Verification:
    """Where the chain ends, and what is wrong with it: nothing when it is whole."""

    head: Anchor
    faults: tuple[Fault, ...]


@act("audit.list")
def entries(
    caller: Caller,
    *,
    limit: int,
    actor: str | None = None,
    ref: str | None = None,
    around: int | None = None,
) -> tuple[Link, ...]:
    """What people did, the newest first; see `audit.newest`."""
    with caller.database.begin() as connection:
        return audit.newest(connection, limit=limit, actor=actor, ref=ref, around=around)


@act("audit.verify")
def verify(caller: Caller, anchor: str | None = None) -> Verification:
    """Whether the audit is as it was written, and as it was when its `anchor` was noted.

    Raises Rejected for what is not an anchor, Misconfigured when the chain has lost its head.
    """
    known = None if anchor is None else parse_anchor(anchor)
    head, faults = audit.verify(caller.database, known)
    return Verification(head, tuple(faults))
