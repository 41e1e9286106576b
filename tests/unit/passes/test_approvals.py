"""Approvals in a pass: requested, used directly before a start, and never for another text."""

import pytest

from shared.domain.approval import SubtaskPart
from shared.domain.attempt import CommandResult, Unknown
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.errors import Misconfigured
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.domain.preview import Preview
from shared.domain.snippet import as_command
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import (
    NOON,
    MemoryLog,
    OnceApproved,
    ScriptedJudge,
    SteppingClock,
    ended,
    order,
    shell_means,
    subtask,
)
from workers.passes.passes import carry_out
from workers.passes.ports import Approvals, Granted, PassOrder, PassResult, Unapproved

SEEN = Preview(exit_code=0)


def passed(
    given: PassOrder,
    shell: ScriptedShell,
    approvals: Approvals | None = None,
    *,
    judge: ScriptedJudge | None = None,
    log: MemoryLog | None = None,
) -> PassResult:
    log, clock = log or MemoryLog(), SteppingClock()
    means = shell_means(given, shell, judge or ScriptedJudge(approve="ask"), log, clock)
    return carry_out(given, means, log, clock, approvals=approvals, settle=())


def asked(result: PassResult) -> list[tuple[int, SubtaskPart, str]]:
    return [(u.subtask, u.part, u.text) for u in result.unapproved]


def test_a_pass_that_waits_says_all_that_its_subtask_asks_for() -> None:
    """All at once, so that nobody is asked three times about one subtask."""
    one = subtask("ask-run", check="ask-check", preconditions=("ask-pre", "fine"))
    shell = ScriptedShell(default=None)
    result = passed(order(one, "ask-later"), shell)
    assert result.ending is Ending.NEEDS_APPROVAL
    assert asked(result) == [
        (1, SubtaskPart.CHECK, "ask-check"),
        (1, SubtaskPart.PRECONDITION, "ask-pre"),
        (1, SubtaskPart.COMMAND, "ask-run"),
    ]
    assert [u.verdict.rule for u in result.unapproved] == ["rule:ask"] * 3


def test_a_pass_that_does_not_wait_asks_for_nothing() -> None:
    assert passed(order("fine"), ScriptedShell()).unapproved == ()
    denied = passed(order("no"), ScriptedShell(default=None), judge=ScriptedJudge(deny="no"))
    assert (denied.ending, denied.unapproved) == (Ending.BLOCKED, ())


def test_what_is_approved_already_is_not_asked_for_again() -> None:
    one = subtask("ask-run", check="ask-check")
    shell = ScriptedShell({"ask-check": 1})
    result = passed(order(one), shell, OnceApproved({"ask-check"}))
    # Its approval served this pass; the next one will look again.
    assert asked(result) == [
        (1, SubtaskPart.CHECK, "ask-check"),
        (1, SubtaskPart.COMMAND, "ask-run"),
    ]
    held = passed(order(one), ScriptedShell(default=None), OnceApproved({"ask-run"}))
    assert asked(held) == [(1, SubtaskPart.CHECK, "ask-check")]


def test_an_approved_command_runs_under_the_key_that_has_used_its_approval() -> None:
    approvals, shell = OnceApproved({"ask-run"}), ScriptedShell()
    assert passed(order("ask-run"), shell, approvals).ending is Ending.DONE
    assert approvals.used == {"ask-run": "R7-1-r0-1-p1-t0"}


def test_one_approval_is_no_leave_for_a_second_attempt() -> None:
    """The next pass asks again."""
    approvals, shell = OnceApproved({"ask-run"}), ScriptedShell({"ask-run": 1})
    assert passed(order("ask-run"), shell, approvals).ending is Ending.INCOMPLETE
    again = passed(order("ask-run", pass_no=2), shell, approvals)
    assert again.ending is Ending.NEEDS_APPROVAL
    assert asked(again) == [(1, SubtaskPart.COMMAND, "ask-run")]
    assert shell.commands == ["ask-run"]


def test_a_pass_that_is_driven_on_has_the_approval_that_it_had() -> None:
    """Its worker died after the approval was used and before the command began."""
    approvals = OnceApproved({"ask-run"}, {"ask-run": "R7-1-r0-1-p1-t0"})
    shell = ScriptedShell()
    assert passed(order("ask-run"), shell, approvals).ending is Ending.DONE
    assert shell.commands == ["ask-run"]


def test_an_approved_check_may_be_looked_at_as_often_as_the_pass_needs_it() -> None:
    """Before and after count as one look for a person. Another pass is another look."""
    one = subtask("run", check="ask-check")
    approvals, shell = OnceApproved({"ask-check"}), ScriptedShell({"ask-check": [1, 0]})
    assert passed(order(one), shell, approvals).ending is Ending.DONE
    assert shell.commands == ["ask-check", "run", "ask-check"]
    assert approvals.used == {"ask-check": "R7-1-r0-1-p1-look"}
    assert passed(order(one, pass_no=2), shell, approvals).ending is Ending.NEEDS_APPROVAL


