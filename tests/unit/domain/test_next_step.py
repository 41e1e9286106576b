"""What a person can do next, as a value and as a line to type."""

import shlex

import pytest

from shared.domain.next_step import Advice, Blank, NextStep, Option, ShellCommand, command_line
from shared.wire import decode_next_step, to_json

WHY = Blank("WHY", text=True)

TYPED = [
    (NextStep.of("task list"), "replan task list"),
    (NextStep.of("host check", "web1"), "replan host check web1"),
    (
        NextStep.of("intervention approve", "I7", for_task=True),
        "replan intervention approve I7 --for-task",
    ),
    (
        NextStep.of("bundle send", "T1.2@web1", note=WHY),
        'replan bundle send T1.2@web1 --note "WHY"',
    ),
    (NextStep.of("attempt show", "T1.2.3#1@web1"), "replan attempt show T1.2.3#1@web1"),
    (NextStep.of("guard check", "rm -rf /"), "replan guard check 'rm -rf /'"),
    (NextStep.of("guard check", "-x; y", host="web1"), "replan guard check --host web1 -- '-x; y'"),
    (NextStep.of("guard check", "#1"), "replan guard check '#1'"),
    (NextStep.of("intervention answer", "I7", ""), "replan intervention answer I7 ''"),
    (NextStep.of("task export", "T1", as_="runbook"), "replan task export T1 --as runbook"),
    (NextStep.of("host add", "web1", sudo=False, jump=None), "replan host add web1"),
    (ShellCommand("ls -l | wc"), "ls -l | wc"),
]


@pytest.mark.parametrize(("step", "line"), TYPED)
def test_a_step_is_typed_as(step: Advice, line: str) -> None:
    assert command_line(step) == line


@pytest.mark.parametrize("hostile", ["$(reboot)", "`x`", "a'b", 'a"b', "a\nb", ";", "*", "~", "é"])
def test_what_a_shell_would_read_is_quoted(hostile: str) -> None:
    line = command_line(NextStep.of("guard check", hostile, host=hostile))
    assert shlex.split(line) == ["replan", "guard", "check", hostile, "--host", hostile]


@pytest.mark.parametrize("step", [step for step, _ in TYPED])
def test_a_step_survives_being_stored(step: Advice) -> None:
    assert decode_next_step(to_json(step)) == step


def test_what_older_versions_stored_is_a_command_to_type() -> None:
    assert decode_next_step("replan task resume T1") == ShellCommand("replan task resume T1")
    assert decode_next_step(None) is None


def test_a_blank_is_filled_wherever_it_stands() -> None:
    step = NextStep.of("plan provide", Blank("TASK"), file=Blank("TASK"), note="TASK")
    assert step.fill("TASK", "T7") == NextStep(
        "plan provide", ("T7",), (Option("file", "T7"), Option("note", "TASK"))
    )
