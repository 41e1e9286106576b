"""Publishes what a pass has left in its workspace: examined, packed, stored, and on record."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shared.deliveries.bundle import Bundle, Meta, Stats, pack
from shared.deliveries.store import PatchStore
from shared.domain.attempt import AgentResult, Attempt
from shared.domain.budget import Ending
from shared.domain.delivery import DeliveryStatus, Published, Rejection, Trust
from shared.domain.finding_words import explain_person, explain_refusal
from shared.domain.findings import Effect, Finding, GateRule
from shared.domain.jobs import Job
from shared.domain.plan import SubtaskKind
from shared.domain.target import Repository
from shared.secrets.masking import Masker
from shared.store import deliveries, jobs
from shared.store.database import Database
from shared.store.deliveries import Delivery
from shared.wire import from_json, to_json
from workers.agents.ports import Workbench
from workers.agents.workspaces.values import Snapshot
from workers.deliveries.claims import claim_of
from workers.deliveries.gates.examine import examine
from workers.deliveries.gates.values import (
    Claim,
    GateInput,
    GatePolicy,
    GateReport,
    folders_to_list,
    needs_links,
    oids_to_read,
)
from workers.deliveries.gates.whole import is_oversized
from workers.deliveries.line import Line
from workers.deliveries.values import Difference
from workers.passes.ports import PassOrder, PassResult
from workers.sessions import SessionBrief

STAGE = "publish"

_BY_SOMEBODY = frozenset({Rejection.PERSON, Rejection.REVIEWER})


@dataclass(frozen=True, slots=True)
class Work:
    """What a pass that is done has to deliver, and where it lies."""

    job: Job
    order: PassOrder
    session: SessionBrief
    repository: Repository
    bench: Workbench
    line: Line


class Publisher:
    """Publishes the work of passes.

    Whoever drives a pass on publishes the same: the first one to write it down is the one that
    counts, and a bundle that nobody refers to is removed from the store one day.
    """

    def __init__(self, database: Database, store: Callable[[], PatchStore]) -> None:
        """`store` opens the store at its first use."""
        self._database = database
        self._store = store

    def publish(
        self, work: Work, result: PassResult, masker: Masker
    ) -> tuple[PassResult, Published | None]:
        """The result of a pass that was done, and what it published.

        A pass of commands that changed nothing has nothing to deliver. Where a gate refuses the
        delivery, the pass ends so. Raises what the line and the store raise.
        """
        job = work.job
        known = self._known(job)
        if known is None:
            known = self._make(work, masker)
        if known is None:
            return result, None
        if known.status is DeliveryStatus.REFUSED:
            repeated = any(each.rule is GateRule.SAME_AGAIN for each in _findings(known))
            refused = replace(result, ending=Ending.REFUSED, reason=known.reason)
            return replace(refused, repeated=repeated), None
        return result, _published(known, work)

    def _known(self, job: Job) -> Delivery | None:
        assert job.run_id is not None and job.step is not None  # noqa: S101, PT018 - a pass has both
        with self._database.autocommit() as connection:
            return deliveries.of_pass(connection, job.run_id, job.step, job.revision, job.pass_no)

    def _make(self, work: Work, masker: Masker) -> Delivery | None:
        snapshot = work.bench.snapshot("delivery", whole=True)
        limit = GatePolicy.of(work.repository).limits.patch
        found = work.line.publish(work.bench.base, snapshot.tree, limit=limit)
        if not found.changes and not _by_agent(work.order):
            return None
        claim = _claim(work, snapshot.tree, found)
        report = self._examine(work, snapshot, found, claim, masker)
        delivery = self._delivery(work, snapshot.tree, found, report, claim)
        if report.refusals:
            delivery = replace(
                delivery,
                status=DeliveryStatus.REFUSED,
                rejection=Rejection.GATE,
                reason=explain_refusal(report.refusals),
            )
        else:
            delivery = self._stored(delivery, self._bundle(work, delivery, found.patch))
        with self._database.begin() as connection:
            jobs.require_held(connection, work.job.claim, STAGE)
            deliveries.add(connection, delivery)
        return self._known(work.job)

    def _examine(
        self, work: Work, snapshot: Snapshot, found: Difference, claim: Claim, masker: Masker
    ) -> GateReport:
        base = work.bench.base
        given = GateInput(
            base=base,
            tree=snapshot.tree,
            changes=found.changes,
            left_out=snapshot.left_out,
            patch=found.size,
            claim=claim,
            from_head=self._head(work) in {None, base},
            policy=GatePolicy.of(work.repository, _checks(work.order)),
            rejected=self._why_rejected(work, snapshot.tree),
            masker=masker,
        )
        return examine(read_for_gates(work.line, given, base))

    def _why_rejected(self, work: Work, tree: str) -> str | None:
        """Why a person or a reviewer has rejected the same work of these commands; None if nobody.

        An agent is told why, and may have more to say about the same work.
        """
        order = work.order
        if _by_agent(order):
            return None
        with self._database.autocommit() as connection:
            back = deliveries.sent_back(connection, order.run_id, order.step.ordinal)
        same = (order.revision, work.bench.base, tree)
        reasons = (
            each.reason
            for each in back
            if each.rejection in _BY_SOMEBODY and (each.revision, each.base, each.tree) == same
        )
        return next(reasons, None)

    def _head(self, work: Work) -> str | None:
        """The head that the session has now; None where it began, as every work in it did then."""
        with self._database.autocommit() as connection:
            return deliveries.head_of(connection, work.order.run_id).head

    def _delivery(
        self, work: Work, tree: str, found: Difference, report: GateReport, claim: Claim
    ) -> Delivery:
        """The delivery before it is stored; one that never is keeps the digest of its place."""
        order, last = work.order, _last_of_agent(work.order)
        place = f"{order.run_id}-{order.step.ordinal}-{order.revision}-{order.pass_no}"
        return Delivery(
            run_id=order.run_id,
            step=order.step.ordinal,
            revision=order.revision,
            pass_no=order.pass_no,
            attempt_key=None if last is None else last.key,
            runner=_runner_of(last),
            issue_id=work.session.issue,
            sha256=hashlib.sha256(place.encode()).hexdigest(),
            uri="",
            size=found.size,
            base=work.bench.base,
            tree=tree,
            deliverables=claim.value if isinstance(claim.value, dict) else {},
            stats={
                "files": len(found.changes),
                "added": found.added,
                "deleted": found.deleted,
                "paths": [each.name for each in found.changes],
            },
            findings=tuple(to_json(each) for each in report.findings),
            trust=report.trust,
            created_at=datetime.now(UTC).replace(microsecond=0),
        )

    def _bundle(self, work: Work, delivery: Delivery, patch: bytes) -> bytes:
        order, ref = work.order, work.session.ref
        stats, of_pass = delivery.stats, f"-r{order.revision}-p{order.pass_no}"
        return pack(
            Bundle(
                Meta(
                    project_id=work.repository.name,
                    session_id=str(ref),
                    attempt_id=f"{ref.of_task()}.{order.step.ordinal}{of_pass}@{ref.target}",
                    issue_id=delivery.issue_id,
                    base_sha=delivery.base,
                    result_tree=delivery.tree,
                    created_at=delivery.created_at,
                ),
                patch,
                dict(delivery.deliverables),
                Stats(stats["files"], stats["added"], stats["deleted"]),
            )
        )

    def _stored(self, delivery: Delivery, data: bytes) -> Delivery:
        stored = self._store().put(data)
        return replace(delivery, sha256=stored.sha256, uri=stored.uri, size=stored.size)


def _published(delivery: Delivery, work: Work) -> Published:
    findings = _findings(delivery)
    allowed = delivery.trust is Trust.PERSON
    reviewed = delivery.trust is Trust.REVIEW or (allowed and bool(work.repository.reviewers))
    for_person = [each for each in findings if each.effect is Effect.PERSON]
    return Published(
        delivery.sha256,
        reviewed=reviewed or work.order.policy.project,
        allowed=allowed,
        why=explain_person(for_person),
    )


def _findings(delivery: Delivery) -> list[Finding]:
    return [from_json(Finding, each) for each in delivery.findings]


def read_for_gates(line: Line, given: GateInput, head: str) -> GateInput:
    """What the gates need besides the differences: contents, names and history of the line.

    Of a delivery that is oversized, nothing is read.
    """
    if is_oversized(given):
        return given
    limits, changes = given.policy.limits, given.changes
    return replace(
        given,
        contents=line.contents(oids_to_read(changes, limits), limits.file),
        paths=line.entries(given.tree, folders_to_list(changes)),
        links=line.links(given.base) if needs_links(changes) else {},
        reverted=line.reverted(head, changes),
    )


def _claim(work: Work, tree: str, found: Difference) -> Claim:
    """What the author says about the delivery, in this pass; replan says it where it cannot."""
    order = work.order
    return claim_of(
        work.session.issue,
        [each for each in order.earlier if each.pass_no == order.pass_no],
        tree=tree,
        changed=tuple(dict.fromkeys(each.name for each in found.changes)),
        title=order.step.title,
        checks=tuple(dict.fromkeys((*_checks(order), *work.repository.checks))),
    )


def _checks(order: PassOrder) -> tuple[str, ...]:
    return tuple(subtask.check for subtask in order.subtasks if subtask.check)


def _by_agent(order: PassOrder) -> bool:
    return any(subtask.kind is SubtaskKind.AGENT for subtask in order.subtasks)


def _last_of_agent(order: PassOrder) -> Attempt | None:
    """The attempt of an agent that worked last on what is delivered."""
    worked = (a for a in reversed(order.earlier) if isinstance(a.result, AgentResult))
    return next(worked, None)


def _runner_of(attempt: Attempt | None) -> str | None:
    result = None if attempt is None else attempt.result
    return result.runner if isinstance(result, AgentResult) else None
