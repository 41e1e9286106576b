"""Every way that a small queue can go, not only those that chance takes.

Three steps publish: one needs checks alone, one a reviewer, one a person. Whatever can be said of
them in any order is said, until nothing more can be; the promises hold in every state on the way.
"""

from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pytest

from orchestrator.core.decisions import Enqueue, SettleDelivery
from orchestrator.core.machine import advance
from orchestrator.core.state import RunState, StepState, WaitsFor
from shared.domain import facts as f
from shared.domain.budget import Ending
from shared.domain.delivery import (
    CheckpointEnding,
    CheckpointPhase,
    DeliveryStatus,
    Line,
    Published,
    Stage,
    Trust,
)
from shared.domain.jobs import JobKind
from shared.domain.task import RunPhase, StepPhase
from tests.unit.core.deliveries import RED, bundle, commit_of, judged, session
from tests.unit.core.given import step

TRUST = {1: Trust.CHECKS, 2: Trust.REVIEW, 3: Trust.PERSON}
AT_ONCE = (1, 3)


def _place(at: StepState) -> tuple[int, int, int, str]:
    return at.ordinal, at.revision, at.pass_no, bundle(1, at.ordinal, at.pass_no)


def _obliging(run: RunState) -> Iterator[f.RunFact]:
    """What can be said now that brings a delivery on its way."""
    for at in run.steps.values():
        place = _place(at)
        if at.phase is StepPhase.READY:
            trust = TRUST[at.ordinal]
            reviewed, allowed = trust is Trust.REVIEW, trust is Trust.PERSON
            published = Published(place[3], reviewed=reviewed, allowed=allowed)
            yield f.PassFinished(*place[:3], Ending.DONE, 0, published=published)
        if at.waits_for is WaitsFor.ACCEPTANCE:
            yield f.DeliveryAllowed(*place, 7, "ann")
        if at.waits_for is WaitsFor.DECISION:
            yield f.ResumeRequested(at.ordinal)
        if at.phase is StepPhase.ACCEPTING and at.acceptance is not None:
            if at.acceptance.awaits_judgement:
                assert at.acceptance.line is not None
                green = judged(at.acceptance.line, place[3])
                yield f.DeliveryJudged(*place, at.acceptance.turn, green)
            if at.acceptance.stage is Stage.REVIEWING:
                yield f.DeliveryReviewed(*place, approved=True, reviewer="model")
    if run.checkpoint.phase is CheckpointPhase.UNDER_WAY:
        yield _checkpoint(run, CheckpointEnding.COMPLETE)
    if run.checkpoint.phase is CheckpointPhase.WAITING:
        yield f.CheckpointRequested("ann")


def _adverse(run: RunState) -> Iterator[f.RunFact]:
    """What can be said now against a delivery; jobs fail and checkpoints are refused once."""
    for at in run.steps.values():
        place = _place(at)
        if at.waits_for is WaitsFor.ACCEPTANCE:
            yield f.DeliveryRejected(*place, 7, "ann")
        if at.phase is not StepPhase.ACCEPTING or at.acceptance is None:
            continue
        kind = JobKind.REVIEW if at.acceptance.stage is Stage.REVIEWING else JobKind.ACCEPT
        if kind is JobKind.REVIEW:
            yield f.DeliveryReviewed(*place, approved=False, reviewer="model")
        elif at.acceptance.awaits_judgement:
            yield f.DeliveryJudged(*place, at.acceptance.turn, RED)
        if at.acceptance.awaits_judgement and at.acceptance.turn == 1:
            yield f.JobFailed(kind, *place[:3], "misconfigured", "accept", "no key")
    if run.checkpoint.phase is CheckpointPhase.UNDER_WAY and run.checkpoint.number == 1:
        yield _checkpoint(run, CheckpointEnding.REFUSED)


def _checkpoint(run: RunState, ending: CheckpointEnding) -> f.CheckpointFinished:
    assert run.head is not None
    number = run.checkpoint.number
    return f.CheckpointFinished(number, run.checkpoint.accepted, run.head, ending)


