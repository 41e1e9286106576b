"""What a plan may name is what can be started."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from shared.domain.agent import HOLDS_TOOLS, NEEDS_COMMAND, RUNNERS
from shared.domain.errors import Rejected
from tests.unit.agents.test_invocations import ORDER
from workers.agents.runners.table import ANY_PROGRAM, COMMAND, NAMES, find_runner


def test_both_sides_know_the_same_runners() -> None:
    assert set(RUNNERS) == set(NAMES)
    assert set(ANY_PROGRAM) == NEEDS_COMMAND


@pytest.mark.parametrize("name", sorted({*NAMES} - {COMMAND}))
def test_both_sides_know_the_same_runners_with_a_list_of_tools(name: str) -> None:
    """A model hears of the others before they refuse the list."""
    runner = find_runner(name, "any")
    with nullcontext() if name in HOLDS_TOOLS else pytest.raises(Rejected, match="allowed_tools"):
        runner.invocation(replace(ORDER, allowed_tools=("Read",)))
