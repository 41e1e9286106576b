"""Answers of a planner that would only repeat what has failed are refused (S0.54)."""

from dataclasses import replace

import pytest

from shared.domain.author import Author, PlanningRole
from shared.domain.errors import Rejected
from shared.domain.plan import Revision, Subtask
from workers.repetition import refuse_repetition

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
A = Subtask(1, "a", "First", "do a", check="test -e a", rollback="undo a", timeout=60.0)
B = Subtask(2, "b", "Second", "do b", needs=("a",), timeout=60.0)
C = Subtask(1, "c", "Another", "do c")
EARLIER = (Revision(1, 0, AUTHOR, (A, B)), Revision(1, 1, AUTHOR, (C,)))


@pytest.mark.parametrize(
    ("again", "which"),
    [
        ((A, B), 0),
        ((C,), 1),
        ((replace(A, key="other", title="New words"), replace(B, key="names")), 0),
        ((replace(A, timeout=30.0), B), 0),
        ((replace(A, critical=True), replace(B, needs=())), 0),
    ],
)
def test_the_same_commands_checks_and_preconditions_are_refused(
    again: tuple[Subtask, ...], which: int
) -> None:
    """Other names, other words and less time do not make a new list; older lists count as well."""
    with pytest.raises(Rejected, match=f"this repeats revision {which} of the step") as raised:
        refuse_repetition(again, (), EARLIER)
    assert raised.value.stage == "revise"


@pytest.mark.parametrize(
    "other",
    [
        (B, A),  # S0.75
        (A,),
        (A, B, C),
        (replace(A, command="do a --force"), B),
        (replace(A, check="test -d a"), B),
        (replace(A, preconditions=("true",)), B),
        (A, replace(B, timeout=600.0)),
    ],
)
def test_another_order_another_check_or_more_time_is_another_way(
    other: tuple[Subtask, ...],
) -> None:
    refuse_repetition(other, (), EARLIER)


def test_the_same_list_after_undoing_something_is_another_way() -> None:
    """S0.56: what the first try left behind may be the obstacle."""
    refuse_repetition((A, B), ("a",), EARLIER)


@pytest.mark.parametrize(
    ("key", "why"),
    [("z", "no revision of this step had a subtask 'z'"), ("b", "no rollback command")],
)
def test_what_cannot_be_undone_is_refused(key: str, why: str) -> None:
    with pytest.raises(Rejected, match=why):
        refuse_repetition((C, A), ("a", key), EARLIER)
