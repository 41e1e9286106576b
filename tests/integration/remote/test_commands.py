"""What a command meets on a real host, here and over SSH."""

import itertools
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.attempt import Signal
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.host import Host
from shared.domain.next_step import command_line
from tests.integration.remote.hosts import eventually
from tests.services.processes import running
from workers.shells.ports import LONGEST, Call, Shell
from workers.shells.remote.connections import HostConnections

PID = re.compile(rb"^(\d+)$", re.MULTILINE)


def pids(output: bytes) -> list[int]:
    """The process ids that a command printed, one on each line."""
    return [int(found) for found in PID.findall(output)]


def gone(processes: list[int]) -> bool:
    """Whether all of them end in time."""
    return eventually(lambda: not any(running(pid) for pid in processes))


# --- ending ---------------------------------------------------------------------------------------


def test_children_end_with_the_command(shell: Shell) -> None:
    """A timeout ends the whole group: what runs in the background too."""
    result = shell.run(Call("sleep 300 & echo $!; sleep 301 & echo $!; echo $$; wait", 0.5))

    assert result.timed_out
    assert len(pids(result.stdout)) == 3
    assert gone(pids(result.stdout))


def test_a_command_that_ignores_term_is_killed(shell: Shell) -> None:
    """TERM is asked for first, KILL follows after the grace."""
    command = "trap 'echo no' TERM; sh -c 'trap \"\" TERM; echo $$; sleep 300' & echo $$; "
    result = shell.run(Call(command + "while :; do sleep 1; done", 0.5))

    assert result.timed_out
    assert gone(pids(result.stdout))
    assert (result.ended_at - result.started_at).total_seconds() < 8


def test_a_command_gets_the_chance_to_clean_up(shell: Shell) -> None:
    """What a trap writes on TERM is still part of the output."""
    command = "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    result = shell.run(Call(command, 0.5))

    assert result.timed_out
    assert result.stdout == b"ready\ncleaned up\n"
    assert result.signal is Signal.TERM


def test_a_child_in_another_session_ends_too(shell: Shell) -> None:
    """`setsid` does not get a process away from its parent's end."""
    result = shell.run(Call("setsid sh -c 'echo $$; sleep 300' & echo $$; wait", 0.5))

    assert len(pids(result.stdout)) == 2
    assert gone(pids(result.stdout))


def test_a_stopped_process_ends_too(shell: Shell) -> None:
    """A process that was stopped hears TERM as well."""
    result = shell.run(Call("echo $$; kill -STOP $$; sleep 300", 0.5))

    assert result.timed_out
    assert gone(pids(result.stdout))


def test_cancelling_is_noticed_while_the_command_is_silent(shell: Shell) -> None:
    """It is asked for several times a second, and the group is ended."""
    begun, cancel = threading.Event(), threading.Event()
    asked: list[float] = []

    def cancelled() -> bool:
        asked.append(time.monotonic())
        if begun.is_set() and len(asked) > 6:
            cancel.set()
        return cancel.is_set()

    command = "echo $$; sleep 300 & echo $!; wait"
    result = shell.run(Call(command, 60), on_output=lambda *_: begun.set(), cancelled=cancelled)

    assert result.cancelled
    assert result.exit_code is None
    assert gone(pids(result.stdout))
    gaps = [later - earlier for earlier, later in itertools.pairwise(asked[1:])]
    assert statistics.median(gaps) < 0.3
    assert min(gaps) > 0.02  # no busy waiting


def test_an_error_of_the_caller_ends_the_command(shell: Shell) -> None:
    """Nobody waits for the result any more, so nothing goes on."""
    seen: list[bytes] = []

    def fail(_stream: str, chunk: bytes) -> None:
        seen.append(chunk)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shell.run(Call("echo $$; sleep 300", 60), on_output=fail)

    assert gone(pids(seen[0]))


def test_a_background_process_does_not_hold_up_the_result(shell: Shell) -> None:
    """It keeps standard output open and goes on; the command itself has exited."""
    result = shell.run(Call("sleep 30 & echo $!; exit 4", 20))

    (background,) = pids(result.stdout)
    assert result.exit_code == 4
    assert running(background)
    shell.run(Call(f"kill {background}", 10))


def test_a_background_process_that_never_stops_writing_does_not_either(shell: Shell) -> None:
    """Nor one that is never silent."""
    result = shell.run(Call("yes & echo $! >&2; exit 0", 60))

    (background,) = pids(result.stderr)
    assert result.exit_code == 0
    assert running(background)
    shell.run(Call(f"kill -9 {background}", 10))


