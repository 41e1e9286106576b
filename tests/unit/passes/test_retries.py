"""What a pass promises about corrections: how many, which ones, and how they count."""

import re

from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import (
    MemoryLog,
    ScriptedJudge,
    SteppingClock,
    carried_out,
    order,
    subtask,
)

ABSENT = Answer(100, stderr="E: Unable to locate package nginx")
INSTALL = "apt-get install -y nginx"
UPDATED = "apt-get update; apt-get install --fix-missing -y nginx"
SEARCH = "apt-cache search --names-only nginx"
LOCKED = Answer(
    100, stderr="E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (dpkg)"
)
UNRESOLVED = Answer(6, stderr="curl: (6) Could not resolve host: example.org")
LISTS_LOCKED = Answer(
    100,
    stderr="E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)\n"
    "E: Unable to lock directory /var/lib/apt/lists/",
)


def test_a_correction_that_works_leaves_the_subtask_done_and_the_error_counted() -> None:
    """X1: the failed attempt stays an error; each attempt has a record of its own (S0.44)."""
    shell = ScriptedShell({INSTALL: ABSENT}, default=0)
    done = carried_out(order(INSTALL, "next"), shell)
    assert shell.commands == [INSTALL, UPDATED, "next"]
    assert done.outcomes == [(1, Outcome.FAILED), (1, Outcome.OK), (2, Outcome.OK)]
    assert [a.correction for a in done.attempts] == [None, "apt_update_fix_missing", None]
    assert [a.command for a in done.attempts] == shell.commands
    assert [a.key for a in done.attempts] == [
        "R7-1-r0-1-p1-t0",
        "R7-1-r0-1-p1-t1",
        "R7-1-r0-2-p1-t0",
    ]
    assert done.result.ending is Ending.DONE
    assert done.result.errors == 1


def test_at_most_so_many_corrections_as_the_policy_allows() -> None:
    """S0.12, S0.36."""
    for limit in range(3):
        shell = ScriptedShell({SEARCH: "nginx1 - x\n"}, default=ABSENT)
        policy = Policy(max_retries_per_command=limit, error_threshold_per_step=10)
        done = carried_out(order(INSTALL, policy=policy), shell)
        assert len(done.attempts) == 1 + limit
        assert done.result.errors == 1 + limit


def test_no_correction_when_it_is_switched_off() -> None:
    """S0.13; waiting for a lock is a correction too."""
    for answer in (ABSENT, LOCKED):
        shell = ScriptedShell(default=answer)
        done = carried_out(order(INSTALL, policy=Policy(auto_correction_enabled=False)), shell)
        assert shell.commands == [INSTALL]
        assert done.outcomes == [(1, Outcome.FAILED)]


def test_no_correction_beyond_the_threshold() -> None:
    """The threshold ends the pass even if a correction is left."""
    policy = Policy(error_threshold_per_step=1)
    shell = ScriptedShell(default=ABSENT)
    done = carried_out(order(INSTALL, policy=policy), shell)
    assert shell.commands == [INSTALL]
    assert done.result.ending is Ending.THRESHOLD


def test_a_correction_is_not_repeated_on_the_same_subtask_but_may_serve_another() -> None:
    """Each rule applies once per subtask and pass."""
    policy = Policy(error_threshold_per_step=10, max_retries_per_command=5)
    shell = ScriptedShell(default=ABSENT)
    free = subtask(INSTALL, "other", needs=())
    done = carried_out(order(INSTALL, free, policy=policy), shell)
    used = [(a.subtask, a.correction) for a in done.attempts]
    assert used == [
        (1, None),
        (1, "apt_update_fix_missing"),
        (2, None),
        (2, "apt_update_fix_missing"),
    ]


def test_a_rule_that_could_always_go_on_is_used_once() -> None:
    """A name that resolves and a server that stays silent: one repetition, not five."""
    policy = Policy(error_threshold_per_step=10, max_retries_per_command=5)
    shell = ScriptedShell({"curl example.org": UNRESOLVED, "getent hosts example.org": 0})
    done = carried_out(order("curl example.org", policy=policy), shell)
    assert [a.correction for a in done.attempts] == [None, "wait_for_network"]


