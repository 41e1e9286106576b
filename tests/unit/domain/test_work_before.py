"""Whose work in a repository a step continues."""

from dataclasses import replace

import pytest

from shared.domain.author import Author, PlanningRole
from shared.domain.plan import Step
from shared.domain.work_before import work_before

HUMAN = Author(PlanningRole.HUMAN, "human")


def step(ordinal: int, repository: str | None, *needs: int) -> Step:
    made = Step(ordinal, f"s{ordinal}", "", "", HUMAN, depends_on=needs)
    return replace(made, repository=repository)


@pytest.mark.parametrize(
    ("steps", "before"),
    [
        ([step(1, "app")], ()),
        ([step(1, "app"), step(2, "app", 1)], (1,)),
        ([step(1, "app"), step(2, None, 1), step(3, "app", 2)], (1,)),
        ([step(1, "other"), step(2, "app", 1)], ()),
        ([step(1, "app"), step(2, "app", 1), step(3, "app", 1, 2)], (2,)),
        ([step(1, "app"), step(2, "app")], ()),
        ([step(1, "app"), step(2, "other"), step(3, "app", 1, 2)], (1,)),
    ],
)
def test_it_is_the_last_one_that_the_step_needs(steps: list[Step], before: tuple[int, ...]) -> None:
    assert work_before(steps, "localhost")[len(steps)] == before


def test_the_target_may_be_the_repository() -> None:
    steps = [step(1, None), step(2, None, 1)]
    assert work_before(steps, "app") == {1: (), 2: (1,)}


def test_nobody_guesses_between_two_that_worked_side_by_side() -> None:
    """What comes after them would not know either."""
    steps = [step(1, "app"), step(2, "app"), step(3, None, 1, 2), step(4, "app", 3)]
    assert work_before(steps, "localhost") == {1: (), 2: (), 3: (), 4: (1, 2)}


def test_who_follows_a_knot_continues_it() -> None:
    """Only the step that ties it is told."""
    steps = [step(1, "app"), step(2, "app"), step(3, "app", 1, 2), step(4, "app", 3)]
    assert work_before(steps, "localhost") == {1: (), 2: (), 3: (1, 2), 4: (3,)}
