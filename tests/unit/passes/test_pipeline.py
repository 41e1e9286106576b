"""A pass pipelines what it will ask, and nothing that it would not."""

import re

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.attempt import CommandResult, EndedBy
from shared.domain.budget import Ending
from shared.domain.outcome import Outcome
from shared.domain.plan import Subtask
from tests.fakes.scripted_shell import ScriptedAnswer, ScriptedShell
from tests.unit.passes.given import (
    NOON,
    MemoryLog,
    ScriptedJudge,
    attempt,
    carried_out,
    order,
    subtask,
)


def good(number: int, *, check: bool, preconditions: int) -> Subtask:
    """A subtask whose check is red at first and green afterwards."""
    return subtask(
        f"do {number}",
        key=f"s{number}",
        check=f"check {number}" if check else None,
        preconditions=tuple(f"pre {number}.{n}" for n in range(preconditions)),
        needs=(),
    )


def answers(numbers: range) -> dict[str | re.Pattern[str], ScriptedAnswer]:
    """What their checks say."""
    return {f"check {number}": [1, 0] for number in numbers}


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=8))
def test_a_pass_that_goes_well_is_pipelined_whole(shapes: list[tuple[bool, int]]) -> None:
    """Every call, in its order."""
    subtasks = [
        good(n, check=check, preconditions=count) for n, (check, count) in enumerate(shapes)
    ]
    done = carried_out(order(*subtasks), ScriptedShell(answers(range(len(shapes)))))
    assert done.result.ending is Ending.DONE
    assert done.shell.pipelined == done.shell.commands


def test_the_next_ones_are_taken_to_be_done_where_one_is() -> None:
    """Only their checks are pipelined; when one is red, everything is as before."""
    subtasks = [good(n, check=True, preconditions=0) for n in range(6)]
    done = carried_out(order(*subtasks), ScriptedShell({"check 4": [1, 0], "check 5": [1, 0]}))
    assert done.shell.commands == [
        *(f"check {n}" for n in range(5)),
        *("do 4", "check 4", "check 5", "do 5", "check 5"),
    ]
    assert done.shell.pipelined == [*(f"check {n}" for n in range(5)), "check 5", "do 5", "check 5"]


def test_what_the_guard_does_not_let_pass_is_not_pipelined() -> None:
    """Neither is anything after it."""
    subtasks = [good(n, check=False, preconditions=0) for n in range(4)]
    for deny, approve in (("do 2", None), (None, "do 2")):
        done = carried_out(
            order(*subtasks), ScriptedShell(), judge=ScriptedJudge(deny=deny, approve=approve)
        )
        assert done.shell.pipelined == done.shell.commands == ["do 0", "do 1"]


def test_a_critical_command_is_not_pipelined() -> None:
    """A person has to confirm it directly before it runs."""
    done = carried_out(order("first", subtask("second", key="s2", critical=True)), ScriptedShell())
    assert done.shell.pipelined == ["first"]


def test_after_a_failure_it_is_pipelined_anew() -> None:
    """From the next subtask on that may go on."""
    subtasks = [good(n, check=False, preconditions=0) for n in range(5)]
    done = carried_out(order(*subtasks), ScriptedShell({"do 1": 3}))
    assert done.shell.pipelined == done.shell.commands == [f"do {n}" for n in range(5)]


def test_what_a_cancelled_pass_had_begun_is_recorded() -> None:
    """One command ended just before it was to be ended, and the next had started."""
    shell = ScriptedShell()
    cut_off = CommandResult("second", None, b"", b"", NOON, NOON, ended_by=EndedBy.CANCEL)
    shell.begin(attempt(subtask=2).key, "second", cut_off)
    log = MemoryLog(stop=lambda log: bool(log.ended))
    done = carried_out(order("first", "second", "third"), shell, log=log)
    assert done.result.ending is Ending.CANCELLED
    assert done.outcomes == [(1, Outcome.OK), (2, Outcome.CANCELLED)]
    assert shell.commands == ["first"]