def test_a_failed_check_may_be_corrected_too() -> None:
    """S0.41: a service that was started and does not answer is restarted."""
    shell = ScriptedShell(
        {
            "systemctl is-active nginx": [3, 3, 3, 0],
            "systemctl cat nginx": "[Unit]",
        }
    )
    given = subtask("systemctl enable nginx", check="systemctl is-active nginx")
    done = carried_out(order(given), shell)
    assert [a.outcome for a in done.attempts] == [Outcome.CHECK_FAILED, Outcome.OK]
    assert done.attempts[1].command == (
        "systemctl reset-failed nginx; systemctl restart nginx; systemctl enable nginx"
    )
    assert not done.attempts[1].never_red


# --- the guard on corrections ---------------------------------------------------------------------


def test_a_correction_that_would_need_an_approval_is_recorded_and_left_out() -> None:
    """The plan did not ask for it: the step does not stop for it, and it uses up no retry."""
    shell = ScriptedShell({SEARCH: "nginx1 - x\n", "apt-get install -y nginx1": 0}, default=ABSENT)
    policy = Policy(max_retries_per_command=1)
    judge = ScriptedJudge(approve="update")
    done = carried_out(order(INSTALL, "next", policy=policy), shell, judge=judge)
    assert UPDATED not in shell.commands
    assert [(a.outcome, a.correction) for a in done.attempts[:3]] == [
        (Outcome.FAILED, None),
        (Outcome.NEEDS_APPROVAL, "apt_update_fix_missing"),
        (Outcome.OK, "apt_other_package"),
    ]
    assert done.result.errors >= 1
    assert len({a.key for a in done.attempts}) == len(done.attempts)


def test_a_forbidden_correction_never_starts_and_blocks_the_step() -> None:
    """As a forbidden command of the plan does (S0.61); it is no error of the step."""
    shell = ScriptedShell(default=ABSENT)
    done = carried_out(order(INSTALL, "next"), shell, judge=ScriptedJudge(deny="update"))
    assert UPDATED not in shell.commands
    assert [(a.outcome, a.correction) for a in done.attempts] == [
        (Outcome.FAILED, None),
        (Outcome.DENIED, "apt_update_fix_missing"),
    ]
    assert done.result.ending is Ending.BLOCKED
    assert done.result.errors == 1


def test_a_look_that_the_guard_forbids_does_not_happen() -> None:
    """X18: probes pass the guard like everything else; without an answer nothing is proposed."""
    shell = ScriptedShell({SEARCH: "nginx1 - x\n"}, default=ABSENT)
    done = carried_out(order(INSTALL), shell, judge=ScriptedJudge(approve="apt-cache"))
    assert SEARCH not in shell.commands
    assert [a.correction for a in done.attempts] == [None, "apt_update_fix_missing"]
    assert done.result.ending is Ending.INCOMPLETE


# --- what is held ---------------------------------------------------------------------------------


def test_a_held_lock_is_waited_for_and_is_no_error() -> None:
    """The attempt goes on with a command that waits; the record has the bytes that ran last."""
    waiting = "apt-get -o DPkg::Lock::Timeout=300 install -y nginx"
    shell = ScriptedShell({INSTALL: LOCKED, waiting: "Setting up nginx"}, default=None)
    done = carried_out(order(INSTALL), shell)
    assert shell.commands == [INSTALL, waiting]
    assert done.outcomes == [(1, Outcome.OK)]
    assert done.attempts[0].command == waiting
    assert done.attempts[0].correction == "dpkg_lock"
    assert [a.key for a in done.log.begun] == [done.attempts[0].key]
    assert done.result.errors == 0


def test_waiting_and_preparing_take_nothing_from_the_commands_own_time() -> None:
    """What runs before, and the lock's own timeout, come on top of the subtask's timeout."""
    waiting = "apt-get -o DPkg::Lock::Timeout=300 install -y nginx"
    shell = ScriptedShell({INSTALL: LOCKED, waiting: ABSENT})
    carried_out(order(subtask(INSTALL, timeout=10.0)), shell)
    assert [call.timeout for call in shell.calls] == [10.0, 310.0, 130.0]