@cache
def _reached(at_once: int) -> tuple[RunState, ...]:
    """Every state that any order of these facts leads to; on the way, every decision is checked."""
    begun = session(step(1), step(2), step(3), max_delivery_attempts=1, accept_at_once=at_once)
    seen: dict[str, RunState] = {repr(begun.state): begun.state}
    ahead = deque([begun.state])
    while ahead:
        before = ahead.popleft()
        for fact in (*_obliging(before), *_adverse(before)):
            after, decisions = advance(before, fact)
            assert advance(after, fact)[0] == after, f"{fact} told twice"
            assert after != before, f"{fact} leads nowhere"
            settled = [d for d in decisions if isinstance(d, SettleDelivery)]
            assert len(settled) == len({d.step for d in settled}), "settled twice at once"
            asked = [(d.kind, d.step) for d in decisions if isinstance(d, Enqueue)]
            assert len(asked) == len(set(asked)), "asked twice at once"
            _check_accepted(before, after, settled)
            if (name := repr(after)) not in seen:
                seen[name] = after
                ahead.append(after)
    return tuple(seen.values())


def _check_accepted(before: RunState, after: RunState, settled: list[SettleDelivery]) -> None:
    """What is accepted moves the head by exactly its own commit, and is not accepted again."""
    head = before.head
    for told in settled:
        if told.status is DeliveryStatus.ACCEPTED:
            assert told.delivery is not None
            head = commit_of(head, told.delivery)
            assert told.commit == head
            assert before.steps[told.step].accepted_as == 0
    assert after.head == head


def _queue(run: RunState) -> list[StepState]:
    """The steps whose deliveries stand in the queue, the first one first."""
    placed = {
        s.acceptance.place: s
        for s in run.steps.values()
        if s.acceptance is not None and s.phase is StepPhase.ACCEPTING and s.acceptance.place
    }
    assert 0 not in placed
    return [placed[place] for place in sorted(placed)]


@pytest.mark.parametrize("at_once", AT_ONCE)
def test_the_head_is_what_was_accepted_in_its_order(at_once: int) -> None:
    for run in _reached(at_once):
        accepted = sorted((s for s in run.steps.values() if s.accepted_as), key=_number)
        assert [s.accepted_as for s in accepted] == [*range(1, run.accepted + 1)]
        head = None
        for at in accepted:
            head = commit_of(head, bundle(1, at.ordinal, at.pass_no))
        assert run.head == head


def _number(at: StepState) -> int:
    return at.accepted_as


@pytest.mark.parametrize("at_once", AT_ONCE)
def test_whatever_can_be_judged_is_judged_behind_the_line_that_will_exist(at_once: int) -> None:
    for run in _reached(at_once):
        queue = [s.acceptance for s in _queue(run) if s.acceptance is not None]
        stages = [s.acceptance.stage for s in run.steps.values() if s.acceptance is not None]
        waiting = sum(s.waits_for is WaitsFor.DECISION for s in run.steps.values())
        assert len(queue) <= stages.count(Stage.QUEUED) <= len(queue) + waiting
        for position, each in enumerate(queue[:at_once]):
            ahead = tuple(other.published.delivery for other in queue[:position])
            assert each.line == Line(run.head, ahead)
            assert each.judgement is None or position > 0, "judged at the front, and it waits"


@pytest.mark.parametrize("at_once", AT_ONCE)
def test_nothing_stands_still_and_all_that_is_not_rejected_comes_through(at_once: int) -> None:
    """Where nothing more can be said, it is on the remote, or it waits for what is worked on."""
    ended = set()
    for run in _reached(at_once):
        if next(_obliging(run), None) is not None:
            continue
        phases = {s.phase for s in run.steps.values()}
        ended.add(tuple(s.phase for s in run.steps.values()))
        if StepPhase.REPLANNING in phases:
            assert phases <= {StepPhase.REPLANNING, StepPhase.ACCEPTED, StepPhase.DONE}
        else:
            assert run.phase is RunPhase.DONE
    rejected = [
        {n for n, phase in enumerate(phases, 1) if phase is StepPhase.REPLANNING}
        for phases in ended
    ]
    assert all({*some} in rejected for many in range(4) for some in combinations(TRUST, many))


@pytest.mark.parametrize("at_once", AT_ONCE)
def test_from_everywhere_all_come_through_that_nobody_rejects(at_once: int) -> None:
    for run in _reached(at_once)[::7]:
        kept = run
        while (fact := next(_obliging(kept), None)) is not None:
            kept, _ = advance(kept, fact)
        assert _back(kept) == _back(run) | _doomed(run)


def _back(run: RunState) -> set[int]:
    return {s.ordinal for s in run.steps.values() if s.phase is StepPhase.REPLANNING}


def _doomed(run: RunState) -> set[int]:
    """The first that is red behind what will be before it; those behind it are judged anew."""
    for at in _queue(run):
        assert at.acceptance is not None
        if at.acceptance.judgement is not None and at.acceptance.judgement.rejection is not None:
            return {at.ordinal}
    return set()