@pytest.mark.parametrize(
    ("signal", "exit_code"), [("TERM", 143), ("KILL", 137), ("SEGV", 139), ("PIPE", 141)]
)
def test_an_end_by_signal_is_told_as_shells_do(shell: Shell, signal: str, exit_code: int) -> None:
    """It is a result with exit code 128 + the number, not a lost connection."""
    result = shell.run(Call(f"echo before; kill -{signal} $$; sleep 5", 20))

    assert result.exit_code == exit_code
    assert result.stdout == b"before\n"


# --- output ---------------------------------------------------------------------------------------


def test_much_output_is_bounded_and_holds_nothing_up(shell: Shell) -> None:
    """Of each stream the head and the tail are kept; the rest is counted."""
    million = 8_000_000
    command = (
        f"echo first; head -c {million} /dev/zero; echo last; "
        f"head -c {million} /dev/zero >&2; echo end >&2"
    )
    passed_on: dict[str, int] = {"stdout": 0, "stderr": 0}

    def note(stream: str, chunk: bytes) -> None:
        passed_on[stream] += len(chunk)

    result = shell.run(Call(command, 60), on_output=note)

    assert result.exit_code == 0
    assert result.stdout.startswith(b"first\n\0")
    assert result.stdout.endswith(b"\0last\n")
    assert b"bytes left out" in result.stdout
    assert len(result.stdout) < 1_100_000
    assert result.stdout_dropped == len(b"first\nlast\n") + million - 1_048_576
    assert result.stderr.endswith(b"\0end\n")
    assert result.stderr_dropped == million + len(b"end\n") - 1_048_576
    assert all(1_048_576 <= size <= million + 11 for size in passed_on.values())


def test_an_endless_flood_is_ended_at_its_timeout(shell: Shell) -> None:
    """A flood does not keep the clock from being looked at."""
    result = shell.run(Call("yes", 1))

    assert result.timed_out
    assert result.stdout.startswith(b"y\ny\n")
    assert result.stdout_dropped > 0
    assert (result.ended_at - result.started_at).total_seconds() < 8


def test_output_arrives_while_the_command_runs(shell: Shell) -> None:
    """A line is passed on at once: nothing else would end this command in time."""
    arrived = threading.Event()
    result = shell.run(
        Call("echo waiting; sleep 30", 60),
        on_output=lambda *_: arrived.set(),
        cancelled=arrived.is_set,
    )
    assert result.cancelled
    assert result.stdout == b"waiting\n"


def test_the_last_line_needs_no_line_break(shell: Shell) -> None:
    """What stands after the last line break is kept."""
    assert shell.run(Call("printf 'a\\nb'", 20)).stdout == b"a\nb"


# --- nothing asks, nothing waits for a person -----------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        'read answer; echo "[$answer]"',
        "cat",
        "cat /dev/tty",
        "python3 -c 'input()'",
        "python3 -c 'import getpass; getpass.getpass()'",
        "ssh-keygen -t ed25519 -f ./a_key_that_asks",
        "git -c credential.helper= ls-remote https://127.0.0.1:9/nothing.git",
        "more /etc/passwd /etc/group",
        "sudo -S true",
        "sudo true",
        "su - nobody -c true",
        "stty -a",
    ],
)
def test_nothing_waits_for_an_answer(shell: Shell, command: str) -> None:
    """Standard input is empty and there is no terminal: what asks gets an end of file."""
    result = shell.run(Call(f"{command}; rm -f a_key_that_asks*", 20))

    assert not result.timed_out


def test_the_environment_says_that_nobody_is_there(shell: Shell) -> None:
    """Package managers, pagers and editors are told not to ask."""
    names = "DEBIAN_FRONTEND NEEDRESTART_MODE GIT_TERMINAL_PROMPT PAGER LC_ALL TERM EDITOR"
    command = f'for name in {names}; do eval "echo $name=\\$$name"; done; echo "$LANGUAGE$DISPLAY"'
    result = shell.run(Call(command, 20))

    assert result.stdout.decode().splitlines() == [
        "DEBIAN_FRONTEND=noninteractive",
        "NEEDRESTART_MODE=a",
        "GIT_TERMINAL_PROMPT=0",
        "PAGER=cat",
        "LC_ALL=C.UTF-8",
        "TERM=dumb",
        "EDITOR=false",
        "",
    ]


