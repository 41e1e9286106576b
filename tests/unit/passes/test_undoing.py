"""What a revision undoes: only what ran, each thing once, the last first (S0.56)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.attempt import Answer, Attempt
from shared.domain.author import Author, PlanningRole
from shared.domain.outcome import Outcome
from shared.domain.plan import Revision, Subtask, SubtaskKind
from shared.secrets.sent import as_sent
from tests.unit.passes.given import attempt, ended
from workers.passes.to_undo import to_undo

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "runbook")
A, B, C = (
    Subtask(n, key, "", f"do {key}", rollback=f"undo {key}", critical=key == "c")
    for n, key in enumerate("abc", 1)
)


def revisions(*keys: str, earlier: Sequence[Sequence[Subtask]] = ((A, B, C),)) -> list[Revision]:
    """The lists that have failed, and one that asks for these rollbacks."""
    listed = [Revision(1, n, AUTHOR, tuple(given)) for n, given in enumerate(earlier)]
    return [*listed, Revision(1, len(earlier), AUTHOR, (replace(A, key="n"),), rollback=keys)]


def ran(subtask: int, *, revision: int = 0, outcome: Outcome = Outcome.FAILED) -> Attempt:
    """An attempt whose command was started."""
    return attempt(subtask, outcome, revision=revision, pass_no=revision + 1, result=ended())


def undone(subtask: int, outcome: Outcome = Outcome.OK) -> Attempt:
    """A rollback that was carried out before."""
    done = attempt(subtask, outcome, pass_no=2, result=ended())
    return replace(done, rollback=True)


def commands(wanted: Sequence[Revision], tried: Sequence[Attempt]) -> list[str]:
    return [undo.subtask.command for undo in to_undo(wanted, tried)]


def test_what_ran_last_is_undone_first() -> None:
    """A failed command may have done half of its work, so it counts as well."""
    tried = [ran(1, outcome=Outcome.OK), ran(3), ran(2, outcome=Outcome.TIMED_OUT)]
    assert commands(revisions("a", "b", "c"), tried) == ["undo b", "undo c", "undo a"]


@pytest.mark.parametrize(
    "idle",
    [
        Outcome.SATISFIED,
        Outcome.SIMULATED,
        Outcome.DENIED,
        Outcome.NEEDS_APPROVAL,
        Outcome.BLOCKED,
        Outcome.PRECONDITION_UNMET,
        Outcome.CANCELLED,
    ],
)
def test_what_did_not_run_is_not_undone(idle: Outcome) -> None:
    """Nothing came of it on the host."""
    assert commands(revisions("a", "b"), [attempt(1, idle), ran(2)]) == ["undo b"]


def test_what_nobody_knows_the_end_of_may_have_run() -> None:
    """Unless a person says that it did not run."""
    unknown = attempt(1, Outcome.UNKNOWN)
    assert commands(revisions("a"), [unknown]) == ["undo a"]
    said = replace(unknown, told_by_person=Answer.NOT_RUN)
    assert commands(revisions("a"), [said]) == []


def test_only_what_is_named_and_says_how_is_undone() -> None:
    without = replace(B, rollback=None)
    wanted = revisions("a", "b", earlier=[(A, without, C)])
    assert commands(wanted, [ran(1), ran(2), ran(3)]) == ["undo a"]
    assert commands(revisions(), [ran(1)]) == []
    assert to_undo([], [ran(1)]) == ()


def test_what_was_undone_is_not_undone_again_unless_it_ran_since() -> None:
    assert commands(revisions("a", "b"), [ran(1), ran(2), undone(2)]) == ["undo a"]
    assert commands(revisions("a"), [ran(1), undone(1), ran(1)]) == ["undo a"]
    assert commands(revisions("a"), [ran(1), undone(1, Outcome.FAILED)]) == ["undo a"]


def test_what_two_lists_did_in_the_same_way_is_undone_once() -> None:
    """Its last run counts; a different text is a different rollback."""
    other = replace(A, rollback="undo a in another way")
    same = revisions("a", earlier=[(A,), (A,)])
    assert [u.revision for u in to_undo(same, [ran(1), ran(1, revision=1)])] == [1]
    differing = revisions("a", earlier=[(A,), (other,)])
    tried = [ran(1), ran(1, revision=1)]
    assert commands(differing, tried) == ["undo a in another way", "undo a"]


def test_an_earlier_wish_is_not_carried_over() -> None:
    """The newest list names the rollbacks that come before it."""
    first, second = revisions("a")
    third = Revision(1, 2, AUTHOR, (B,))
    assert to_undo([first, second, third], [ran(1)]) == ()


def test_a_rollback_is_a_command_of_its_own() -> None:
    """No check, no preconditions, no needs; what was critical stays so."""
    given = replace(C, check="test -e c", preconditions=("true",), needs=("b",), timeout=7.0)
    snippet = replace(given, kind=SubtaskKind.CODE)
    (undo,) = to_undo(revisions("c", earlier=[(A, B, snippet)]), [ran(3)])
    assert undo.subtask == as_sent(
        Subtask(3, "c", "", "undo c", timeout=7.0, critical=True, rollback="undo c")
    )


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.booleans()), max_size=12))
def test_each_rollback_stands_for_a_run_that_none_has_followed(
    story: list[tuple[int, bool, bool]],
) -> None:
    """Whatever happened: exactly what ran after its last good rollback is undone."""
    tried = [
        (undone(n, Outcome.OK if well else Outcome.FAILED) if is_rollback else ran(n))
        for n, is_rollback, well in story
    ]
    last_run = {n: at for at, (n, is_rollback, _) in enumerate(story) if not is_rollback}
    last_undo = {n: at for at, (n, is_rollback, well) in enumerate(story) if is_rollback and well}
    expected = [n for n, at in last_run.items() if last_undo.get(n, -1) < at]
    found = [undo.subtask.ordinal for undo in to_undo(revisions("a", "b", "c"), tried)]
    assert found == sorted(expected, key=last_run.__getitem__, reverse=True)