def test_a_lock_that_apt_cannot_wait_for_is_asked_again_with_growing_pauses() -> None:
    """The lists' lock: the same command, until it is free."""
    shell = ScriptedShell({"apt-get update": [LISTS_LOCKED] * 4 + [0]}, default=None)
    done = carried_out(order("apt-get update"), shell)
    assert shell.commands == ["apt-get update"] * 5
    assert sum(done.clock.waits) == 1 + 1 + 2 + 4
    assert done.outcomes == [(1, Outcome.OK)]
    assert done.result.errors == 0


def test_a_lock_that_is_never_given_back_is_one_error_and_uses_up_no_retry() -> None:
    """Waiting is bounded; afterwards the failure counts once."""
    shell = ScriptedShell({"apt-get update": LISTS_LOCKED}, default=None)
    done = carried_out(order("apt-get update"), shell)
    assert done.outcomes == [(1, Outcome.FAILED)]
    assert done.result.errors == 1
    assert 240 < sum(done.clock.waits) <= 330


def test_waiting_for_a_lock_uses_up_no_retry() -> None:
    """A command that fails after waiting gets as many corrections as one that fails at once."""
    shell = ScriptedShell({INSTALL: LOCKED, re.compile("--fix-missing"): 0}, default=ABSENT)
    done = carried_out(order(INSTALL, policy=Policy(max_retries_per_command=1)), shell)
    assert [(a.outcome, a.correction) for a in done.attempts] == [
        (Outcome.FAILED, "dpkg_lock"),
        (Outcome.OK, "apt_update_fix_missing"),
    ]


def test_cancelling_ends_the_waiting_for_a_lock() -> None:
    """Once the pass is cancelled, it waits for no lock."""
    clock = SteppingClock()
    log = MemoryLog(stop=lambda _: clock.waits != [])
    shell = ScriptedShell({"apt-get update": LISTS_LOCKED}, default=None)
    done = carried_out(order("apt-get update"), shell, log=log, clock=clock)
    assert shell.commands == ["apt-get update"]
    assert done.outcomes == [(1, Outcome.CANCELLED)]
    assert done.result.ending is Ending.CANCELLED
    assert done.result.errors == 0


def test_a_lock_met_by_a_corrected_command_does_not_change_the_corrections_name() -> None:
    """The record names the rule that changed the command."""
    again = (
        "apt-get -o DPkg::Lock::Timeout=300 update;"
        " apt-get -o DPkg::Lock::Timeout=300 install --fix-missing -y nginx"
    )
    shell = ScriptedShell({INSTALL: ABSENT, UPDATED: LOCKED, again: 0}, default=None)
    done = carried_out(order(INSTALL), shell)
    assert shell.commands == [INSTALL, UPDATED, again]
    assert [a.correction for a in done.attempts] == [None, "apt_update_fix_missing"]
    assert done.attempts[1].outcome is Outcome.OK


# --- waiting for the network ----------------------------------------------------------------------


def test_a_name_that_resolves_again_lets_the_command_repeat() -> None:
    """S0.40: the rule waits until it is there, then repeats the command once."""
    shell = ScriptedShell(
        {"curl example.org": [UNRESOLVED, 0], "getent hosts example.org": [2, 2, 0]}, default=None
    )
    done = carried_out(order("curl example.org"), shell)
    assert done.outcomes == [(1, Outcome.FAILED), (1, Outcome.OK)]
    assert shell.commands.count("getent hosts example.org") == 3
    assert sum(done.clock.waits) == 1 + 2


def test_without_a_network_nothing_further_is_tried() -> None:
    """A repetition that must fail would only use up the error budget."""
    shell = ScriptedShell(
        {"curl example.org": UNRESOLVED, "getent hosts example.org": 2}, default=None
    )
    done = carried_out(order("curl example.org"), shell)
    assert done.outcomes == [(1, Outcome.FAILED)]
    assert 0 < sum(done.clock.waits) <= 20
    assert done.result.errors == 1


def test_a_condition_that_may_not_be_looked_at_is_taken_as_met() -> None:
    """The guard's refusal of the look does not forbid the repetition."""
    shell = ScriptedShell({"curl example.org": [UNRESOLVED, 0]}, default=None)
    done = carried_out(order("curl example.org"), shell, judge=ScriptedJudge(approve="getent"))
    assert done.result.ending is Ending.DONE