def test_a_command_starts_like_a_fresh_script(shell: Shell) -> None:
    """No arguments, no stray variables of ours, signals as usual.

    Signals 32 and 33 are the C library's own: whoever was started by make's spawn ignores them.
    """
    command = (
        'echo "$0 $# $*"; set | grep -c "^_[rl]="; while read -r name value; do '
        "case $name in Sig[BI][lg]*) echo $name $value ;; esac; done </proc/$$/status"
    )
    result = shell.run(Call(command + "\n:", 20))

    *lines, blocked, ignored, rest = result.stdout.decode().split("\n")
    assert (lines, rest) == (["sh 0 ", "0"], "")
    of_the_library = 1 << 31 | 1 << 32
    for name, signals in (("SigBlk:", blocked), ("SigIgn:", ignored)):
        assert signals.startswith(name)
        assert int(signals.split()[1], 16) & ~of_the_library == 0


# --- where it runs, and what cannot run -----------------------------------------------------------


def test_a_command_starts_in_the_home_folder(shell: Shell) -> None:
    """Unless the host has a workdir."""
    result = shell.run(Call('pwd; [ "$(pwd)" = "$HOME" ] && echo home', 20))

    assert result.stdout.endswith(b"home\n")


@pytest.fixture
def oddly_named() -> Iterator[str]:
    """A folder that every account may enter."""
    folder = Path(tempfile.mkdtemp(prefix="a b'c!d\\e$f-"))
    folder.chmod(0o755)
    yield str(folder)
    folder.rmdir()


@pytest.mark.parametrize("workdir", ["/usr/share", "~", "odd"])
def test_a_command_starts_in_the_workdir(
    host: Host, connections: HostConnections, oddly_named: str, workdir: str
) -> None:
    """Whatever its name."""
    workdir = oddly_named if workdir == "odd" else workdir
    shell = at_workdir(host, connections, workdir)

    for command in ("pwd", "pwd\n"):
        result = shell.run(Call(command, 20))
        expected = shell.run(Call('echo "$HOME"', 20)).stdout.decode().strip()
        assert result.stdout.decode().strip() == (expected if workdir == "~" else workdir)


def test_a_folder_of_an_earlier_command_is_not_inherited(
    host: Host, connections: HostConnections
) -> None:
    """A connection is shared by all folders of its host, and one of them may be gone by now."""
    folder = Path(tempfile.mkdtemp(prefix="gone-"))
    folder.chmod(0o755)
    there = at_workdir(host, connections, str(folder))
    assert there.run(Call("pwd", 20)).stdout.decode().strip() == str(folder)
    there.close()
    folder.rmdir()

    again = connections.shell(host).run(Call('pwd -P && [ "$(pwd)" = "$HOME" ] && echo home', 20))

    assert again.stdout.endswith(b"home\n"), again.stderr


@pytest.mark.parametrize("workdir", ["/nowhere/at/all", "/etc/passwd"])
def test_a_workdir_that_is_none_is_the_operators_business(
    host: Host, connections: HostConnections, workdir: str
) -> None:
    """Nothing runs."""
    shell = at_workdir(host, connections, workdir)

    with pytest.raises(Misconfigured, match=workdir) as caught:
        shell.run(Call("echo ran >&2", 20))

    assert caught.value.stage == "execute"
    assert command_line(caught.value.next_step) == f"replan host check {host.name}"
    assert "ran" not in caught.value.reason


@pytest.mark.parametrize("command", ["x" * (LONGEST + 1), "echo a\0b", "echo \ud800"])
def test_what_no_host_can_take_is_refused_at_once(shell: Shell, command: str) -> None:
    """Too long, NUL bytes, half characters: the planner's mistake."""
    with pytest.raises(Rejected):
        shell.run(Call(command, 20))


def test_a_syntax_error_is_a_result(shell: Shell) -> None:
    """The shell says what is wrong, nothing of the command ran."""
    result = shell.run(Call("echo ran; if", 20))

    assert result.exit_code == 2
    assert result.stdout == b""
    assert b"yntax error" in result.stderr


def test_a_long_script_runs(shell: Shell) -> None:
    """Close to the limit, with thousands of lines."""
    lines = "\n".join(f"line {number} 'of' \"many\" !" for number in range(2000))
    result = shell.run(Call(f"cat <<'END' | sha256sum\n{lines}\nEND\n", 30))
    small = shell.run(Call(f"printf '%s\\n' {len(lines)}", 30))

    assert result.exit_code == 0
    assert small.stdout.strip() == str(len(lines)).encode()


def at_workdir(host: Host, connections: HostConnections, workdir: str) -> Shell:
    """A shell on the same host with a workdir."""
    return connections.shell(replace(host, workdir=workdir))
