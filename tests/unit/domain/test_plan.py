"""Plans: what was not said is filled in, and what cannot be carried out is refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Rejected
from shared.domain.plan import (
    Plan,
    Step,
    Subtask,
    check_steps,
    check_subtasks,
    default_dependencies,
    default_needs,
    in_order,
    keep_apart,
)

AUTHOR = Author(PlanningRole.PLANNER, "anthropic")


def subtask(key: str, *needs: str, command: str = "true") -> Subtask:
    """A subtask with that key."""
    return Subtask(ordinal=1, key=key, title=key, command=command, needs=needs)


def step(ordinal: int, *depends_on: int, subtasks: tuple[Subtask, ...] = ()) -> Step:
    """A step with that number."""
    return Step(ordinal, f"k{ordinal}", "title", "do it", AUTHOR, depends_on, subtasks=subtasks)


# --- what was not said ----------------------------------------------------------------------------


def test_a_subtask_needs_the_one_before_it() -> None:
    """X3: the default is a chain."""
    assert default_needs([("a", None), ("b", None), ("c", None)]) == {
        "a": (),
        "b": ("a",),
        "c": ("b",),
    }


def test_a_subtask_that_says_it_needs_nothing_needs_nothing() -> None:
    """X3: `needs: []` lets it run whatever failed before; the next one still follows it."""
    assert default_needs([("a", None), ("b", ()), ("c", None)]) == {
        "a": (),
        "b": (),
        "c": ("b",),
    }


def test_needs_that_are_named_stand() -> None:
    """What was said is not touched."""
    assert default_needs([("a", None), ("b", None), ("c", ("a",))])["c"] == ("a",)


def test_a_step_depends_on_the_one_before_it() -> None:
    """Without groups the steps are a chain."""
    given_steps = [(1, None, None), (2, None, None), (3, None, None)]
    assert default_dependencies(given_steps) == {1: (), 2: (1,), 3: (2,)}


def test_steps_of_a_group_run_beside_each_other() -> None:
    """S3.6, S3.56: a group depends on what stands before it; what follows depends on all of it."""
    given_steps = [(1, None, None), (2, "g", None), (3, "g", None), (4, None, None)]
    assert default_dependencies(given_steps) == {1: (), 2: (1,), 3: (1,), 4: (2, 3)}


def test_a_group_after_a_group_waits_for_all_of_it() -> None:
    """Two groups in a row are two blocks; so is one name used again after a break."""
    given_steps = [(1, "a", None), (2, "a", None), (3, "b", None), (4, None, None), (5, "a", None)]
    assert default_dependencies(given_steps) == {1: (), 2: (), 3: (1, 2), 4: (3,), 5: (4,)}


def test_dependencies_that_are_named_stand() -> None:
    """Even none at all; what follows still follows."""
    given_steps = [(1, None, None), (2, None, ()), (3, None, None), (4, None, (1,))]
    assert default_dependencies(given_steps) == {1: (), 2: (), 3: (2,), 4: (1,)}


@given(st.lists(st.sampled_from([None, "a", "b"]), max_size=12))
def test_default_dependencies_can_be_carried_out(groups: list[str | None]) -> None:
    """They only ever look back, and members of one block never wait for each other."""
    depends = default_dependencies((n, group, None) for n, group in enumerate(groups, 1))
    for ordinal, needed in depends.items():
        assert all(before < ordinal for before in needed)
        assert (ordinal == 1 or groups[ordinal - 1] is not None) or needed
    if depends:
        check_steps([step(ordinal, *needed) for ordinal, needed in depends.items()])


# --- what cannot be carried out -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ([], "no steps"),
        ([step(1), replace(step(2), key="k1")], "step 'k1' stands twice"),
        ([step(1, 2)], "needs '2', which is unknown"),
        ([step(1, 1)], "in a circle: 'k1'"),
        ([step(1, 3), step(2, 1), step(3, 2), step(4)], "in a circle: 'k1', 'k2', 'k3'"),
        ([step(1, subtasks=(subtask("a", "b"),))], "step 1: subtask 'a' needs 'b'"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(steps: list[Step], complaint: str) -> None:
    """With a sentence that names the culprit, for it goes back to whoever planned it."""
    with pytest.raises(Rejected, match=complaint) as caught:
        check_steps(steps)
    assert caught.value.stage == "plan"


@pytest.mark.parametrize(
    ("subtasks", "complaint"),
    [
        ([], "the step has no subtasks"),
        ([subtask("a"), subtask("a")], "subtask 'a' stands twice"),
        ([subtask("a", command=" \n")], "subtask 'a' has an empty command"),
        ([subtask("a", "x")], "needs 'x', which is unknown"),
        ([subtask("a", "b"), subtask("b", "a")], "in a circle: 'a', 'b'"),
    ],
)
def test_subtasks_that_cannot_be_carried_out_are_refused(
    subtasks: list[Subtask], complaint: str
) -> None:
    """With a sentence that names the culprit."""
    with pytest.raises(Rejected, match=complaint):
        check_subtasks(subtasks)


def test_a_good_plan_passes() -> None:
    """Steps that are still to be detailed, and a dependency on a step that stands later."""
    check_steps([step(1, 2), step(2), step(3, 1, subtasks=(subtask("a"), subtask("b", "a")))])


def test_a_step_is_found_by_its_number() -> None:
    """And its absence is said."""
    plan = Plan((step(1), step(2)))
    assert plan.step(2).ordinal == 2
    with pytest.raises(Rejected, match="no step 3"):
        plan.step(3)


# --- order ----------------------------------------------------------------------------------------


@st.composite
def acyclic_subtasks(draw: st.DrawFn) -> list[Subtask]:
    """Subtasks that can be carried out, in an order that need not respect their needs."""
    keys = [f"k{n}" for n in range(draw(st.integers(1, 8)))]
    made = [
        subtask(
            key, *draw(st.lists(st.sampled_from(keys[:at]), unique=True) if at else st.just([]))
        )
        for at, key in enumerate(keys)
    ]
    return draw(st.permutations(made))


@given(acyclic_subtasks())
def test_each_subtask_comes_after_what_it_needs(subtasks: list[Subtask]) -> None:
    """None is lost or doubled, and every need stands before who needs it."""
    ordered = in_order(subtasks)
    assert sorted(s.key for s in ordered) == sorted(s.key for s in subtasks)
    for at, one in enumerate(ordered):
        assert set(one.needs) <= {s.key for s in ordered[:at]}


@given(acyclic_subtasks())
def test_an_order_that_is_right_is_kept(subtasks: list[Subtask]) -> None:
    """S0.30: the plan's own order counts where the needs allow it."""
    ordered = in_order(subtasks)
    assert in_order(ordered) == ordered


