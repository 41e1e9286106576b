"""What every shell promises: on this machine, over SSH, and the scripted one of the tests."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import pytest

from shared.domain.host import LOCALHOST, ConnectionKind, Host
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.services.sshd import SshServer
from workers.shells.ports import Call, Shell
from workers.shells.remote.connections import HostConnections

BOTH_STREAMS = "printf out; printf err >&2; exit 3"
RAW_BYTES = r"printf '\000\377\200caf\351\n'"
SEVERAL_LINES = "greet() {\n  echo \"it's $1\"\n}\n\ngreet '!' # \\ done\n"
SLOW = "echo begun; sleep 30"
ECHO = re.compile(r"echo (\d+)")


def scripted_shell() -> ScriptedShell:
    """Answers as a host would."""
    return ScriptedShell(
        {
            BOTH_STREAMS: Answer(3, "out", "err"),
            RAW_BYTES: b"\x00\xff\x80caf\xe9\n",
            SEVERAL_LINES: "it's !\n",
            SLOW: Answer(0, "begun\n", takes=30),
            "exit 7": 7,
            ECHO: lambda command: command.removeprefix("echo ") + "\n",
        }
    )


@pytest.fixture(params=["local", "ssh", "scripted"])
def shell(request: pytest.FixtureRequest) -> Iterator[Shell]:
    """A shell of each kind."""
    if request.param == "scripted":
        yield scripted_shell()
    elif request.param == "local":
        with closing(HostConnections()) as here:
            yield here.shell(LOCALHOST)
    else:
        server: SshServer = request.getfixturevalue("sshd")
        connections = HostConnections()
        yield connections.shell(
            Host(
                "web1",
                ConnectionKind.SSH,
                server.host,
                server.port,
                server.user,
                str(server.key_path),
                server.host_public_key,
            )
        )
        connections.close()


def test_exit_code_and_both_streams_come_back_apart(shell: Shell) -> None:
    """A non-zero exit is a result, and what went to which stream is known."""
    result = shell.run(Call(BOTH_STREAMS, 30))

    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out", b"err")
    assert not result.ok
    assert not result.timed_out
    assert not result.cancelled


def test_a_result_knows_its_command_and_its_times(shell: Shell) -> None:
    """Times are aware and in order."""
    result = shell.run(Call("exit 7", 30))

    assert result.command == "exit 7"
    assert result.exit_code == 7
    assert result.started_at.utcoffset() == timedelta(0)
    assert result.started_at <= result.ended_at


def test_bytes_come_back_as_they_are(shell: Shell) -> None:
    """NUL and invalid UTF-8 included."""
    assert shell.run(Call(RAW_BYTES, 30)).stdout == b"\x00\xff\x80caf\xe9\n"


def test_a_command_of_several_lines_is_one_command(shell: Shell) -> None:
    """Quotes, blank lines and comments reach /bin/sh as they stand."""
    result = shell.run(Call(SEVERAL_LINES, 30))

    assert (result.exit_code, result.stdout) == (0, b"it's !\n")


def test_output_is_passed_on_as_it_comes(shell: Shell) -> None:
    """The chunks of a stream, put together, are the stream."""
    seen: dict[str, bytes] = {"stdout": b"", "stderr": b""}

    def note(stream: str, chunk: bytes) -> None:
        seen[stream] += chunk

    result = shell.run(Call(BOTH_STREAMS, 30), on_output=note)

    assert seen == {"stdout": result.stdout, "stderr": result.stderr}


def test_a_command_that_takes_too_long_is_ended(shell: Shell) -> None:
    """It has no exit code; what it wrote before is kept."""
    result = shell.run(Call(SLOW, 0.5))

    assert result.timed_out
    assert result.exit_code is None
    assert result.stdout == b"begun\n"
    assert timedelta(seconds=0.5) <= result.ended_at - result.started_at < timedelta(seconds=10)


def test_a_running_command_can_be_cancelled(shell: Shell) -> None:
    """Cancelled is not timed out; what it wrote before is kept."""
    begun = threading.Event()
    result = shell.run(Call(SLOW, 60), on_output=lambda *_: begun.set(), cancelled=begun.is_set)

    assert result.cancelled
    assert not result.timed_out
    assert result.exit_code is None
    assert result.stdout == b"begun\n"
    assert result.ended_at - result.started_at < timedelta(seconds=10)


def test_what_was_cancelled_before_it_began_does_not_run(shell: Shell) -> None:
    """No output, no exit code."""
    result = shell.run(Call(BOTH_STREAMS, 30), cancelled=lambda: True)

    assert result.cancelled
    assert (result.exit_code, result.stdout, result.stderr) == (None, b"", b"")


def test_commands_run_side_by_side(shell: Shell) -> None:
    """Each of many threads gets the answer to its own command."""
    commands = [f"echo {number}" for number in range(60)]
    with ThreadPoolExecutor(12) as threads:
        results = list(threads.map(lambda command: shell.run(Call(command, 60)), commands))

    assert [result.stdout for result in results] == [b"%d\n" % number for number in range(60)]


def test_closing_twice_does_no_harm(shell: Shell) -> None:
    """Whoever is not sure may close again."""
    shell.close()
    shell.close()
