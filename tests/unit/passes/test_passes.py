"""What a pass promises about running, checking, counting and stopping."""

import pytest

from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.errors import Defect, Rejected, Transient
from shared.domain.outcome import Outcome
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import (
    MemoryLog,
    ScriptedJudge,
    carried_out,
    order,
    subtask,
)
from workers.shells.door import Door
from workers.shells.ports import Call

ONCE = Policy(max_retries_per_command=0)


# --- running --------------------------------------------------------------------------------------


def test_a_subtask_without_a_check_costs_one_run_and_one_verdict() -> None:
    """Nothing but the command reaches the host, with the subtask's own timeout."""
    shell = ScriptedShell()
    done = carried_out(order(subtask("make", timeout=7.0), "make install"), shell)
    assert [(call.command, call.timeout) for call in shell.calls] == [
        ("make", 7.0),
        ("make install", 300.0),
    ]
    assert done.judge.judged == ["make", "make install"]
    assert done.outcomes == [(1, Outcome.OK), (2, Outcome.OK)]
    assert done.result.ending is Ending.DONE
    assert not any(attempt.never_red for attempt in done.attempts)


def test_an_attempt_is_announced_before_it_runs_and_its_output_is_named_after_it() -> None:
    """`started`, the output as it comes, `finished`: all under one key."""
    shell = ScriptedShell({"make": Answer(stdout="built\n", stderr="warned\n")})
    done = carried_out(order("make"), shell)
    key = "R7-1-r0-1-p1-t0"
    assert [a.key for a in done.log.begun] == [key] == [a.key for a in done.attempts]
    assert done.log.outputs == [(key, "stdout", b"built\n"), (key, "stderr", b"warned\n")]
    assert done.attempts[0].result is not None
    assert done.attempts[0].result.streams[1] == b"warned\n"


def test_needs_decide_the_order() -> None:
    """A subtask runs after what it needs, otherwise in the plan's order."""
    shell = ScriptedShell()
    carried_out(order(subtask("late", "a", needs=("b",)), subtask("first", "b", needs=())), shell)
    assert shell.commands == ["first", "late"]


def test_needs_in_a_circle_are_rejected_before_anything_runs() -> None:
    """A plan that cannot be carried out gets a clear error."""
    shell = ScriptedShell(default=None)
    circle = order(subtask("x", "a", needs=("b",)), subtask("y", "b", needs=("a",)))
    with pytest.raises(Rejected):
        carried_out(circle, shell)


def test_a_lost_connection_is_the_callers_to_handle() -> None:
    """Errors of the shell pass through; the attempt has no end."""
    shell = ScriptedShell({"two": Transient("connection lost", stage="ssh")})
    log = MemoryLog()
    with pytest.raises(Transient):
        carried_out(order("one", "two"), shell, log=log)
    assert [a.command for a in log.begun] == ["one", "two"]
    assert [a.command for a in log.ended] == ["one"]


def test_a_command_that_no_host_can_take_is_the_planners_error() -> None:
    """It is counted and part of the evidence; the rest of the step goes on."""
    shell = ScriptedShell({"too long": Rejected("the command is too long", stage="execute")})
    done = carried_out(order("too long", subtask("b", "s2", needs=())), shell)
    assert done.outcomes == [(1, Outcome.FAILED), (2, Outcome.OK)]
    assert done.attempts[0].reason == "it could not be run: the command is too long"
    assert done.result.errors == 1


# --- checks ---------------------------------------------------------------------------------------


def test_what_is_so_already_does_not_run() -> None:
    """S0.87: a green check beforehand settles the subtask, reported as never seen red."""
    shell = ScriptedShell({"is-there": 0}, default=None)
    done = carried_out(order(subtask("make-it", check="is-there")), shell)
    assert shell.commands == ["is-there"]
    assert done.outcomes == [(1, Outcome.SATISFIED)]
    assert done.attempts[0].never_red
    assert done.attempts[0].result is None
    assert done.log.begun == []
    assert done.result.ending is Ending.DONE


