"""A long queue of deliveries: each costs the same, and one that fails does not hold up the rest."""

from collections import Counter
from collections.abc import Iterable

import pytest

from orchestrator.core.decisions import Decision, Enqueue
from shared.domain.delivery import Acceptance
from shared.domain.jobs import JobKind
from shared.domain.task import StepPhase
from tests.unit.core.deliveries import RED, Session, commit_of, session
from tests.unit.core.given import step


def asked(decisions: tuple[Decision, ...]) -> list[int]:
    """The steps whose deliveries are to be judged."""
    return [
        each.step
        for each in decisions
        if isinstance(each, Enqueue) and each.kind is JobKind.ACCEPT and each.step is not None
    ]


def queue(count: int) -> tuple[Session, list[int]]:
    """A session in which that many deliveries were published at once, and whom is asked for."""
    run = session(*(step(number) for number in range(1, count + 1)), max_delivery_attempts=1)
    due: list[int] = []
    for number in range(1, count + 1):
        due += asked(run.publishes(number))
    return run, due


@pytest.mark.parametrize("count", [25, 100])
def test_each_of_a_queue_is_judged_once(count: int) -> None:
    """As many are under way as are allowed, whatever stands behind them."""
    run, due = queue(count)
    judged = 0
    while due:
        assert len(due) <= run.state.policy.accept_at_once
        judged += 1
        due += asked(run.is_judged(due.pop(0)))
    assert (judged, run.state.accepted) == (count, count)
    assert run.state.head == _head(range(1, count + 1))


@pytest.mark.parametrize("place", [1, 10, 25])
def test_one_that_fails_drops_out_and_the_rest_go_on(place: int) -> None:
    """Only those that stood behind it and were judged by then are judged again."""
    run, due = queue(25)
    turns: Counter[int] = Counter()
    while due:
        turns[due[0]] += 1
        due += asked(run.is_judged(number := due.pop(0), RED if number == place else None))
        due = [each for each in dict.fromkeys(due) if _awaits(run, each)]
    assert run.state.accepted == 24
    assert run.step(place).phase is not StepPhase.ACCEPTED
    assert run.state.head == _head(n for n in range(1, 26) if n != place)
    assert sum(turns.values()) <= 25 + run.state.policy.accept_at_once


def _awaits(run: Session, number: int) -> bool:
    acceptance: Acceptance | None = run.step(number).acceptance
    return acceptance is not None and acceptance.awaits_judgement


def _head(accepted: Iterable[int]) -> str | None:
    head = None
    for number in accepted:
        head = commit_of(head, f"R1-{number}-p1")
    return head
