"""What a plan may name is what can be started."""

from shared.domain.agent import NEEDS_COMMAND, RUNNERS
from workers.agents.runners.table import ANY_PROGRAM, NAMES


def test_both_sides_know_the_same_runners() -> None:
    assert set(RUNNERS) == set(NAMES)
    assert set(ANY_PROGRAM) == NEEDS_COMMAND