def test_a_check_that_turns_green_is_proof() -> None:
    """Red before, green after: done, and the check was seen red."""
    shell = ScriptedShell({"is-there": [1, 0]})
    done = carried_out(order(subtask("make-it", check="is-there")), shell)
    assert shell.commands == ["is-there", "make-it", "is-there"]
    assert done.outcomes == [(1, Outcome.OK)]
    assert not done.attempts[0].never_red


def test_a_check_that_could_not_be_read_before_is_reported_as_never_red() -> None:
    """A check that timed out beforehand says nothing, so a green one proves nothing."""
    shell = ScriptedShell({"is-there": [Answer(takes=99.0), 0]})
    done = carried_out(order(subtask("make-it", check="is-there")), shell)
    assert done.outcomes == [(1, Outcome.OK)]
    assert done.attempts[0].never_red


def test_a_red_check_after_exit_code_0_is_an_error() -> None:
    """X20."""
    shell = ScriptedShell({"is-there": Answer(3, stderr="nothing there")})
    done = carried_out(order(subtask("make-it", check="is-there"), policy=ONCE), shell)
    assert done.outcomes == [(1, Outcome.CHECK_FAILED)]
    assert done.attempts[0].reason == "exit code 0, but its check: exit code 3"
    assert done.attempts[0].check is not None
    assert done.attempts[0].check.stderr == b"nothing there"
    assert done.result.errors == 1


def test_the_check_decides_and_not_the_exit_code() -> None:
    """S0.33: exit code 1 with a green check is done, with the reason noted."""
    shell = ScriptedShell({"make-it": 1, "is-there": [1, 0]})
    done = carried_out(order(subtask("make-it", check="is-there")), shell)
    assert done.outcomes == [(1, Outcome.OK)]
    assert done.attempts[0].reason == "exit code 1, but its check is green"
    assert done.result.errors == 0


def test_a_service_gets_its_moment() -> None:
    """A check that is red right after exit code 0 runs again, after growing pauses."""
    shell = ScriptedShell({"is-up": [1, 1, 1, 0]})
    done = carried_out(order(subtask("start", check="is-up")), shell, settle=(0.5, 2.0, 9.0))
    assert shell.commands == ["is-up", "start", "is-up", "is-up", "is-up"]
    assert sum(done.clock.waits) == pytest.approx(2.5)
    assert done.outcomes == [(1, Outcome.OK)]


def test_the_moment_ends() -> None:
    """After the last pause, the result of the check stands."""
    shell = ScriptedShell({"is-up": 1})
    done = carried_out(
        order(subtask("start", check="is-up"), policy=ONCE), shell, settle=(0.5, 2.0)
    )
    assert shell.commands == ["is-up", "start", "is-up", "is-up", "is-up"]
    assert done.outcomes == [(1, Outcome.CHECK_FAILED)]


@pytest.mark.parametrize(
    ("takes", "timeouts"), [(3.0, [10.0, 10.0, 6.0, 2.0]), (4.0, [10.0, 10.0, 5.0])]
)
def test_looks_and_pauses_stay_within_the_check_timeout(
    takes: float, timeouts: list[float]
) -> None:
    """However many pauses there are, no look gets more than the time that is left."""
    policy = Policy(check_timeout=10.0, max_retries_per_command=0)
    shell = ScriptedShell({"is-up": Answer(1, takes=takes)})
    done = carried_out(
        order(subtask("start", check="is-up"), policy=policy), shell, settle=(1.0,) * 50
    )
    looks = [call.timeout for call in shell.calls if call.command == "is-up"]
    assert looks == timeouts
    assert done.outcomes == [(1, Outcome.CHECK_FAILED)]


def test_a_failed_command_gets_one_look_and_no_pauses() -> None:
    """After a failure, the check does not wait for a service to start."""
    shell = ScriptedShell({"start": 1, "is-up": 1})
    done = carried_out(
        order(subtask("start", check="is-up"), policy=ONCE), shell, settle=(0.5, 2.0)
    )
    assert shell.commands == ["is-up", "start", "is-up"]
    assert done.clock.waits == []


