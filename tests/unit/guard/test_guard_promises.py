"""What the guard promises whatever it is given."""

import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from shared.domain.verdict import VerdictKind
from shared.guard import Guard, default_entries, load_site, only_forbidden
from shared.guard.display_safety import MOST_BYTES
from shared.guard.guard import CACHED_VERDICTS
from shared.guard.shell import parse
from shared.guard.shell.parse import Shfmt

GUARD = Guard(load_site(None).for_host())
PIECES = [
    "rm", "-rf", "/", "sudo", "sh", "-c", "eval", "cd", "find", "xargs", "echo", "cat", "ssh",
    "x=", "$x", "${x", "}", "{", "(", ")", "$(", "`", "'", '"', "\\", "\n", ";", "&", "&&", "|",
    "||", "<", ">", "<<E", "\nE\n", "<(", "<<<", "if ", "then ", "fi", "for i in", "do ", "done",
    "case x in", ";;", "esac", "f()", "function ", "[[", "]]", "((", "))", "*", "?", "[", "~",
    "!", "#", "=", "+=", "\t", " ", " ", " ", "{a,b}", "{1..9}", "$'", "\\n", "é", "\u202e", "\0",
]  # fmt: skip


def soup() -> st.SearchStrategy[str]:
    """Texts that look somewhat like shell."""
    return st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@settings(max_examples=150, deadline=None, database=None)
@given(command=st.one_of(soup(), st.text(max_size=60)), interpreter=st.sampled_from(["sh", "bash"]))
def test_the_guard_answers_every_text(command: str, interpreter: str) -> None:
    """No input makes it raise, and its own code never fails on the way."""
    verdict = GUARD.judge(command, interpreter)
    assert verdict.kind in VerdictKind
    assert verdict.rule != "guard-failed", verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "\ud800",
        "(" * 3000,
        "$(" * 3000,
        "x=$(" * 300 + "ls" + ")" * 300,
        "{" * 20_000,
        "${" * 20_000,
        "echo " + "{a,b}" * 30,
        "ls | " * 500 + "ls",
        "while x=1; do " * 30 + "y=1" + "; done" * 30,
        "rm -rf " + " ".join(f'"$x{n}"' for n in range(1500)),
        "rm -rf " + "/*a" * 15_000,
        "x='" + "[" * 50_000 + "'",
        "sudo " * 1500 + "ls",
        "sed '" + "s/" * 20_000 + "'",
        "psql -c '" + "/*" * 4000 + "'",
        "f() { f; }; f",
        "a() { b; b; }; b() { a; a; }; a",
    ],
    ids=lambda command: command[:12],
)
@pytest.mark.timeout(20)
def test_the_guard_answers_soon(command: str) -> None:
    """Texts that are made to take long get an answer in seconds, and never a failure."""
    assert GUARD.judge(command).rule != "guard-failed"


@pytest.mark.parametrize("command", [None, 3, b"ls", ["ls"]])
def test_what_is_no_text_is_not_allowed(command: object) -> None:
    """Even a caller's mistake does not let anything run."""
    judge: Callable[..., object] = GUARD.judge
    verdict = judge(command)
    assert getattr(verdict, "kind", None) == VerdictKind.APPROVE


def test_a_text_over_the_limit_needs_a_person() -> None:
    """The limit is in bytes, not in characters."""
    assert GUARD.judge("# " + "x" * (MOST_BYTES - 2)).allowed
    assert GUARD.judge("# " + "x" * (MOST_BYTES - 1)).rule == "too-long"
    assert GUARD.judge("# " + "é" * (MOST_BYTES // 2)).rule == "too-long"


def test_threads_get_the_answers_that_one_caller_gets() -> None:
    """One guard serves many threads, cold and warm."""
    commands = [f"rm -rf {place}{n}" for n in range(8) for place in ("/ ", "build/", '"$x" ')]
    commands += [f"for i in {n}; do sudo reboot; done" for n in range(8)]
    alone = [Guard(only_forbidden(default_entries())).judge(command) for command in commands]
    shared_guard = Guard(only_forbidden(default_entries()))
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(shared_guard.judge, commands * 3))
    assert together == alone * 3


def test_verdicts_are_kept_in_bounds_and_without_the_command() -> None:
    """The cache forgets the oldest, and holds no text that might hold a secret."""
    guard = Guard(only_forbidden(["reboot"]))
    for n in range(CACHED_VERDICTS + 10):
        guard.judge(f"ls {n}")
    assert len(guard._verdicts) == CACHED_VERDICTS
    assert all(len(key) == 32 for key in guard._verdicts)
    assert guard.judge("ls 0").allowed


def test_the_same_text_may_be_judged_otherwise_for_another_interpreter() -> None:
    """The interpreter is a part of what is judged."""
    assert GUARD.judge("rm -rf {/,}", "dash").allowed
    assert GUARD.judge("rm -rf {/,}", "bash").denied
    assert GUARD.judge("rm -rf {/,}", "sh").denied  # which may be bash


def test_a_missing_parser_is_told_at_once(tmp_path: Path) -> None:
    """Neither at the first command nor by letting commands pass."""
    with pytest.raises(Misconfigured, match="shfmt") as missing:
        Guard(only_forbidden([]), Shfmt(tmp_path / "shfmt"))
    assert command_line(missing.value.next_step) == "python -m pip install shfmt-py"
    assert missing.value.stage == "guard"


def test_a_parser_that_does_not_run_is_told_at_once(tmp_path: Path) -> None:
    """A file of that name is not enough."""
    broken = tmp_path / "shfmt"
    broken.write_text("no program")
    broken.chmod(0o755)
    with pytest.raises(Misconfigured, match="does not run"):
        Shfmt(broken)


def test_a_parser_that_fails_later_lets_nothing_pass(tmp_path: Path) -> None:
    """When shfmt goes away or answers nonsense, what needs it needs a person."""
    fake = tmp_path / "shfmt"
    fake.write_text(f"#!{sys.executable}\nprint('{{\"Stmts\": [{{}}]}}')\n")
    fake.chmod(0o755)
    guard = Guard(only_forbidden(["reboot"]), Shfmt(fake))
    assert guard.judge("ls; reboot").rule == "unreadable"
    fake.unlink()
    assert guard.judge("ls; reboot 2").rule == "unreadable"
    assert guard.judge("reboot").denied


def test_a_silence_of_the_parser_is_not_the_fault_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that stood still for seconds does not hold the command up for a person."""
    monkeypatch.setattr(parse, "TIMEOUT", 0.5)
    fake, asked = tmp_path / "shfmt", tmp_path / "asked"
    real = Path(sysconfig.get_path("scripts")) / "shfmt"
    waits = f"case $1 in -ln) [ -e {asked} ] || {{ : >{asked}; exec /bin/sleep 5; }} ;; esac"
    fake.write_text(f'#!/bin/sh\n{waits}\nexec {real} "$@"\n')
    fake.chmod(0o755)
    guard = Guard(only_forbidden(["reboot"]), Shfmt(fake))
    assert guard.judge("ls; date").allowed
    assert asked.exists()
