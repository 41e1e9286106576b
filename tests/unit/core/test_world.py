"""Whatever happens, in whatever order and however often: the promises of the core hold."""

from functools import cache
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.decisions import Decision
from orchestrator.core.transitions import STEP_TRANSITIONS, TASK_TRANSITIONS
from shared.domain.task import StepPhase, TaskPhase
from tests.unit.core.actors import anything, begin
from tests.unit.core.rare_stories import rare_stories
from tests.unit.core.settling import finish
from tests.unit.core.world import Transition, World

STRATEGIES = ("resume", "revise", "abandon", "mixed")
WALKS = 5000
FIRST = (
    *(797, 1181, 2316, 1024, 1021, 1144, 384, 2050, 1065, 322, 754, 762, 1992, 2313, 485, 2029, 74),
    *(88, 196, 950, 994, 1798, 723, 1217, 1415, 54, 86, 116, 130, 178, 350, 516, 1724, 2334, 67),
    *(241, 895, 1423),
)
"""Walks that meet what few others do: without them, it takes five times as many walks."""


def _entries(table: object) -> set[Transition]:
    assert isinstance(table, dict)
    return {
        (old.value, fact.__name__, new.value)
        for old, ruled in table.items()
        for fact, allowed in ruled.items()
        for new in allowed
    }


def _walk(
    rng: Random, *, turns: int, strategy: str, echoing: bool, delivers: bool = False
) -> World:
    """Anything happens for a while; then the world settles."""
    world = begin(rng, echoing=echoing, delivers=delivers)
    for _ in range(turns):
        anything(world)
    world.check_replay()
    finish(world, strategy)
    world.check_replay()
    return world


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(rng=st.randoms(use_true_random=False), turns=st.integers(0, 60), echoing=st.booleans())
def test_every_task_ends_legally(strategy: str, rng: Random, turns: int, *, echoing: bool) -> None:
    """Every task ends, within a bound, and its facts retell its story.

    On the way (see `World`): no Defect; a step never has two passes at once; a finished step is
    never touched; a fact told twice changes nothing; at rest nobody is forgotten or works in vain.
    """
    assert _walk(rng, turns=turns, strategy=strategy, echoing=echoing).ended()


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(rng=st.randoms(use_true_random=False), turns=st.integers(0, 100), echoing=st.booleans())
def test_every_session_ends_legally(
    strategy: str, rng: Random, turns: int, *, echoing: bool
) -> None:
    """The same for sessions, whose deliveries come to the head and to the remote (see `Ledger`).

    No step that has published is done before it is on the remote; deliveries are accepted in the
    order of their queue, each on exactly the head behind which it was judged; whatever can be
    judged, reviewed or published is; and every delivery is settled in the end.
    """
    world = _walk(rng, turns=turns, strategy=strategy, echoing=echoing, delivers=True)
    assert world.ended()


@cache
def _travelled() -> tuple[set[Transition], set[Transition], set[type], set[str]]:
    """Everything that happened on many walks, until every entry of the tables was met.

    What chance brings about too seldom is told first. The odd walks are those of sessions.
    """
    steps: set[Transition] = set()
    tasks: set[Transition] = set()
    decided: set[type] = set()
    ends: set[str] = set()
    for world in rare_stories():
        steps |= world.step_transitions
        decided |= world.decided
    for seed in (*FIRST, *range(WALKS)):
        rng = Random(seed)  # noqa: S311 - the same walks every time
        world = _walk(
            rng,
            turns=rng.randint(0, 60),
            strategy=rng.choice([*STRATEGIES, "mixed"]),
            echoing=seed % 3 == 0,
            delivers=seed % 2 == 1,
        )
        steps |= world.step_transitions
        tasks |= world.task_transitions
        decided |= world.decided
        ends.add(world.task.phase.value)
        met = steps >= _entries(STEP_TRANSITIONS) and tasks >= _entries(TASK_TRANSITIONS)
        if met and decided >= set(get_args(Decision)):
            break
    return steps, tasks, decided, ends


def test_every_entry_of_the_step_table_is_travelled() -> None:
    """The law of steps says nothing that never happens, and nothing else happens."""
    assert _travelled()[0] == _entries(STEP_TRANSITIONS)


def test_every_entry_of_the_task_table_is_travelled() -> None:
    """The law of tasks says nothing that never happens, and nothing else happens."""
    assert _travelled()[1] == _entries(TASK_TRANSITIONS)


def test_every_kind_of_decision_is_made() -> None:
    """No decision is a dead letter."""
    assert _travelled()[2] == set(get_args(Decision))


def test_every_way_of_ending_is_met() -> None:
    """The walks are no walk in one corner: tasks end well, badly and cancelled."""
    assert _travelled()[3] == {"done", "error", "cancelled"}


def test_every_phase_is_in_the_law() -> None:
    """A phase without an entry would make every fact a Defect without a word about why."""
    assert set(STEP_TRANSITIONS) == set(StepPhase)
    assert set(TASK_TRANSITIONS) == set(TaskPhase)
