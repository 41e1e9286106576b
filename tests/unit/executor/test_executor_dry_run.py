"""What a pass promises when it runs nothing but checks, and of snippets of code."""

from shared.domain.attempt import Outcome
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.plan import SubtaskKind
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.executor.given import (
    ScriptedJudge,
    carried_out,
    order,
    subtask,
)

ONCE = Policy(max_retries_per_command=0)


# --- dry run --------------------------------------------------------------------------------------


def test_a_dry_run_runs_checks_and_nothing_else() -> None:
    """S0.31: satisfied, or simulated with what would happen."""
    shell = ScriptedShell({"is-there": 0, "is-missing": 1}, default=None)
    done = carried_out(
        order(
            subtask("a", "k1", check="is-there"),
            subtask("b", "k2", check="is-missing", preconditions=("p",)),
            subtask("c", "k3"),
            subtask("d", "k4", check="ask-first"),
            subtask("e", "k5", critical=True),
            policy=Policy(dry_run_mode=True),
        ),
        shell,
        judge=ScriptedJudge(approve="ask-first"),
    )
    assert shell.commands == ["is-there", "is-missing"]
    assert done.outcomes == [
        (1, Outcome.SATISFIED),
        (2, Outcome.SIMULATED),
        (3, Outcome.SIMULATED),
        (4, Outcome.SIMULATED),
        (5, Outcome.SIMULATED),
    ]
    assert [a.reason for a in done.attempts[2:]] == [
        "dry run: it would run",
        "dry run: it would wait for an approval",
        "dry run: it would wait for an approval",
    ]
    assert done.result.ending is Ending.DONE


def test_a_dry_run_finds_what_is_forbidden() -> None:
    """The step would be blocked, so the simulation is."""
    done = carried_out(
        order(
            "a", subtask("b", "k2", preconditions=("rm -rf /",)), policy=Policy(dry_run_mode=True)
        ),
        ScriptedShell(default=None),
        judge=ScriptedJudge(deny="rm"),
    )
    assert done.outcomes == [(1, Outcome.SIMULATED), (2, Outcome.DENIED)]
    assert done.result.ending is Ending.BLOCKED


# --- code -----------------------------------------------------------------------------------------


def test_a_snippet_reaches_the_host_as_python_and_is_judged_as_it_reaches_it() -> None:
    """S1.25: what is recorded, judged and run are the same bytes; no rule changes them."""
    shell = ScriptedShell(default=Answer(127, stderr="sh: 1: python3: not found"))
    done = carried_out(order(subtask("result = 1", kind=SubtaskKind.CODE)), shell)
    assert len(shell.commands) == 1
    limits = "ulimit -t 300; ulimit -v 1048576"
    assert shell.commands[0].startswith(f"{limits}; python3 -c 'result = 1\n")
    assert [a.command for a in done.attempts] == shell.commands == done.judge.judged
