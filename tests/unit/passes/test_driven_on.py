"""Passes with an earlier driver, commands with an unknown end, and commands that were ended."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.domain.attempt import Answer, CommandResult, EndedBy, Unknown
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from tests.fakes.scripted_shell import Answer as Says
from tests.fakes.scripted_shell import ScriptedShell
from tests.unit.passes.given import MemoryLog, attempt, carried_out, order, subtask

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def key(number: int, try_no: int = 0) -> str:
    return f"R7-1-r0-{number}-p1-t{try_no}"


def result(command: str, exit_code: int | None = 0, **fields: object) -> CommandResult:
    """What an earlier driver's command did, long ago."""
    done = LONG_AGO + timedelta(seconds=5)
    given = CommandResult(command, exit_code, b"old\n", b"", LONG_AGO, done)
    return replace(given, **fields)  # type: ignore[arg-type]


def label(command: str, correction: str | None = None) -> str:
    return json.dumps([correction, command])


def test_what_was_started_before_is_not_started_again() -> None:
    """Its check does not run first: it would be green, and the attempt would be lost."""
    shell = ScriptedShell({"check": 0, "two": 0})
    shell.remember(key(1), "one", result("one"), label("one"))
    done = carried_out(order(subtask("one", "a", check="check"), "two"), shell)
    assert done.outcomes == [(1, Outcome.OK), (2, Outcome.OK)]
    assert done.attempts[0].result == result("one")
    assert done.attempts[0].started_at == LONG_AGO
    assert shell.commands == ["check", "two"]


@pytest.mark.parametrize("before", [True, False])
def test_a_check_that_was_red_before_the_first_driver_was_lost_proves_something(
    *, before: bool
) -> None:
    """What it had seen stands with the attempt that it began; the next one looks at it again."""
    first = carried_out(
        order(subtask("one", "a", check="check")), ScriptedShell({"check": [1, 0], "one": 0})
    )
    assert [each.never_red for each in first.log.begun] == [False]
    shell = ScriptedShell({"check": 0})
    shell.remember(key(1), "one", result("one"), label("one"))
    began_red = frozenset({key(1)} if before else ())
    again = replace(order(subtask("one", "a", check="check")), began_red=began_red)
    done = carried_out(again, shell)
    assert done.outcomes == [(1, Outcome.OK)]
    (ended,) = done.attempts
    assert ended.never_red is not before
    assert [each.never_red for each in done.log.begun] == [not before], "the next driver needs it"


def test_a_correction_that_was_begun_is_gone_on_with() -> None:
    """Whatever the rules would choose now: the host has changed since."""
    shell = ScriptedShell({"true": 0})
    failed = attempt(1, Outcome.FAILED, command="do it")
    shell.remember(key(1, 1), "sudo do it", result("sudo do it"), label("sudo do it", "sudo"))
    done = carried_out(order("do it", "true", earlier=[failed]), shell)
    assert done.outcomes == [(1, Outcome.OK), (2, Outcome.OK)]
    first = done.attempts[0]
    assert (first.command, first.correction, first.try_no) == ("sudo do it", "sudo", 1)


def test_a_person_is_asked_where_nobody_knows() -> None:
    """Neither done nor failed: the pass ends there, and nothing is counted."""
    shell = ScriptedShell()
    shell.remember(key(1), "one", result("one", None, unknown=Unknown.SHELL_KILLED), label("one"))
    done = carried_out(order("one", "two"), shell)
    assert done.result.ending is Ending.UNKNOWN
    assert done.result.errors == 0
    assert done.outcomes == [(1, Outcome.UNKNOWN)]
    assert "the shell that ran it on the host was killed" in done.result.reason
    assert shell.commands == []


def test_a_green_check_says_that_it_ran() -> None:
    """The check decides what is done."""
    shell = ScriptedShell({"check": 0, "two": 0})
    shell.remember(key(1), "one", result("one", None, unknown=Unknown.SHELL_KILLED), label("one"))
    done = carried_out(order(subtask("one", "a", check="check"), "two"), shell)
    assert done.result.ending is Ending.DONE
    assert done.outcomes == [(1, Outcome.OK), (2, Outcome.OK)]


def test_a_red_check_says_that_it_did_not() -> None:
    """So it runs again, and this does not count."""
    shell = ScriptedShell({"check": [1, 0], "one": 0})
    shell.remember(key(1), "one", result("one", None, unknown=Unknown.SHELL_KILLED), label("one"))
    done = carried_out(order(subtask("one", "a", check="check")), shell)
    assert done.result.ending is Ending.DONE
    assert done.outcomes == [(1, Outcome.UNKNOWN), (1, Outcome.OK)]
    assert done.result.errors == 0


def test_what_may_run_twice_runs_again() -> None:
    """If the plan says that it is idempotent."""
    shell = ScriptedShell({"one": 0})
    shell.remember(key(1), "one", result("one", None, unknown=Unknown.SHELL_KILLED), label("one"))
    done = carried_out(order(subtask("one", "a", idempotent=True)), shell)
    assert done.outcomes == [(1, Outcome.UNKNOWN), (1, Outcome.OK)]


def test_it_does_not_run_again_for_ever() -> None:
    """After three unknown ends, a person decides nevertheless."""
    shell = ScriptedShell()
    for number in range(3):
        lost = result("one", None, unknown=Unknown.SHELL_KILLED)
        shell.remember(key(1, number), "one", lost, label("one"))
    done = carried_out(order(subtask("one", "a", idempotent=True)), shell)
    assert done.result.ending is Ending.UNKNOWN
    assert len(done.attempts) == 3


def test_what_is_critical_never_runs_again_unasked() -> None:
    """A person confirmed one run of it."""
    shell = ScriptedShell()
    shell.remember(key(1), "one", result("one", None, unknown=Unknown.SHELL_KILLED), label("one"))
    given = order(subtask("one", "a", critical=True, idempotent=True))
    done = carried_out(given, shell, approved=lambda _: True)
    assert done.result.ending is Ending.UNKNOWN


def test_a_command_that_an_operator_ended_has_failed() -> None:
    """It counts, and no correction follows; subtasks that do not need it go on."""
    shell = ScriptedShell({"one": Says(takes=9), "two": 0})
    log = MemoryLog(unwanted_keys={key(1)})
    done = carried_out(order(subtask("one", "a"), subtask("two", "b", needs=())), shell, log=log)
    assert done.outcomes == [(1, Outcome.FAILED), (2, Outcome.OK)]
    assert done.attempts[0].reason.startswith("ended by an operator")
    assert done.attempts[0].ended_by is EndedBy.OPERATOR
    assert done.result.ending is Ending.INCOMPLETE
    assert done.result.errors == 1


def test_errors_go_on_over_a_person_s_answer() -> None:
    """The pass that waited for it was not over."""
    failed = attempt(1, Outcome.FAILED, command="one")
    unknown = attempt(2, Outcome.UNKNOWN, command="two")
    ran = replace(unknown, outcome=Outcome.OK, told_by_person=Answer.RAN)
    for last in (unknown, ran):
        shell = ScriptedShell({"one": 1, "two": 0})
        given = order(
            subtask("one", "a"),
            subtask("two", "b", needs=()),
            pass_no=2,
            earlier=[failed, last],
            policy=Policy(auto_correction_enabled=False),
        )
        assert carried_out(given, shell).result.errors == 2
