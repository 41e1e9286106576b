"""What a command left running is named in its result, also when it succeeded."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from shared.domain.attempt import CommandResult
from tests.integration.remote.drivers import Driver, Drivers, in_background, lines
from tests.services.processes import running
from tests.services.ring import eventually
from workers.shells.ports import Call

Run = Callable[..., CommandResult]


@pytest.fixture
def run(drivers: Drivers, ledger: Path) -> Iterator[Run]:
    """Runs a command; what it writes into $LEDGER is ended afterwards."""
    driver = drivers.next()
    keys = (f"k{number}" for number in range(1, 100))

    def call(command: str, at: Driver = driver) -> CommandResult:
        return at.shell.run(Call(command.replace("LEDGER", str(ledger)), 30, key=next(keys)))

    yield call
    for pid in lines(ledger):
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def pids(result: CommandResult) -> list[str]:
    """The process ids among what is left."""
    return [name.partition("(")[0] for name in result.left_over]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("sleep 300 & echo $! >>LEDGER", id="background"),
        pytest.param("(trap '' HUP; exec sleep 300) & echo $! >>LEDGER", id="no hangup"),
        pytest.param("(sleep 300 & echo $! >>LEDGER)", id="double fork"),
        pytest.param("(exec setsid sh -c 'echo $$ >>LEDGER; exec sleep 300' &)", id="daemon"),
        pytest.param("yes >/dev/null & echo $! >>LEDGER", id="yes"),
        pytest.param("env -i sleep 300 & echo $! >>LEDGER", id="clean environment"),
        pytest.param("sleep 300 & echo $! >>LEDGER; exit 3", id="failed"),
    ],
)
def test_what_a_command_leaves_running_is_named(run: Run, ledger: Path, command: str) -> None:
    """With its number and its name, whatever the exit code; what comes next has nothing to say."""
    waits = " while ! [ -s LEDGER ]; do sleep 0.05; done"
    ends = "" if "exit" in command else f";{waits}"
    result = run(command.replace("LEDGER)", "LEDGER )") + ends)

    assert result.exit_code == (3 if "exit" in command else 0)
    assert pids(result) == lines(ledger)
    assert re.fullmatch(r"\d+\((sleep|yes|sh|busybox|env|nohup|setsid)\)", result.left_over[0])
    assert run("echo nothing").left_over == ()
    assert running(int(lines(ledger)[0]))


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "echo out; echo err >&2; exit 4",
        "yes | head -n 1",
        "for i in 1 2 3 4 5 6 7 8 9; do sh -c : ; done",
        "sleep 300 & kill $!; wait",
        "i=0; while [ $i -lt 600 ]; do (:) & i=$((i+1)); done; wait",
    ],
)
def test_a_command_that_leaves_nothing_names_nothing(run: Run, command: str) -> None:
    """However many processes it starts, and although the watch starts some beside it."""
    assert run(command).left_over == ()


def test_what_an_earlier_command_left_is_not_named_again(run: Run, ledger: Path) -> None:
    """Although it goes on to start processes."""
    first = run("(while :; do sleep 0.02; done) & echo $! >>LEDGER")
    assert lines(ledger)[0] in pids(first)
    for _ in range(5):
        assert run("sleep 0.1; exit 1").left_over == ()


def test_what_somebody_else_starts_meanwhile_is_not_named(drivers: Drivers, run: Run) -> None:
    """Commands of other passes are no leftovers, in sessions of their own or not."""
    other = Driver(drivers.on, 1, name="other/2-0-1")
    drivers.all.append(other)
    thread = in_background(other, "exec setsid sh -c 'while :; do sleep 0.02; done'", "k1")
    for _ in range(5):
        assert run("sleep 0.1; exit 1").left_over == ()
    other.gone.set()
    thread.join(20)
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if b"other/2-0-1" in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)


def test_many_are_counted(run: Run, ledger: Path) -> None:
    """Eight have names."""
    result = run("for i in 1 2 3 4 5 6 7 8 9 10 11; do sleep 300 & echo $! >>LEDGER; done")

    assert set(pids(result)[:8]) < set(lines(ledger))
    assert result.left_over[8:] == ("+3",)


def test_after_many_processes_what_is_left_is_found(run: Run, ledger: Path) -> None:
    """Where it would take too long to ask for each number that was assigned."""
    started = "i=0; while [ $i -lt 400 ]; do (:) & i=$((i+1)); done; "
    result = run(f"sleep 300 & echo $! >>LEDGER; {started}kill -0 $$")

    assert pids(result) == lines(ledger)


def test_who_takes_over_learns_it_too(drivers: Drivers, run: Run, ledger: Path) -> None:
    """The log of the first driver names it."""
    first = drivers.all[0]
    run("true")
    command = f"sleep 300 & echo $! >>{ledger}; exit 0"
    thread = in_background(first, command, "k50")
    (log,) = drivers.on.root.glob("token/*.log")
    eventually(lambda: " l k50 " in log.read_text(), "the record")
    first.die()
    thread.join(20)

    result = drivers.next().shell.run(Call(command, 30, key="k50"))

    assert result.ok
    assert pids(result) == lines(ledger)


def test_the_output_of_what_is_left_is_not_mixed_into_the_next(run: Run, ledger: Path) -> None:
    """Although nothing in the text of the command says that it leaves anything."""
    script = ledger.with_suffix(".sh")
    script.write_text("(while [ ! -e $0.go ]; do sleep 0.02; done; echo late; : >$0.over) &\n")
    assert run(f"sh {script}").left_over
    waits = f"while [ ! -e {script}.over ]; do sleep 0.02; done"
    assert run(f"touch {script}.go; {waits}; echo now").stdout == b"now\n"
