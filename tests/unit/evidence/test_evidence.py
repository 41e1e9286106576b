"""The evidence of a failed step: hypotheses, failed assumptions, the host's state."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.domain.outcome import Outcome
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import ScriptedJudge, attempt, ended
from workers.evidence.failed_assumptions import (
    ASSUMPTIONS,
    contradictions,
    failed_assumptions,
    last_words,
)
from workers.evidence.hypotheses import hypotheses
from workers.shells.corrections.table import TESTED
from workers.shells.snapshot import PROBES, parse, take

CASES: list[Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "corrections" / "assumptions" / "all.yaml").read_text()
)

# --- failed assumptions (S0.51) -------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["output"][:40])
def test_an_output_contradicts_what_its_case_says(case: dict[str, Any]) -> None:
    """Each line counts for the first assumption in the table that it matches."""
    found = [[assumption.name, detail] for assumption, detail in contradictions(case["output"])]
    assert found == case["says"]


def test_every_assumption_has_a_case() -> None:
    """Every pattern has a case."""
    named = {name for case in CASES for name, _ in case["says"]}
    assert named == {assumption.name for assumption in ASSUMPTIONS}


def test_failed_assumptions_are_said_once_and_only_of_what_failed() -> None:
    """Repeated and successful tries add nothing; a red check counts too."""
    absent = ended("x", 100, stderr="E: Unable to locate package nginx")
    attempts = [
        attempt(1, result=absent),
        attempt(1, result=absent, number=2),
        attempt(2, Outcome.OK, result=ended(stderr="warning: Permission denied")),
        attempt(
            3,
            Outcome.CHECK_FAILED,
            result=ended(),
            check=ended("y", 7, stderr="Connection refused"),
        ),
        attempt(4, Outcome.BLOCKED),
        attempt(5, result=None),
    ]
    assert failed_assumptions(attempts) == (
        "subtask 1: the package nginx is absent from the host's repositories",
        "subtask 3: the other side can be reached: Connection refused",
    )


def test_what_a_host_says_is_quoted_and_cut() -> None:
    """Braces, bytes that are not text and endless lines do no harm."""
    hostile = ended("x", 1, stderr="{0} {attempt} Permission denied " + "x" * 5000)
    (said,) = failed_assumptions([attempt(1, result=hostile)])
    assert "{0} {attempt} Permission denied" in said
    assert len(said) < 300
    broken = attempt(1, result=ended("x", 1))
    object.__setattr__(broken.result, "stderr", b"\xff\xfe Permission denied")
    assert "Permission denied" in failed_assumptions([broken])[0]


# --- hypotheses (S0.69) ---------------------------------------------------------------------------


def test_a_command_of_which_nobody_knows_is_told_with_the_reason() -> None:
    """A planner that gets the evidence knows that it may have run."""
    attempts = [attempt(1, Outcome.UNKNOWN, reason="it was rebooted")]
    assert hypotheses(attempts, TESTED) == (
        "subtask 1: ran the command as planned: nobody can say how it ended (it was rebooted)",
    )


def test_hypotheses_say_what_was_tried_and_what_came_of_it() -> None:
    """One sentence per try, in order, equal ones counted; nothing about what was not tried."""
    absent = ended("x", 100, stderr="Reading...\nE: Unable to locate package nginx\nbye")
    attempts = [
        attempt(1, Outcome.OK),
        attempt(2, result=absent, reason="exit code 100"),
        attempt(2, result=absent, reason="exit code 100"),
        attempt(2, Outcome.OK, correction="apt_no_recommends"),
        attempt(3, Outcome.DENIED, command="rm -rf /", reason="correction: forbidden"),
        attempt(4, Outcome.PRECONDITION_UNMET, reason="precondition not met: id app (exit code 1)"),
        attempt(5, Outcome.BLOCKED),
        attempt(6, Outcome.SATISFIED),
        attempt(7, correction="a_rule_of_another_version", reason="exit code 1"),
    ]
    assert hypotheses(attempts, TESTED) == (
        (
            "subtask 2: ran the command as planned: exit code 100"
            " (E: Unable to locate package nginx) (2 times)"
        ),
        (
            "subtask 2: installed without the recommended packages (--no-install-recommends):"
            " that worked"
        ),
        "subtask 3: forbidden: rm -rf / (correction: forbidden)",
        "subtask 4: precondition not met: id app (exit code 1)",
        "subtask 6: nothing to do, its check was green before anything ran",
        "subtask 7: a_rule_of_another_version: exit code 1",
    )


@pytest.mark.parametrize(
    ("stderr", "stdout", "words"),
    [
        ("one\ntwo\n", "three", "two"),
        ("", "three\n\n", "three"),
        ("", "", ""),
        ("a: Permission denied\nexiting\n", "", "a: Permission denied"),
    ],
)
def test_the_last_words_are_the_line_that_says_most(stderr: str, stdout: str, words: str) -> None:
    """The last line that contradicts an assumption, otherwise the last line."""
    assert last_words(attempt(1, result=ended("x", 1, stderr, stdout))) == words


# --- snapshot (S0.50, S0.67) ----------------------------------------------------------------------


def test_a_snapshot_is_one_round_trip() -> None:
    """All probes in one command, each under its name."""
    printed = "".join(f"replan-probe:{name}\nwords of {name}\n" for name in PROBES)
    shell = ScriptedShell(default=Answer(stdout=printed))
    judge = ScriptedJudge()
    state = take(shell, judge)
    assert len(shell.commands) == 1
    assert state == {name: f"words of {name}" for name in PROBES}
    assert shell.commands[0] in judge.judged


def test_a_snapshot_leaves_out_what_the_guard_does_not_allow() -> None:
    """X18: each probe is judged, and all of them together."""
    judge = ScriptedJudge(approve="/proc/locks", deny="resolv.conf")
    shell = ScriptedShell()
    take(shell, judge)
    assert len(shell.commands) == 1
    assert "/proc/locks" not in shell.commands[0]
    assert "resolv.conf" not in shell.commands[0]
    assert "df -hP" in shell.commands[0]

    shell = ScriptedShell(default=None)
    assert take(shell, ScriptedJudge(deny="echo")) == {}
    assert take(shell, ScriptedJudge(deny="probe:os[^§]*probe:memory")) == {}


def test_a_probe_cannot_speak_for_another() -> None:
    """Marks printed by a probe do not cut into the probes before it."""
    text = (
        "replan-probe:a\nreal a\n"
        "replan-probe:b\nreal b\nreplan-probe:a\nforged a\n"
        "replan-probe:c\nreal c\n"
    )
    parts = parse(text, ("a", "b", "c"))
    assert parts["c"] == "real c"
    assert parts["b"].startswith("real b")
    assert parts["a"] == "real a"


def test_a_snapshot_that_was_cut_off_has_what_arrived() -> None:
    """A probe that failed is absent, one that printed nothing is empty, and all are capped."""
    parts = parse("replan-probe:a\nx\nreplan-probe:b\n" + "y" * 9000, ("a", "b", "c"))
    assert parts["a"] == "x"
    assert len(parts["b"]) == 4000
    assert "c" not in parts
    assert parse("replan-probe:a\nreplan-probe:b\nx", ("a", "b")) == {"a": "", "b": "x"}