def test_the_plans_order_decides_among_those_that_are_ready() -> None:
    """Only what must move moves."""
    ordered = in_order([subtask("c", "a"), subtask("d"), subtask("a"), subtask("b")])
    assert [s.key for s in ordered] == ["d", "a", "c", "b"]


def test_a_circle_has_no_order() -> None:
    """It is refused, not looped over."""
    with pytest.raises(Rejected, match="in a circle: a, b"):
        in_order([subtask("a", "b"), subtask("b", "a")])


def grouped(ordinal: int, *depends_on: int, alone: bool = False, group: str | None = "g") -> Step:
    """A step of a group; one `alone` may not run beside the others."""
    within = replace(step(ordinal, *depends_on), parallel_group=group)
    return replace(within, parallelizable=False if alone else None)


@pytest.mark.parametrize(
    ("steps", "depends"),
    [
        ([grouped(1), grouped(2, alone=True), grouped(3)], [(), (1,), (2,)]),
        ([grouped(1, alone=True), grouped(2), grouped(3)], [(), (1,), (1,)]),
        ([grouped(1, 2), grouped(2, alone=True)], [(2,), ()]),
        ([grouped(1), grouped(2, 1), grouped(3, 2, alone=True)], [(), (1,), (2,)]),
        ([grouped(1), grouped(2, alone=True, group="h")], [(), ()]),
        ([grouped(1, group=None), grouped(2, alone=True, group=None)], [(), ()]),
        ([grouped(1), grouped(2)], [(), ()]),
    ],
)
def test_what_may_not_run_beside_its_group_has_an_order(
    steps: list[Step], depends: list[tuple[int, ...]]
) -> None:
    """S3.8, also where the plan says itself what depends on what."""
    assert [each.depends_on for each in keep_apart(steps)] == depends


@st.composite
def grouped_steps(draw: st.DrawFn) -> list[Step]:
    """Steps of two groups, some of which may not run beside others, in no particular order."""
    order = draw(st.permutations(range(1, draw(st.integers(1, 7)) + 1)))
    steps = []
    for position, ordinal in enumerate(order):
        before = list(order[:position])
        needed = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
        steps.append(
            grouped(
                ordinal, *needed, alone=draw(st.booleans()), group=draw(st.sampled_from(["g", "h"]))
            )
        )
    return sorted(steps, key=lambda each: each.ordinal)


@given(grouped_steps())
def test_to_keep_steps_apart_makes_no_circle_and_settles_every_pair(steps: list[Step]) -> None:
    apart = keep_apart(steps)
    check_steps(apart)
    assert keep_apart(apart) == apart
    for before, after in zip(steps, apart, strict=True):
        assert after.depends_on[: len(before.depends_on)] == before.depends_on