def test_a_timeout_counts_and_is_never_corrected() -> None:
    """Nobody knows what a command did before its timeout: it does not run again."""
    shell = ScriptedShell({"slow": Answer(100, stderr="E: Unable to locate package x", takes=5.0)})
    done = carried_out(order(subtask("slow", timeout=2.0)), shell)
    assert done.outcomes == [(1, Outcome.TIMED_OUT)]
    assert done.attempts[0].reason == "ended after 2 s, its timeout"
    assert done.result.errors == 1


# --- preconditions and needs ----------------------------------------------------------------------


def test_an_unmet_precondition_is_one_error_and_the_command_does_not_run() -> None:
    """X3: counted once, not corrected; the later preconditions are not looked at."""
    shell = ScriptedShell({"which git": 1}, default=0)
    given = subtask("git clone x", preconditions=("true", "which git", "which sh"))
    done = carried_out(order(given), shell)
    assert shell.commands == ["true", "which git"]
    assert done.outcomes == [(1, Outcome.PRECONDITION_UNMET)]
    assert done.attempts[0].reason == "precondition not met: which git (exit code 1)"
    assert done.result.errors == 1


def test_what_needs_a_failed_subtask_is_passed_over_uncounted_and_the_rest_goes_on() -> None:
    """X3, X2: the pass ends incomplete, below the threshold."""
    shell = ScriptedShell({"b": 1})
    done = carried_out(order("a", "b", "c", subtask("d", "s4", needs=("s1",)), "e"), shell)
    assert done.outcomes == [
        (1, Outcome.OK),
        (2, Outcome.FAILED),
        (3, Outcome.BLOCKED),
        (4, Outcome.OK),
        (5, Outcome.OK),
    ]
    assert done.attempts[2].reason == "needs s2, which is not done"
    assert done.result.ending is Ending.INCOMPLETE
    assert done.result.errors == 1
    assert "T1.1.2, T1.1.3" in done.result.reason


def test_the_threshold_ends_the_pass_at_once() -> None:
    """S0.46: nothing runs after the error that reaches it."""
    policy = Policy(error_threshold_per_step=2, max_retries_per_command=0)
    free = [subtask(f"c{n}", f"k{n}", needs=()) for n in range(5)]
    shell = ScriptedShell(default=1)
    done = carried_out(order(*free, policy=policy), shell)
    assert shell.commands == ["c0", "c1"]
    assert done.result.ending is Ending.THRESHOLD
    assert done.result.errors == 2


# --- the guard ------------------------------------------------------------------------------------

PLANNED = subtask("the-command", check="the-check", preconditions=("the-precondition",))


@pytest.mark.parametrize("what", ["the-check", "the-precondition", "the-command"])
def test_a_forbidden_string_of_the_plan_stops_the_step_before_it_runs(what: str) -> None:
    """S0.61, S0.86, X18: any denied text is refused and logged; nothing follows."""
    shell = ScriptedShell({"the-check": 1})
    done = carried_out(order(PLANNED, "next"), shell, judge=ScriptedJudge(deny=what))
    assert what not in shell.commands
    assert "next" not in shell.commands
    assert done.outcomes == [(1, Outcome.DENIED)]
    assert done.attempts[0].command == what
    assert done.attempts[0].rule == f"rule:{what}"
    assert done.result.ending is Ending.BLOCKED
    assert done.result.errors == 0


@pytest.mark.parametrize("what", ["the-check", "the-precondition", "the-command"])
def test_what_nobody_has_approved_waits(what: str) -> None:
    """X17: the attempt contains the exact text to approve; with the approval it runs."""
    judge = ScriptedJudge(approve=what)
    shell = ScriptedShell({"the-check": [1, 0]})
    done = carried_out(order(PLANNED), shell, judge=judge)
    assert what not in shell.commands
    assert done.outcomes == [(1, Outcome.NEEDS_APPROVAL)]
    assert done.attempts[0].command == what
    assert done.result.ending is Ending.NEEDS_APPROVAL

    shell = ScriptedShell({"the-check": [1, 0]})
    done = carried_out(order(PLANNED), shell, judge=judge, approved=lambda text: text == what)
    assert done.result.ending is Ending.DONE
    assert what in shell.commands


