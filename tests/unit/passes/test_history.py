"""What earlier attempts mean: resuming a pass, another pass, another revision."""

import re

from shared.domain.attempt import Attempt
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from shared.domain.plan import Recovery
from tests.fakes.scripted_shell import Answer, ScriptedAnswer, ScriptedShell
from tests.unit.passes.given import (
    attempt,
    carried_out,
    ended,
    order,
    subtask,
)

ABSENT = ended("apt-get install -y nginx", 100, stderr="E: Unable to locate package nginx")
INSTALL = "apt-get install -y nginx"
UPDATED = "apt-get update; apt-get install --fix-missing -y nginx"


# --- the same pass, resumed -----------------------------------------------------------------------


def test_what_a_resumed_pass_has_done_is_not_repeated() -> None:
    """Subtasks with green attempts in this pass are done, whatever their check would say now."""
    shell = ScriptedShell()
    earlier = [attempt(1, Outcome.OK), attempt(2, Outcome.SATISFIED)]
    given = order("a", subtask("b", "s2", check="look", needs=("s1",)), "c", earlier=earlier)
    done = carried_out(given, shell)
    assert shell.commands == ["c"]
    assert done.result.ending is Ending.DONE


def test_a_resumed_pass_goes_on_with_the_next_correction() -> None:
    """The failed attempt is not repeated, its try and its error count."""
    shell = ScriptedShell()
    earlier = [attempt(1, command=INSTALL, result=ABSENT)]
    done = carried_out(order(INSTALL, earlier=earlier), shell)
    assert shell.commands == [UPDATED]
    assert [(a.try_no, a.number, a.correction) for a in done.attempts] == [
        (1, 2, "apt_update_fix_missing")
    ]
    assert done.result.errors == 1


def test_a_resumed_pass_has_the_retries_left_that_it_had() -> None:
    """Corrections that ran before count against the limit."""
    earlier = [
        attempt(1, command=INSTALL, result=ABSENT),
        attempt(
            1,
            command=UPDATED,
            result=ABSENT,
            try_no=1,
            number=2,
            correction="apt_update_fix_missing",
        ),
    ]
    shell = ScriptedShell()
    given = order(INSTALL, earlier=earlier, policy=Policy(max_retries_per_command=1))
    done = carried_out(given, shell)
    assert shell.commands == []
    assert done.result.ending is Ending.INCOMPLETE
    assert done.result.errors == 2


def test_a_resumed_pass_passes_over_a_correction_that_was_left_out() -> None:
    """It settled nothing: the next rule looks at the failure before it."""
    earlier = [
        attempt(1, command=INSTALL, result=ABSENT),
        attempt(1, Outcome.NEEDS_APPROVAL, try_no=1, number=2, correction="apt_update_fix_missing"),
    ]
    shell = ScriptedShell({"apt-cache search --names-only nginx": "nginx1 - x\n"})
    done = carried_out(order(INSTALL, earlier=earlier), shell)
    assert [(a.outcome, a.correction) for a in done.attempts] == [(Outcome.OK, "apt_other_package")]


def test_a_resumed_pass_ends_at_a_correction_that_was_denied() -> None:
    earlier = [
        attempt(1, command=INSTALL, result=ABSENT),
        attempt(1, Outcome.DENIED, try_no=1, number=2, correction="apt_update_fix_missing"),
    ]
    done = carried_out(order(INSTALL, earlier=earlier), ScriptedShell(default=None))
    assert (done.result.ending, done.attempts) == (Ending.BLOCKED, [])


def test_a_resumed_pass_runs_no_text_again() -> None:
    """A command that ran before, under any name, is not proposed again."""
    earlier = [
        attempt(1, command=UPDATED, result=ABSENT),
        attempt(1, command=INSTALL, result=ABSENT, try_no=1, number=2, correction="old_rule"),
    ]
    shell = ScriptedShell()
    done = carried_out(order(INSTALL, earlier=earlier), shell)
    assert UPDATED not in shell.commands
    assert done.result.ending is Ending.INCOMPLETE


