"""A command outlives whoever asked for it, and whoever comes next gets its result."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from shared.domain.attempt import Signal, Unknown
from shared.domain.errors import Transient
from tests.integration.remote.drivers import Driver, Drivers, in_background, lines
from tests.integration.remote.shells import Machine, MachinePool
from tests.services.processes import descendants, running
from tests.services.ring import eventually
from workers.shells.ports import Call


def test_another_driver_gets_the_result_of_what_was_running(
    drivers: Drivers, ledger: Path, tmp_path: Path
) -> None:
    """One line in the ledger, the output whole, and no second start."""
    go = tmp_path / "go"
    command = (
        f"echo before; echo run >>{ledger}; while [ ! -e {go} ]; do sleep 0.02; done; "
        "echo after; echo oops >&2; exit 7"
    )
    first = drivers.next()
    thread = in_background(first, command, "k1")
    eventually(lambda: lines(ledger), "the start")
    first.die()
    thread.join(20)

    second = drivers.next()
    assert second.shell.recall("k1") is not None
    told: dict[str, bytes] = {"stdout": b"", "stderr": b""}

    def note(stream: str, chunk: bytes) -> None:
        told[stream] += chunk
        go.touch()

    result = second.shell.run(Call(command, 60, key="k1"), on_output=note)

    assert (result.exit_code, result.stdout, result.stderr) == (7, b"before\nafter\n", b"oops\n")
    assert told == {"stdout": b"before\nafter\n", "stderr": b"oops\n"}
    assert lines(ledger) == ["run"]


def test_what_had_ended_is_not_run_again(drivers: Drivers, ledger: Path) -> None:
    """Each with its own output, silent ones too."""
    first = drivers.next()
    for number in range(5):
        noise = f"echo out{number};" * (number % 2)
        assert (
            first.shell.run(
                Call(
                    f"echo {number} >>{ledger}; {noise} exit {number}",
                    20,
                    key=f"k{number}",
                    label="l",
                )
            ).exit_code
            == number
        )
        assert first.shell.run(Call("true", 20)).ok
    first.die()

    second = drivers.next()
    for number in range(5):
        result = second.shell.run(Call("something else", 20, key=f"k{number}"))
        expected = b"out%d\n" % number if number % 2 else b""
        assert (result.exit_code, result.stdout) == (number, expected)
        recalled = second.shell.recall(f"k{number}")
        assert recalled is not None
        assert recalled.label == "l"
        assert f"exit {number}" in recalled.command
    assert second.shell.run(Call(f"echo new >>{ledger}", 20, key="k5")).ok
    assert lines(ledger) == ["0", "1", "2", "3", "4", "new"]


def test_two_drivers_at_once_run_it_once(drivers: Drivers, ledger: Path) -> None:
    """The one with the smaller fence learns that it is no longer its pass."""
    first, second = drivers.next(), drivers.next()
    command = f"echo run >>{ledger}; sleep 0.3"

    def run(driver: Driver) -> int | None:
        with suppress(Transient):
            return driver.shell.run(Call(command, 60, key="k1")).exit_code
        return None

    with ThreadPoolExecutor(2) as threads:
        one, two = threads.map(run, (first, second))
    assert two == 0
    assert one in (0, None)
    assert lines(ledger) == ["run"]


def test_an_old_driver_that_comes_back_starts_nothing(drivers: Drivers, ledger: Path) -> None:
    """However late."""
    first = drivers.next()
    assert first.shell.run(Call("true", 20, key="k1")).ok
    second = drivers.next()
    assert second.shell.run(Call(f"echo second >>{ledger}", 20, key="k2")).ok
    with pytest.raises(Transient):
        first.shell.run(Call(f"echo first >>{ledger}", 20, key="k3"))
    assert second.shell.run(Call("true", 20, key="k3")).ok
    assert lines(ledger) == ["second"]


def test_nothing_is_started_after_the_lease(drivers: Drivers, ledger: Path) -> None:
    """The host itself refuses what arrives too late."""
    first = drivers.next()
    assert first.shell.run(Call("true", 20, key="k1")).ok
    first.valid = -5.0
    with pytest.raises(Transient):
        first.shell.run(Call(f"echo late >>{ledger}", 20, key="k2"))
    assert lines(ledger) == []


def test_a_driver_goes_on_by_itself_after_a_lost_connection(drivers: Drivers, ledger: Path) -> None:
    """It finds its own command again."""
    driver = drivers.next()
    begun = threading.Event()

    def cut(*_: object) -> None:
        if not begun.is_set():
            begun.set()
            driver.pool.cut()

    result = driver.shell.run(
        Call(f"echo run >>{ledger}; echo a; sleep 1; echo b", 60, key="k1"), on_output=cut
    )
    assert begun.is_set()
    assert (result.exit_code, result.stdout) == (0, b"a\nb\n")
    assert lines(ledger) == ["run"]
    assert driver.shell.run(Call(f"echo more >>{ledger}", 20, key="k2")).ok


def test_nobody_can_say_how_it_ended_when_its_runner_was_killed(
    drivers: Drivers, ledger: Path
) -> None:
    """What it had started is waited for; then its outcome is unknown, with the reason."""
    first = drivers.next()
    thread = in_background(first, f"echo $$ >>{ledger}; sleep 1; echo end >>{ledger}", "k1")
    eventually(lambda: lines(ledger), "the start")
    pid = int(lines(ledger)[0])
    os.kill(int(Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[1]), signal.SIGKILL)
    first.die()
    thread.join(20)

    second = drivers.next()
    result = second.shell.run(Call("true", 60, key="k1"))

    assert result.exit_code is None
    assert result.unknown is Unknown.SHELL_KILLED
    assert not running(pid)
    assert lines(ledger)[1:] == ["end"]


def test_cancelling_ends_what_another_driver_started(drivers: Drivers, ledger: Path) -> None:
    """A grandchild that ignores TERM included; and it is told how."""
    first = drivers.next()
    command = (
        f"trap '' TERM; (trap '' TERM; sh -c 'echo $$ >>{ledger}; while :; do sleep 1; done') & "
        f"echo $$ >>{ledger}; wait"
    )
    thread = in_background(first, command, "k1")
    eventually(lambda: len(lines(ledger)) == 2, "both")
    first.die()
    thread.join(20)

    second = drivers.next()
    result = second.shell.run(Call(command, 60, key="k1"), cancelled=lambda: True)

    assert result.cancelled
    assert result.signal is Signal.KILL
    assert not any(running(int(pid)) for pid in lines(ledger))


def test_a_deadline_holds_over_drivers(drivers: Drivers, ledger: Path) -> None:
    """It is counted from the start of the command, not from the arrival of the driver."""
    first = drivers.next()
    thread = in_background(first, f"echo run >>{ledger}; sleep 300", "k1")
    eventually(lambda: lines(ledger), "the start")
    first.die()
    thread.join(20)
    second = drivers.next()
    result = second.shell.run(Call("x", 1, key="k1"))
    # The first driver allowed 60 s; the timeout given now is a shorter one.
    assert result.timed_out
    assert (result.ended_at - result.started_at).total_seconds() < 60


def test_nothing_watches_on_where_all_records_were_removed(drivers: Drivers, ledger: Path) -> None:
    """As when a home is cleared away while something runs in it, and its runner is gone, too."""
    driver = drivers.next()
    thread = in_background(driver, f"echo $$ >>{ledger}; exec sleep 300", "k1")
    eventually(lambda: lines(ledger), "the start")
    (log,) = drivers.on.root.glob("token/*.log")
    watch = int(log.read_text().split("\n", 1)[0].split()[-1])
    pauses: set[int] = set()

    def has_looked() -> bool:
        pauses.update(pid for pid, _ in descendants(watch))
        return len(pauses) > 10

    eventually(has_looked, "the watch seeing that a command runs", 20)
    driver.die()
    thread.join(20)
    driver.pool.carriers[0].process.kill()
    drivers.on.root.rename(drivers.on.home / "away")
    eventually(lambda: not Path(f"/proc/{watch}").exists(), "the end of the watch", 20)
    os.kill(int(lines(ledger)[0]), signal.SIGKILL)


def test_a_cut_call_does_nothing(on: Machine, ledger: Path) -> None:
    """Wherever the transfer ends."""
    from workers.shells.remote.runner_text import call, opening
    from workers.shells.remote.short_names import RunnerVerb

    whole = call(RunnerVerb.RUN, "k1", 10**9, 60, "-", "label", f"echo run >>{ledger}")
    start = opening("aa", "bb") + call(RunnerVerb.OPEN, "cut/1-0-1.1.1", "")
    for size in range(0, len(whole) - 3, 7):
        pool = MachinePool(on)
        with pool:
            carrier = pool._reached(on)
            carrier.send(start + whole[:size])
            carrier.cut()
            carrier.process.wait(20)
        assert lines(ledger) == [], whole[:size]
