"""Rollbacks in a pass come first, pass the guard, and are attempts of their own kind."""

from dataclasses import replace

import pytest

from shared.domain.approval import SubtaskPart
from shared.domain.attempt import EndedBy, Signal, Unknown
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.outcome import Outcome
from shared.domain.plan import Subtask
from shared.secrets.sent import as_sent
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import (
    MemoryLog,
    Pass,
    ScriptedJudge,
    attempt,
    carried_out,
    ended,
    order,
)
from workers.passes.ports import PassOrder, Undo

LAST, FIRST = (
    Undo(0, as_sent(Subtask(n, key, "", f"undo {key}", timeout=9.0)))
    for n, key in ((2, "b"), (1, "a"))
)
RAN = (attempt(1, Outcome.OK, result=ended()), attempt(2, result=ended(), number=1))


def revised(*undo: Undo, policy: Policy | None = None) -> PassOrder:
    """A pass over a new list, which asks for these rollbacks first."""
    return order(
        "one", revision=1, pass_no=2, earlier=RAN, undo=undo or (LAST, FIRST), policy=policy
    )


def undone(done: Pass) -> list[tuple[str, Outcome]]:
    return [(a.command, a.outcome) for a in done.attempts if a.rollback]


def test_what_ran_is_undone_before_the_new_list_begins() -> None:
    """The rollbacks are attempts at what they undo, and no errors of the step."""
    done = carried_out(revised(), ScriptedShell({"undo b": "gone\n"}))
    assert done.result.ending is Ending.DONE
    assert done.shell.commands == ["undo b", "undo a", "one"]
    assert undone(done) == [("undo b", Outcome.OK), ("undo a", Outcome.OK)]
    first = done.attempts[0]
    assert first.key == "R7-1-r0-2-p2-back"
    assert (first.revision, first.subtask, first.pass_no, first.number) == (0, 2, 2, 2)
    assert first.result is not None
    assert first.result.streams == (b"gone\n", b"")
    assert [a.key for a in done.log.begun[:1]] == [first.key]
    assert done.shell.calls[0].timeout == 9.0
    assert done.attempts[-1].key == "R7-1-r1-1-p2-t0"


def test_one_that_fails_waits_for_a_person() -> None:
    """No more rollbacks run, and nothing of the list starts; it is not an error of the step."""
    done = carried_out(revised(), ScriptedShell({"undo b": 3}))
    assert done.result.ending is Ending.ROLLBACK_FAILED
    assert done.result.reason == "rollback of T1.1.2 (revision 0): exit code 3"
    assert done.result.errors == 0
    assert done.shell.commands == ["undo b"]
    assert not done.attempts[0].counted


def test_one_that_takes_too_long_or_that_no_host_can_take_has_failed() -> None:
    too_long = carried_out(revised(), ScriptedShell({"undo b": Answer(takes=99)}))
    assert too_long.result.ending is Ending.ROLLBACK_FAILED
    assert undone(too_long) == [("undo b", Outcome.TIMED_OUT)]
    untakeable = ScriptedShell({"undo b": Rejected("too long", stage="execute")})
    assert carried_out(revised(), untakeable).result.ending is Ending.ROLLBACK_FAILED


def test_one_that_is_forbidden_is_never_started_and_blocks_the_step() -> None:
    """S0.61, X18: the guard sees rollbacks, too."""
    done = carried_out(revised(), ScriptedShell(), judge=ScriptedJudge(deny="undo b"))
    assert done.result.ending is Ending.BLOCKED
    assert done.shell.commands == []
    assert undone(done) == [("undo b", Outcome.DENIED)]
    assert "deny by the test" in done.result.reason


def test_one_that_needs_approval_is_asked_about_alone() -> None:
    done = carried_out(revised(), ScriptedShell(), judge=ScriptedJudge(approve="undo"))
    assert done.result.ending is Ending.NEEDS_APPROVAL
    assert done.shell.commands == []
    (asked,) = done.result.unapproved
    assert (asked.subtask, asked.part, asked.text) == (2, SubtaskPart.ROLLBACK, "undo b")


def test_what_is_approved_runs() -> None:
    done = carried_out(
        revised(),
        ScriptedShell(),
        judge=ScriptedJudge(approve="undo b"),
        approved=lambda text: text == "undo b",
    )
    assert done.result.ending is Ending.DONE
    assert done.shell.commands == ["undo b", "undo a", "one"]


def test_what_was_critical_is_undone_only_once_a_person_has_seen_it() -> None:
    critical = Undo(0, replace(LAST.subtask, critical=True))
    done = carried_out(revised(critical), ScriptedShell())
    assert done.result.ending is Ending.NEEDS_APPROVAL
    assert [u.verdict.rule for u in done.result.unapproved] == ["critical"]


def test_where_plans_are_approved_all_rollbacks_are_asked_about_at_once() -> None:
    done = carried_out(revised(policy=Policy(autonomy="plan")), ScriptedShell())
    assert done.result.ending is Ending.NEEDS_APPROVAL
    assert [asked.text for asked in done.result.unapproved] == ["undo b", "undo a"]


@pytest.mark.parametrize(
    ("code", "ending"), [(0, Ending.DONE), (4, Ending.ROLLBACK_FAILED), (None, Ending.UNKNOWN)]
)
def test_one_that_an_earlier_driver_started_is_not_started_again(
    code: int | None, ending: Ending
) -> None:
    """Whatever the guard says by now; a person decides about a rollback with an unknown end."""
    shell = ScriptedShell()
    known = replace(
        ended("undo b", code), unknown=None if code is not None else Unknown.SHELL_KILLED
    )
    shell.remember("R7-1-r0-2-p2-back", "undo b", known)
    done = carried_out(revised(), shell, judge=ScriptedJudge(deny="undo b"))
    assert done.result.ending is ending
    assert "undo b" not in shell.commands


def test_a_driver_that_goes_on_gives_an_attempt_its_number_again() -> None:
    """It was recorded, but the pass was not reported: the record is the same."""
    first = carried_out(revised(), ScriptedShell({"undo b": 3})).attempts[0]
    shell = ScriptedShell()
    shell.remember(first.key, "undo b", ended("undo b", 3))
    again = replace(revised(), earlier=(*RAN, first))
    assert carried_out(again, shell).attempts[0].number == first.number


def test_nothing_is_undone_once_the_pass_is_cancelled() -> None:
    done = carried_out(revised(), ScriptedShell(), log=MemoryLog(stop=lambda _: True))
    assert done.result.ending is Ending.CANCELLED
    assert done.shell.commands == []


def test_a_cancelled_pass_says_how_the_rollback_ended_that_it_had_begun() -> None:
    shell = ScriptedShell()
    cut = replace(ended("undo b", None), ended_by=EndedBy.CANCEL, signal=Signal.TERM)
    shell.remember("R7-1-r0-2-p2-back", "undo b", cut)
    done = carried_out(revised(), shell, log=MemoryLog(stop=lambda _: True))
    assert done.result.ending is Ending.CANCELLED
    assert undone(done) == [("undo b", Outcome.CANCELLED)]


def test_one_that_a_person_ends_waits_for_that_person() -> None:
    log = MemoryLog(unwanted_keys={"R7-1-r0-2-p2-back"})
    done = carried_out(revised(), ScriptedShell({"undo b": Answer(takes=5)}), log=log)
    assert done.result.ending is Ending.ROLLBACK_FAILED
    assert "ended by an operator" in done.result.reason