def test_a_resumed_pass_that_had_reached_the_threshold_ends_there() -> None:
    """The report was lost, not the errors."""
    earlier = [attempt(1, number=n, try_no=n - 1) for n in range(1, 5)]
    shell = ScriptedShell()
    done = carried_out(order("a", "b", earlier=earlier), shell)
    assert shell.commands == []
    assert done.result.ending is Ending.THRESHOLD
    assert done.result.errors == 4


def test_a_resumed_pass_that_was_blocked_ends_there_and_records_nothing_new() -> None:
    """Refusals and skips of this pass stand."""
    denied = attempt(1, Outcome.DENIED, reason="command: forbidden")
    done = carried_out(order("a", earlier=[denied]), ScriptedShell(default=None))
    assert (done.result.ending, done.attempts) == (Ending.BLOCKED, [])

    earlier = [attempt(1), attempt(2, Outcome.BLOCKED)]
    done = carried_out(order("a", "b", earlier=earlier), ScriptedShell(default=None))
    assert (done.result.ending, done.attempts) == (Ending.INCOMPLETE, [])


def test_what_waited_for_an_approval_or_was_cancelled_may_still_run() -> None:
    """Neither was a try of the command; the next attempt has a key and a number of its own."""
    for outcome in (Outcome.NEEDS_APPROVAL, Outcome.CANCELLED):
        shell = ScriptedShell()
        done = carried_out(order("a", earlier=[attempt(1, outcome)]), shell)
        assert shell.commands == ["a"]
        assert [(a.try_no, a.number) for a in done.attempts] == [(1, 2)]
        assert done.result.ending is Ending.DONE


def test_a_pass_cut_anywhere_and_resumed_ends_as_if_it_had_not_been_cut() -> None:
    """Whatever part of its attempts was recorded, the whole is the same; nothing runs twice."""
    listed = (
        "a",
        subtask(INSTALL, "s2", needs=("s1",)),
        subtask("c", "s3", needs=("s2",)),
        subtask("d", "s4", needs=("s1",)),
        subtask("e", "s5", check="look", needs=("s4",)),
    )
    answers: dict[str | re.Pattern[str], ScriptedAnswer] = {
        INSTALL: Answer(100, stderr="E: Unable to locate package nginx"),
        UPDATED: Answer(100, stderr="E: Unable to locate package nginx"),
        "look": 1,
    }
    whole = carried_out(order(*listed), ScriptedShell(answers))
    for cut in range(len(whole.attempts)):
        shell = ScriptedShell(answers)
        rest = carried_out(order(*listed, earlier=whole.attempts[:cut]), shell)
        together = [*whole.attempts[:cut], *rest.attempts]
        assert [_told(a) for a in together] == [_told(a) for a in whole.attempts]
        assert rest.result == whole.result


def _told(one: Attempt) -> tuple[object, ...]:
    return one.key, one.number, one.outcome, one.correction, one.reason


# --- another pass of the same revision ------------------------------------------------------------


def test_finished_work_is_not_redone_by_another_pass() -> None:
    """S1.15: without a check it is done; with one, the check tells whether that still holds."""
    shell = ScriptedShell({"holds": 0, "gone": [1, 0]})
    earlier = [
        attempt(1, Outcome.OK),
        attempt(2, Outcome.OK),
        attempt(3, Outcome.OK),
        attempt(4, Outcome.FAILED),
    ]
    given = order(
        "a",
        subtask("b", "s2", check="holds", needs=()),
        subtask("c", "s3", check="gone", needs=()),
        subtask("d", "s4", needs=()),
        earlier=earlier,
        pass_no=2,
    )
    done = carried_out(given, shell)
    assert shell.commands == ["holds", "gone", "c", "gone", "d"]
    assert done.outcomes == [(2, Outcome.SATISFIED), (3, Outcome.OK), (4, Outcome.OK)]
    assert done.result.ending is Ending.DONE