def test_no_approval_lets_a_forbidden_command_run() -> None:
    """A deny is never overridden from the same screen."""
    shell = ScriptedShell(default=None)
    done = carried_out(
        order("rm -rf /"), shell, judge=ScriptedJudge(deny="rm"), approved=lambda _: True
    )
    assert done.result.ending is Ending.BLOCKED


def test_a_check_is_judged_once_however_often_it_runs() -> None:
    """The verdict of identical bytes is kept for the pass."""
    shell = ScriptedShell({"is-up": [1, 1, 0]})
    done = carried_out(order(subtask("start", check="is-up")), shell, settle=(0.1, 0.1))
    assert done.judge.judged == ["is-up", "start"]


def test_a_critical_command_waits_for_a_person_and_then_runs_as_it_was_confirmed() -> None:
    """S0.88: never without a confirmation, never changed by a rule."""
    given = order(subtask("apt-get install nginx", critical=True))
    absent = Answer(100, stderr="E: Unable to locate package nginx")
    shell = ScriptedShell({"apt-get install nginx": absent}, default=None)
    waiting = carried_out(given, shell)
    assert shell.commands == []
    assert waiting.result.ending is Ending.NEEDS_APPROVAL
    assert waiting.attempts[0].rule == "critical"

    done = carried_out(given, shell, approved=lambda text: text == "apt-get install nginx")
    assert shell.commands == ["apt-get install nginx"]
    assert done.outcomes == [(1, Outcome.FAILED)]


def test_the_door_lets_nothing_through_that_was_not_allowed() -> None:
    """X18: running what the guard refuses is a defect of this program, not a possibility."""
    shell = ScriptedShell(default=None)
    for judge in (ScriptedJudge(deny="x"), ScriptedJudge(approve="x")):
        with pytest.raises(Defect):
            Door(shell, judge).look(Call("x", 1.0))
    assert shell.commands == []


# --- cancelling -----------------------------------------------------------------------------------


def test_a_cancelled_pass_runs_nothing_more() -> None:
    """Between two subtasks."""
    shell = ScriptedShell()
    done = carried_out(order("a", "b"), shell, log=MemoryLog(stop=lambda log: len(log.ended) == 1))
    assert shell.commands == ["a"]
    assert done.result.ending is Ending.CANCELLED


def test_a_command_that_was_cancelled_is_not_an_error() -> None:
    """In the middle of a command: recorded as cancelled, not counted, not corrected."""
    shell = ScriptedShell()
    done = carried_out(order("a", "b"), shell, log=MemoryLog(stop=lambda log: len(log.begun) == 1))
    assert done.outcomes == [(1, Outcome.CANCELLED)]
    assert done.result.ending is Ending.CANCELLED
    assert done.result.errors == 0


def test_a_pass_that_is_cancelled_while_it_waits_for_a_check_stops_waiting() -> None:
    """The pauses are short slices."""
    log = MemoryLog()
    shell = ScriptedShell({"is-up": 1, "start": lambda _: _stop(log)})
    done = carried_out(order(subtask("start", check="is-up")), shell, log=log, settle=(600.0,) * 3)
    assert done.outcomes == [(1, Outcome.CANCELLED)]
    assert sum(done.clock.waits) < 1


def _stop(log: MemoryLog) -> int:
    log.stop = lambda _: True
    return 0


def test_a_pass_that_is_cancelled_after_a_failure_neither_looks_nor_corrects() -> None:
    """Nothing more reaches the host, and the pass ends as cancelled."""
    log = MemoryLog(stop=lambda log: log.ended != [])
    shell = ScriptedShell({"python -V": Answer(127, stderr="sh: 1: python: not found")})
    done = carried_out(order("python -V"), shell, log=log)
    assert shell.commands == ["python -V"]
    assert done.outcomes == [(1, Outcome.FAILED)]
    assert done.result.ending is Ending.CANCELLED