def test_a_command_whose_end_nobody_knows_is_not_run_again_on_its_approval() -> None:
    """It is idempotent and would be repeated, but a person approved only one start."""
    unknown = CommandResult("ask-run", None, b"", b"", NOON, NOON, unknown=Unknown.SHELL_KILLED)
    shell = ScriptedShell(default=None)
    shell.remember("R7-1-r0-1-p1-t0", "ask-run", unknown, label='[null, "ask-run"]')
    approvals = OnceApproved({"ask-run"}, {"ask-run": "R7-1-r0-1-p1-t0"})
    log = MemoryLog()
    result = passed(order(subtask("ask-run", idempotent=True)), shell, approvals, log=log)
    assert result.ending is Ending.NEEDS_APPROVAL
    assert [a.outcome for a in log.ended] == [Outcome.UNKNOWN, Outcome.NEEDS_APPROVAL]
    assert shell.commands == []


def test_a_check_that_may_not_be_looked_at_any_more_is_the_operator_s() -> None:
    """The command ran under an earlier driver; its outcome is unknown until the check may run."""
    shell = ScriptedShell(default=None)
    shell.remember("R7-1-r0-1-p1-t0", "run", ended("run"), label='[null, "run"]')
    with pytest.raises(Misconfigured, match="its check may not run"):
        passed(order(subtask("run", check="ask-check")), shell)


def test_a_correction_is_not_what_was_approved() -> None:
    """Approved or not: the plan did not contain it, and nobody was asked about it."""
    command, absent = "apt-get install -y nginx", "E: Unable to locate package nginx"
    shell = ScriptedShell({command: Answer(100, stderr=absent)})
    judge = ScriptedJudge(approve="apt-get")
    everything = OnceApproved({command, "apt-get update; apt-get install --fix-missing -y nginx"})
    result = passed(order(command), shell, everything, judge=judge)
    assert result.ending is Ending.INCOMPLETE
    assert [c for c in shell.commands if "apt-get" in c] == [command]


# --- under `autonomy: plan` ----------------------------------------------------------------------

PLANNED = Policy(autonomy="plan")


def test_where_plans_are_approved_nothing_else_runs() -> None:
    """Whatever the guard says: somebody may have changed the row of the plan since."""
    shell = ScriptedShell(default=None)
    result = passed(order("fine", "also", policy=PLANNED), shell)
    assert result.ending is Ending.NEEDS_APPROVAL
    assert asked(result) == [(1, SubtaskPart.COMMAND, "fine"), (2, SubtaskPart.COMMAND, "also")]
    assert {u.verdict.rule for u in result.unapproved} == {"plan"}


def test_what_was_approved_with_the_plan_runs_and_its_checks_need_not_be() -> None:
    shell = ScriptedShell({"look": 1, "fine": 0})
    one = subtask("fine", check="look")
    shell = ScriptedShell({"look": [1, 0]})
    assert passed(order(one, policy=PLANNED), shell, OnceApproved({"fine"})).ending is Ending.DONE


def test_and_is_not_corrected() -> None:
    command, absent = "apt-get install -y nginx", "E: Unable to locate package nginx"
    shell = ScriptedShell({command: Answer(100, stderr=absent)}, default=None)
    result = passed(order(command, policy=PLANNED), shell, OnceApproved({command}))
    assert result.ending is Ending.INCOMPLETE


def test_a_dry_run_says_what_would_wait() -> None:
    log = MemoryLog()
    dry = Policy(autonomy="plan", dry_run_mode=True)
    passed(order("fine", policy=dry), ScriptedShell(default=None), log=log)
    assert log.ended[0].explanation == (
        "dry run: needs approval: command: under `autonomy: plan`, only what was approved with the "
        "plan runs"
    )


def test_a_snippet_is_asked_about_in_the_bytes_that_reach_the_host() -> None:
    code = subtask("result = 1", kind=SubtaskKind.CODE, critical=True)
    (one,) = passed(order(code), ScriptedShell(default=None)).unapproved
    assert isinstance(one, Unapproved)
    assert one.text == as_command("result = 1")


class AllowedByRule:
    """A rule lets every text run, as it would be previewed."""

    def holds(self, subtask: int, text: str) -> bool:  # noqa: ARG002
        return False

    def spend(self, subtask: int, text: str, key: str) -> Granted:  # noqa: ARG002
        return Granted("effects: sed -i", SEEN)


def test_what_a_rule_lets_run_is_recorded_with_it_from_the_start() -> None:
    log = MemoryLog()
    passed(order("ask-edit", "fine"), ScriptedShell(), AllowedByRule(), log=log)
    for listed in (log.begun, log.ended):
        assert [(a.rule, a.preview) for a in listed] == [("effects: sed -i", SEEN), (None, None)]
