"""Gates about a delivery as a whole: what is said of it, its base, and its size."""

from collections.abc import Iterator

from shared.contracts.deliverables import validate_deliverables
from shared.domain.errors import Rejected
from shared.domain.findings import Effect, Finding, GateRule
from shared.domain.workspace import Why
from workers.deliveries.gates.values import GateInput


def find_invalid_deliverables(given: GateInput) -> Iterator[Finding]:
    """Deliverables that are invalid, another issue's, or about other files (S2.40-S2.46)."""
    if given.claim is None or not given.changes:
        return
    changed = [change.name for change in given.changes]
    try:
        validate_deliverables(
            given.claim.value, issue_id=given.claim.issue_id, changed_files=changed
        )
    except Rejected as error:
        yield Finding(GateRule.DELIVERABLES, Effect.REFUSE, detail=error.reason)


def find_no_op(given: GateInput) -> Iterator[Finding]:
    """A delivery that changes nothing (S2.72); a merge may, where others did the same before."""
    if given.claim is not None and not given.changes:
        yield Finding(GateRule.NO_OP, Effect.REFUSE)


def find_same_again(given: GateInput) -> Iterator[Finding]:
    """A change that somebody has rejected before; nobody is asked about it twice."""
    if given.rejected is not None:
        yield Finding(GateRule.SAME_AGAIN, Effect.REFUSE, detail=given.rejected)


def find_unknown_base(given: GateInput) -> Iterator[Finding]:
    """A base that the session does not have."""
    if not given.base_known:
        yield Finding(GateRule.BASE, Effect.REFUSE, detail=given.base)


def find_left_out(given: GateInput) -> Iterator[Finding]:
    """Files that the author has, and that nobody else would get.

    Ignored files and empty folders are nobody's business.
    """
    for each in given.left_out:
        if each.why is Why.LARGE_OR_UNREADABLE:
            yield Finding(GateRule.LEFT_OUT, Effect.REFUSE, each.path)


def is_oversized(given: GateInput) -> bool:
    """Whether the delivery is refused as too large as a whole: nothing of it is read then."""
    limits = given.policy.limits
    return len(given.changes) > limits.files or given.patch > limits.patch


def find_excess(given: GateInput) -> Iterator[Finding]:
    """A file, a patch or a number of files beyond the limits."""
    limits = given.policy.limits
    if len(given.changes) > limits.files:
        count = len(given.changes)
        yield Finding(GateRule.FILE_COUNT, Effect.REFUSE, count=count, bound=limits.files)
    if given.patch > limits.patch:
        yield Finding(GateRule.PATCH_SIZE, Effect.REFUSE, count=given.patch, bound=limits.patch)
    for change in given.changes:
        if change.size > limits.file:
            yield Finding(
                GateRule.FILE_SIZE,
                Effect.REFUSE,
                change.path,
                count=change.size,
                bound=limits.file,
            )


def find_unread(given: GateInput) -> Iterator[Finding]:
    """Files whose content, now or before, nobody could examine.

    New ones that are too large are found as that.
    """
    most = given.policy.limits.file
    for change in given.changes:
        new = change.has_new_blob and change.size <= most and given.new(change) is None
        old = change.has_old_blob and change.old_size <= most and given.old(change) is None
        if new or old:
            yield Finding(GateRule.UNREAD, Effect.PERSON, change.path)
