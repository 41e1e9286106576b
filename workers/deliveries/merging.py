"""Puts a delivery behind a line, and examines what comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.deliveries.bundle import unpack
from shared.deliveries.store import PatchStore
from shared.domain.delivery import Rejection
from shared.domain.errors import Rejected, Transient
from shared.domain.finding_words import explain_refusal
from shared.domain.findings import Finding, GateRule
from shared.domain.next_step import NextStep
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.store.deliveries import StoredDelivery
from shared.wire import from_json
from workers.deliveries.commits import commit_of
from workers.deliveries.gates.examine import examine
from workers.deliveries.gates.values import GateInput, GatePolicy
from workers.deliveries.line import Line
from workers.deliveries.publisher import read_for_gates
from workers.deliveries.values import Conflict, Merged

STAGE = "accept"


@dataclass(frozen=True, slots=True)
class Merge:
    """A delivery behind its line: the commit that it becomes there, or why it becomes none.

    `onto` is the commit before it. `conflicts` are the files that could not be merged.
    """

    onto: str
    commit: str | None = None
    tree: str | None = None
    rejection: Rejection | None = None
    reason: str = ""
    conflicts: tuple[str, ...] = ()


def merge_behind(
    line: Line,
    head: str,
    deliveries: Sequence[StoredDelivery],
    titles: Mapping[int, str],
    *,
    store: PatchStore,
    repository: Repository,
    masker: Masker,
    session: str,
    step_checks: tuple[str, ...] = (),
) -> Merge:
    """Merge the last of the deliveries behind the head and the others, from what is stored.

    The merge is examined once more, with what the repository says now, and with the step's own
    checks (`step_checks`). Raises Rejected for a bundle that is not the delivery, Transient if
    those before it cannot be merged.
    """
    sizes = [_applied(line, each, store) for each in deliveries]
    own = deliveries[-1]
    commits = [commit_of(each, titles[each.step]) for each in deliveries]
    merged = line.merge(head, commits, session=session)
    before = [entry.commit for entry in merged.line if entry.delivery != own.sha256]
    onto = before[-1] if before else head
    if isinstance(merged, Conflict):
        if merged.delivery != own.sha256:
            raise Transient("a delivery before it cannot be merged", stage=STAGE)
        files = ", ".join(merged.paths)
        reason = f"it conflicts with what was accepted before, in {files}"
        return Merge(onto, None, None, Rejection.CONFLICT, reason, merged.paths)
    given = GateInput(
        base=onto,
        tree=merged.tree,
        changes=merged.changes,
        patch=sizes[-1],
        from_head=_was_allowed_to_revert(own),
        policy=GatePolicy.of(repository, step_checks),
        masker=masker,
    )
    return _examined(line, merged, given)


def _examined(line: Line, merged: Merged, given: GateInput) -> Merge:
    refused = examine(read_for_gates(line, given, given.base)).refusals
    return Merge(
        given.base,
        merged.commit,
        merged.tree,
        Rejection.GATE if refused else None,
        explain_refusal(refused),
    )


def _was_allowed_to_revert(delivery: StoredDelivery) -> bool:
    """Whether it was published although it brings old files back: a person has allowed it then."""
    findings = (from_json(Finding, each) for each in delivery.findings)
    return any(each.rule is GateRule.REVERTED for each in findings)


def _applied(line: Line, delivery: StoredDelivery, store: PatchStore) -> int:
    """See that the host has exactly what the stored bundle says (S2.30); the size of its patch."""
    bundle = unpack(store.get(delivery.sha256))
    meta = bundle.meta
    if (meta.base_sha, meta.result_tree) != (delivery.base, delivery.tree):
        raise Rejected(
            f"the bundle {delivery.sha256} is not the delivery that is on record",
            stage=STAGE,
            next_step=NextStep.of("store verify", delivery.sha256),
        )
    line.apply(meta, bundle.patch)
    return len(bundle.patch)
