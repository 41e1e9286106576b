"""What became of the deliveries of a simulated world, and what must always be true of them.

A commit is a pure function of the head and of the delivery, as git makes it: so the head of a
session is known from what was accepted, in its order.
"""

from dataclasses import dataclass, field

from orchestrator.core import decisions as d
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.core.state import RunState, StepState, WaitsFor
from shared.domain.delivery import (
    Acceptance,
    CheckpointEnding,
    CheckpointPhase,
    DeliveryStatus,
    Line,
    Stage,
)
from shared.domain.delivery_facts import CheckpointFinished
from shared.domain.jobs import JobKind
from shared.domain.task import StepPhase
from tests.unit.core.deliveries import bundle, commit_of

Delivery = tuple[int, str]
"""The run, and the name of the bundle."""

Jobs = dict[JobKind, int]
"""The open jobs of a step or of a run, and how often in a row each was postponed."""

MAY_BECOME = {
    DeliveryStatus.PUBLISHED: {
        DeliveryStatus.ACCEPTED,
        DeliveryStatus.REJECTED,
        DeliveryStatus.WITHDRAWN,
    },
    DeliveryStatus.ACCEPTED: {DeliveryStatus.CHECKPOINTED},
}
SETTLED = {DeliveryStatus.CHECKPOINTED, DeliveryStatus.REJECTED, DeliveryStatus.WITHDRAWN}
AT_WORK = {StepPhase.READY, StepPhase.RUNNING}
BUSY = AT_WORK | {StepPhase.DETAILING, StepPhase.REPLANNING, StepPhase.ACCEPTING}


