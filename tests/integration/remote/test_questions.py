"""What only asks is answered by the runner itself: like a command, and without a process."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.remote.drivers import Driver, Drivers
from tests.services.ring import eventually
from workers.shells.ports import Call


def answer(driver: Driver, command: str, key: str | None = None) -> tuple[int | None, bytes]:
    """The exit code, and what it says on standard error."""
    result = driver.shell.run(Call(command, 20, key=key))
    assert not result.stdout
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("false", 1),
        (":", 0),
        ("test -d .", 0),
        ("[ -e no-such-file ]", 1),
        ("[ a = b ]", 1),
        ("[ 1 -lt 2 -a -d / ]", 0),
    ],
)
def test_it_says_yes_or_no(drivers: Drivers, command: str, code: int) -> None:
    driver = drivers.next()
    assert answer(driver, command) == (code, b"")
    assert answer(driver, command, "k1") == (code, b"")


@pytest.mark.parametrize("command", ["[ a -lt b ]", "test 1 -eq 2 3 4 5 6"])
def test_what_is_wrong_with_it_is_told_and_the_runner_lives(drivers: Drivers, command: str) -> None:
    driver = drivers.next()
    code, said = answer(driver, command, "k1")
    assert code not in {0, 1, None}
    assert said
    assert answer(driver, "true", "k2") == (0, b"")
    assert len(driver.pool.carriers) == 1


def test_no_process_is_started_for_it(drivers: Drivers) -> None:
    driver = drivers.next()
    assert answer(driver, "true") == (0, b"")
    runner = driver.pool.carriers[0].process.pid
    before = waited_for(runner)
    for number in range(20):
        assert answer(driver, "test -d /", f"k{number}") == (0, b"")
    assert waited_for(runner) == before
    assert driver.shell.run(Call("test -d / && true", 20, key="program")).ok
    assert waited_for(runner) > before


def waited_for(pid: int) -> int:
    """The page faults of the children that it has waited for: none without a child (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[8])


def test_it_is_on_record_like_any_other(drivers: Drivers) -> None:
    """Whoever drives the pass on does not ask again."""
    first = drivers.next()
    assert answer(first, "[ -e no-such-file ]", "k1")[0] == 1
    first.die()
    second = drivers.next()
    recalled = second.shell.recall("k1")
    assert recalled is not None
    assert recalled.command == "[ -e no-such-file ]"
    assert answer(second, "[ -e no-such-file ]", "k1")[0] == 1


def test_a_runner_that_hangs_in_a_question_is_given_up(drivers: Drivers) -> None:
    """As it does on a file system that does not answer: it is stopped here, which is the same."""
    driver = drivers.next()
    assert answer(driver, "true") == (0, b"")
    hanging = driver.pool.carriers[0].process
    os.kill(hanging.pid, signal.SIGSTOP)
    result = driver.shell.run(Call("test -e /far/away", 1, key="k1"))
    assert result.timed_out
    eventually(lambda: hanging.poll() == -signal.SIGKILL, "the end of the runner")
    assert answer(driver, "true", "k2") == (0, b"")


def test_answers_that_come_at_once_are_sent_together(drivers: Drivers) -> None:
    driver = drivers.next()
    calls = [Call("test -d /", 20, key=f"k{number}") for number in range(8)]
    driver.shell.pipeline(each for each in calls)
    for call in calls:
        assert answer(driver, call.command, call.key) == (0, b"")
    writes_line_by_line = driver.on.sh.resolve().name == "bash"
    # Its greeting, that it has opened the pass, and all answers.
    assert driver.pool.carriers[0].received <= 3 or writes_line_by_line


def test_an_answer_does_not_wait_for_a_command(drivers: Drivers, tmp_path: Path) -> None:
    """What is held back is sent before anything is started that may last."""
    go = tmp_path / "go"
    driver = drivers.next()
    waits = f"until [ -e {go} ]; do sleep 0.05; done"
    calls = [Call("true", 20, key="k1"), Call(waits, 20, key="k2")]
    driver.shell.pipeline(each for each in [*calls, Call("true", 20, key="k3")])
    assert answer(driver, "true", "k1") == (0, b"")
    go.touch()
    assert answer(driver, waits, "k2") == (0, b"")
    assert answer(driver, "true", "k3") == (0, b"")


def test_nothing_that_was_held_back_is_lost_after_a_no(drivers: Drivers) -> None:
    """The rest is skipped, and asked for anew."""
    driver = drivers.next()
    calls = ["true", "test -d /", "false", "test -e /", "true"]
    driver.shell.pipeline(Call(each, 20, key=f"k{n}") for n, each in enumerate(calls))
    codes = [answer(driver, each, f"k{n}")[0] for n, each in enumerate(calls)]
    assert codes == [0, 0, 1, 0, 0]


def hung(driver: Driver, *records: str) -> subprocess.Popen[bytes]:
    """The driver's runner, which stands still and has these records of `test -e /x`."""
    runner = driver.pool.carriers[0].process
    (log,) = driver.on.root.glob("token/*.log")
    nonce = log.read_text().split()[0].removeprefix("@@")
    os.kill(runner.pid, signal.SIGSTOP)
    with log.open("a") as written:
        written.write("\ntest -e /x\n" + "".join(f"@@{nonce} {each}\n" for each in records))
    return runner


def test_an_answer_that_is_on_record_counts_though_the_runner_hangs(drivers: Drivers) -> None:
    """The next question hangs, and the answer had been held back for its sake."""
    driver = drivers.next()
    assert answer(driver, "true", "k0") == (0, b"")
    hanging = hung(driver, "s k1 1 999999999 -qh", "e k1 1")
    result = driver.shell.run(Call("test -e /x", 1, key="k1"))
    assert (result.exit_code, result.timed_out) == (1, False)
    eventually(lambda: hanging.poll() == -signal.SIGKILL, "the end of the runner")


def test_the_next_driver_ends_a_runner_that_hangs_in_a_question(drivers: Drivers) -> None:
    first = drivers.next()
    assert answer(first, "true", "k0") == (0, b"")
    hanging = hung(first, "s k1 1 999999999 -q")
    first.die()
    second = drivers.next()
    result = second.shell.run(Call("test -e /x", 1, key="k1"))
    assert result.timed_out
    assert not result.unknown
    eventually(lambda: hanging.poll() == -signal.SIGKILL, "the end of the runner")


def test_the_watch_ends_a_runner_that_hangs_in_a_question_when_nobody_else_does(
    drivers: Drivers,
) -> None:
    driver = drivers.next()
    assert answer(driver, "true", "k0") == (0, b"")
    hanging = hung(driver, "s k1 1 0 -q")
    eventually(lambda: hanging.poll() == -signal.SIGKILL, "the end of the runner", 20)
