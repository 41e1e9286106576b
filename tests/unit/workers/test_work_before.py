"""Whose work in a repository a step continues."""

from dataclasses import replace

import pytest

from shared.domain.errors import Misconfigured
from shared.domain.plan import Author, PlanningRole, Step
from workers.work_before import step_before

HUMAN = Author(PlanningRole.HUMAN, "human")


def step(ordinal: int, repository: str | None, *needs: int) -> Step:
    made = Step(ordinal, f"s{ordinal}", "", "", HUMAN, depends_on=needs)
    return replace(made, repository=repository)


@pytest.mark.parametrize(
    ("steps", "before"),
    [
        ([step(1, "app")], None),
        ([step(1, "app"), step(2, "app", 1)], 1),
        ([step(1, "app"), step(2, None, 1), step(3, "app", 2)], 1),
        ([step(1, "other"), step(2, "app", 1)], None),
        ([step(1, "app"), step(2, "app", 1), step(3, "app", 1, 2)], 2),
        ([step(1, "app"), step(2, "app")], None),
    ],
)
def test_it_is_the_last_one_that_the_step_needs(steps: list[Step], before: int | None) -> None:
    assert step_before(steps, steps[-1], "app", "localhost") == before


def test_the_target_may_be_the_repository() -> None:
    steps = [step(1, None), step(2, None, 1)]
    assert step_before(steps, steps[-1], "app", "app") == 1


def test_nobody_guesses_between_two_that_worked_side_by_side() -> None:
    steps = [step(1, "app"), step(2, "app"), step(3, "app", 1, 2)]
    with pytest.raises(Misconfigured, match="steps 1 and 2"):
        step_before(steps, steps[-1], "app", "localhost")