@dataclass
class Ledger:
    """The deliveries of all runs: whose they are, where they stand, and the heads they lead to."""

    status: dict[Delivery, DeliveryStatus] = field(default_factory=dict)
    steps: dict[Delivery, int] = field(default_factory=dict)
    heads: dict[int, str] = field(default_factory=dict)
    accepted: dict[int, list[str]] = field(default_factory=dict)
    verified: dict[int, int] = field(default_factory=dict)

    def publish(self, run: int, step: int, pass_no: int) -> str:
        """A worker writes down what a pass has published; whoever drives it on finds it there."""
        name = bundle(run, step, pass_no)
        status = self.status.setdefault((run, name), DeliveryStatus.PUBLISHED)
        assert status is DeliveryStatus.PUBLISHED, f"{name} is published and was {status}"
        self.steps[run, name] = step
        return name

    def settle(self, run: int, told: d.SettleDelivery) -> None:
        """Write down what became of a delivery."""
        if told.delivery is not None:
            self._move((run, told.delivery), told.status)
            if told.status is DeliveryStatus.ACCEPTED:
                self._accept(run, told.delivery, told.commit)
            return
        before = {
            DeliveryStatus.CHECKPOINTED: DeliveryStatus.ACCEPTED,
            DeliveryStatus.WITHDRAWN: DeliveryStatus.PUBLISHED,
        }[told.status]
        for each, step in self.steps.items():
            if (each[0], step, self.status[each]) == (run, told.step, before):
                self._move(each, told.status)

    def _move(self, delivery: Delivery, status: DeliveryStatus) -> None:
        before = self.status[delivery]
        assert status in MAY_BECOME.get(before, ()), f"{delivery} was {before}, and is {status}"
        self.status[delivery] = status

    def _accept(self, run: int, delivery: str, commit: str | None) -> None:
        expected = commit_of(self.heads.get(run), delivery)
        assert commit == expected, f"{delivery} was accepted on another head than judged"
        self.heads[run] = expected
        self.accepted.setdefault(run, []).append(delivery)

    def adopt(self, run: int, before: RunState, fact: CheckpointFinished) -> None:
        """Go on from what the remote has, if it is ahead of a session that is all published."""
        if fact.ending is not CheckpointEnding.COMPLETE:
            return
        self.verified[run] = fact.accepted
        if fact.accepted == before.accepted:
            self.heads[run] = fact.head

    # --- what must be true after each fact --------------------------------------------------------

    def check(self, run_id: int, before: RunState, after: RunState) -> None:
        """The state of a run says the same as its deliveries."""
        order = self.accepted.get(run_id, [])
        assert after.head == self.heads.get(run_id), "the head is not what was accepted"
        assert after.accepted == len(order)
        for ordinal, step in after.steps.items():
            old = before.steps.get(ordinal)
            published = bundle(run_id, ordinal, step.pass_no)
            if step.acceptance is not None:
                assert step.acceptance.published.delivery == published, "of an earlier pass"
                assert self.status[run_id, published] is DeliveryStatus.PUBLISHED
            if step.phase is StepPhase.ACCEPTED:
                assert self.status[run_id, published] is DeliveryStatus.ACCEPTED
                assert order[step.accepted_as - 1] == published
                if old is not None and old.phase is not StepPhase.ACCEPTED:
                    _check_turn(before, after, ordinal)
            if step.phase is StepPhase.DONE and (run_id, published) in self.status:
                told = self.status[run_id, published]
                here = {DeliveryStatus.CHECKPOINTED, DeliveryStatus.WITHDRAWN}
                assert told in here, "done, and not on the remote"
                assert step.accepted_as <= self.verified.get(run_id, 0), "done before the remote"
        for (run, name), status in self.status.items():
            if run == run_id and status is DeliveryStatus.PUBLISHED:
                step = after.steps[self.steps[run, name]]
                self._check_pending(step, name, run_id)

    def _check_pending(self, step: StepState, name: str, run_id: int) -> None:
        """What is neither accepted nor settled is on its way, or its pass has not ended."""
        assert bundle(run_id, step.ordinal, step.pass_no) == name, f"{name} is forgotten"
        driven_on = step.unfinished or step.waits_for is WaitsFor.RECORDS
        pending = step.acceptance is not None or step.phase in AT_WORK or driven_on
        assert pending, f"{name} is forgotten"

    def check_at_rest(
        self, run: RunState, jobs: dict[int | None, Jobs], asked: set[InterventionKind]
    ) -> None:
        """With no fact on its way, whatever can be judged, reviewed or published is."""
        queue = [s for s in run.steps.values() if _queued(s)]
        ahead: tuple[str, ...] = ()
        for position, step in enumerate(sorted(queue, key=lambda s: _way(s).place)):
            acceptance = _way(step)
            assert acceptance.place > 0
            if position < run.policy.accept_at_once:
                assert acceptance.line == Line(run.head, ahead), "judged behind another line"
                assert acceptance.judgement is None or position > 0, "green at the front, and waits"
            ahead = (*ahead, acceptance.published.delivery)
        for step in run.steps.values():
            if step.phase is StepPhase.ACCEPTING:
                _check_accepting(step, jobs.get(step.ordinal, {}))
        self._check_checkpoint(run, jobs.get(None, {}), asked)

    def _check_checkpoint(self, run: RunState, jobs: Jobs, asked: set[InterventionKind]) -> None:
        present = run.checkpoint
        under_way = present.phase is CheckpointPhase.UNDER_WAY
        assert jobs == ({JobKind.CHECKPOINT: present.postponed} if under_way else {})
        waits = present.phase in {CheckpointPhase.WAITING, CheckpointPhase.HELD}
        assert waits is (InterventionKind.CHECKPOINT in asked), "asked about another checkpoint"
        unpublished = any(s.phase is StepPhase.ACCEPTED for s in run.steps.values())
        if unpublished and not any(s.phase in BUSY for s in run.steps.values()):
            assert under_way or waits, "accepted, and nobody publishes it"
        if present.phase is CheckpointPhase.IDLE:
            assert not present.wanted, "wanted, and nobody publishes it"

    def check_ended(self, run_id: int, run: RunState) -> None:
        """Every delivery has come to its end; what was accepted and is not published, cancelled."""
        for (of, name), status in self.status.items():
            if of != run_id or status in SETTLED:
                continue
            step = run.steps[self.steps[of, name]]
            cancelled = step.phase is StepPhase.CANCELLED and status is DeliveryStatus.ACCEPTED
            given_up = step.phase is StepPhase.ERROR and step.unfinished
            assert cancelled or given_up, f"{name} is {status} for ever"


def _check_turn(before: RunState, after: RunState, ordinal: int) -> None:
    """Nothing that stood before it in the queue still stands there."""
    was = before.steps[ordinal].acceptance
    place = was.place if was is not None and was.place else None
    for other, step in after.steps.items():
        then = before.steps.get(other)
        if _queued(step) and then is not None and _queued(then):
            assert place is not None, "accepted before all that waited"
            assert _way(then).place > place, "accepted out of turn"


def _check_accepting(step: StepState, jobs: Jobs) -> None:
    acceptance = _way(step)
    kind = JobKind.REVIEW if acceptance.stage is Stage.REVIEWING else JobKind.ACCEPT
    awaits = acceptance.awaits_judgement or kind is JobKind.REVIEW
    assert jobs == ({kind: step.postponed} if awaits else {}), "its failure would go unheard"
    if not awaits:
        assert acceptance.stage is Stage.QUEUED, "a delivery that nobody looks at"


def _queued(step: StepState) -> bool:
    way = step.acceptance
    return step.phase is StepPhase.ACCEPTING and way is not None and way.stage is Stage.QUEUED


def _way(step: StepState) -> Acceptance:
    assert step.acceptance is not None
    return step.acceptance