def test_a_check_that_was_red_in_an_earlier_pass_has_been_red() -> None:
    """Satisfied now, but not reported as never red."""
    red = ended("look", 1)
    earlier = [attempt(1, Outcome.CHECK_FAILED, result=ended(), check=red)]
    given = order(subtask("a", check="look"), earlier=earlier, pass_no=2)
    done = carried_out(given, ScriptedShell({"look": 0}))
    assert done.outcomes == [(1, Outcome.SATISFIED)]
    assert not done.attempts[0].never_red


def test_an_unmet_precondition_says_nothing_about_the_check() -> None:
    """It was red, the check was not looked at."""
    earlier = [attempt(1, Outcome.PRECONDITION_UNMET, check=ended("which x", 1))]
    given = order(subtask("a", check="look"), earlier=earlier, pass_no=2)
    done = carried_out(given, ScriptedShell({"look": 0}))
    assert done.attempts[0].never_red


def test_errors_before_a_correction_that_nobody_approved_do_not_count_on() -> None:
    """That pass was over: only a planned text stops for an approval."""
    earlier = [
        attempt(1),
        attempt(1, Outcome.NEEDS_APPROVAL, try_no=1, number=2, correction="apt_no_recommends"),
    ]
    done = carried_out(order("a", earlier=earlier, pass_no=2), ScriptedShell())
    assert done.result.errors == 0


def test_another_try_of_a_failed_pass_starts_at_0_errors() -> None:
    """S1.4 for `recovery: retry`, S1.13 after a resume: the earlier pass had its answer."""
    earlier = [attempt(1, number=n, try_no=n - 1) for n in range(1, 5)]
    for recovery in Recovery:
        done = carried_out(
            order("a", "b", earlier=earlier, pass_no=2, recovery=recovery), ScriptedShell()
        )
        assert done.result.ending is Ending.DONE
        assert done.result.errors == 0
        assert done.attempts[0].number == 5
        assert done.attempts[0].key == "R7-1-r0-1-p2-t0"


def test_errors_before_an_approval_count_on_after_it() -> None:
    """A pass that stopped for an approval is continued, not tried again."""
    earlier = [
        attempt(1, number=1, pass_no=1),
        attempt(2, Outcome.NEEDS_APPROVAL, pass_no=1),
        attempt(2, Outcome.FAILED, number=2, pass_no=2),
        attempt(3, Outcome.NEEDS_APPROVAL, pass_no=2),
    ]
    given = order("a", subtask("b", "s2", needs=()), "c", earlier=earlier, pass_no=3)
    done = carried_out(given, ScriptedShell(default=1))
    assert done.outcomes == [(1, Outcome.FAILED), (2, Outcome.FAILED)]
    assert done.result.ending is Ending.THRESHOLD
    assert done.result.errors == 4


# --- another revision -----------------------------------------------------------------------------


def test_another_revision_starts_with_nothing_but_the_numbers() -> None:
    """S0.58: no error, no success and no correction of an older list of subtasks counts."""
    earlier = [
        attempt(1, Outcome.OK),
        attempt(2, command=INSTALL, result=ABSENT, number=3),
        attempt(2, command=UPDATED, number=4, try_no=1, correction="apt_update_fix_missing"),
    ]
    shell = ScriptedShell({INSTALL: Answer(100, stderr="E: Unable to locate package nginx")})
    done = carried_out(order("a", INSTALL, earlier=earlier, revision=1, pass_no=2), shell)
    assert shell.commands == ["a", INSTALL, UPDATED]
    assert [(a.subtask, a.number, a.try_no) for a in done.attempts] == [
        (1, 2, 0),
        (2, 5, 0),
        (2, 6, 1),
    ]
    assert done.result.errors == 1
