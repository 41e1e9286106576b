"""What is pipelined is started without waiting for anybody, and still runs once or not at all."""

import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.domain.errors import Transient
from tests.integration.remote.drivers import Driver, Drivers, lines
from tests.integration.remote.shells import Machine
from tests.services.processes import running
from tests.services.ring import eventually
from workers.shells.ports import Call


@dataclass
class Calls:
    """Announced calls, and whether the shell still has a use for them."""

    of: Iterable[Call]
    taken: list[Call] = field(default_factory=list)
    closed: bool = False

    def each(self) -> Generator[Call]:
        """As a shell takes them."""
        try:
            for call in self.of:
                self.taken.append(call)
                yield call
        finally:
            self.closed = True


def announce(driver: Driver, *calls: Call) -> Calls:
    """Announce calls to a driver's shell."""
    told = Calls(calls)
    driver.shell.pipeline(told.each())
    return told


def ask(driver: Driver, call: Call, timeout: float = 20) -> tuple[int | None, bytes]:
    """Ask for what was pipelined."""
    result = driver.shell.run(replace(call, timeout=timeout))
    return result.exit_code, result.stdout


def noting(ledger: Path, number: int, then: str = "") -> Call:
    """A command that leaves its number in the ledger."""
    return Call(f"echo {number} >>{ledger}; {then}", 20, key=f"k{number}")


def sent(driver: Driver) -> int:
    """How often anything was sent to the first runner."""
    return driver.pool.carriers[0].sent


def test_the_host_does_not_wait_to_be_asked(drivers: Drivers, ledger: Path) -> None:
    """Each is asked for in turn, and has its own end and output; they are sent together."""
    driver = drivers.next()
    calls = [noting(ledger, number, f"echo out{number}") for number in range(8)]
    told = announce(driver, *calls)
    first = ask(driver, calls[0])
    before = sent(driver)
    rest = [ask(driver, call) for call in calls[1:]]
    assert [first, *rest] == [(0, b"out%d\n" % number) for number in range(8)]
    assert sent(driver) == before
    assert lines(ledger) == [str(number) for number in range(8)]
    assert told.closed


def test_many_are_sent_a_part_at_a_time(drivers: Drivers, ledger: Path) -> None:
    """None is lost, and far fewer messages than commands are needed."""
    driver = drivers.next()
    calls = [noting(ledger, number) for number in range(70)]
    told = announce(driver, *calls)
    assert ask(driver, calls[0])[0] == 0
    assert len(told.taken) < 70
    before = sent(driver)
    for call in calls[1:]:
        assert ask(driver, call)[0] == 0
    assert sent(driver) - before < 12
    assert lines(ledger) == [str(number) for number in range(70)]


def test_nothing_is_started_after_a_failure(drivers: Drivers, ledger: Path) -> None:
    """What was pipelined after it can be asked for, and then runs, or not."""
    driver = drivers.next()
    calls = [noting(ledger, 0), noting(ledger, 1, "exit 3"), noting(ledger, 2), noting(ledger, 3)]
    told = announce(driver, *calls)
    assert ask(driver, calls[0])[0] == 0
    assert ask(driver, calls[1])[0] == 3
    assert told.closed
    assert lines(ledger) == ["0", "1"]
    assert ask(driver, Call("echo mended", 20, key="k1b")) == (0, b"mended\n")
    assert ask(driver, calls[3])[0] == 0
    assert lines(ledger) == ["0", "1", "3"]


@pytest.mark.parametrize(("code", "goes_on"), [(0, False), (1, True), (125, True), (127, False)])
def test_a_command_waits_for_its_check_to_say_no(
    drivers: Drivers, ledger: Path, code: int, goes_on: bool
) -> None:
    """Yes is not no, and neither is a check that could not be asked."""
    driver = drivers.next()
    check, command = Call(f"exit {code}", 20, ends_well=False), noting(ledger, 1)
    told = announce(driver, check, command)
    assert driver.shell.run(check).exit_code == code
    assert told.closed is True
    if goes_on:
        eventually(lambda: lines(ledger) == ["1"], "the command")
        assert ask(driver, command)[0] == 0
    else:
        assert driver.shell.run(Call("true", 20)).ok
        assert lines(ledger) == []


def test_what_nobody_foresaw_is_done_all_the_same(drivers: Drivers, ledger: Path) -> None:
    """What had begun by then is known, and is not begun again."""
    driver = drivers.next()
    calls = [noting(ledger, 0), noting(ledger, 1), noting(ledger, 2)]
    announce(driver, *calls)
    assert ask(driver, calls[0])[0] == 0
    eventually(lambda: lines(ledger) == ["0", "1", "2"], "what was pipelined")
    assert ask(driver, Call("echo other", 20, key="other")) == (0, b"other\n")
    assert ask(driver, calls[1])[0] == 0
    assert ask(driver, calls[2])[0] == 0
    assert lines(ledger) == ["0", "1", "2"]


def test_a_withdrawn_command_is_recalled_or_never_begins(
    drivers: Drivers, ledger: Path, tmp_path: Path
) -> None:
    """The one at hand goes on and has its result; the next one is not started by it."""
    go = tmp_path / "go"
    driver = drivers.next()
    waits = f"while [ ! -e {go} ]; do sleep 0.02; done; echo went on"
    calls = [noting(ledger, 0), noting(ledger, 1, waits), noting(ledger, 2)]
    announce(driver, *calls)
    assert ask(driver, calls[0])[0] == 0
    eventually(lambda: lines(ledger) == ["0", "1"], "the second")
    driver.shell.cancel_pipeline()
    assert driver.shell.recall("k1") is not None
    assert driver.shell.recall("k2") is None
    go.touch()
    assert ask(driver, calls[1]) == (0, b"went on\n")
    assert lines(ledger) == ["0", "1"]


@pytest.mark.parametrize("ends", ["cancelled", "timed out"])
def test_nothing_follows_a_command_that_is_ended(drivers: Drivers, ledger: Path, ends: str) -> None:
    """Not even where the next one waits for a no."""
    driver = drivers.next()
    check = Call(f"echo 0 >>{ledger}; sleep 60", 0.3 if ends == "timed out" else 20, False)
    calls = [check, noting(ledger, 1), noting(ledger, 2)]
    announce(driver, *calls)
    result = driver.shell.run(
        check, cancelled=(lambda: bool(lines(ledger))) if ends == "cancelled" else None
    )
    assert (result.cancelled, result.timed_out) == (ends == "cancelled", ends == "timed out")
    driver.shell.cancel_pipeline()
    assert driver.shell.recall("k1") is None
    assert ask(driver, calls[1])[0] == 0
    assert lines(ledger) == ["0", "1"]


def test_what_a_lost_connection_had_begun_is_found(drivers: Drivers, ledger: Path) -> None:
    """Each runs once, whichever end of it was lost."""
    driver = drivers.next()
    calls = [noting(ledger, number, f"sleep 0.05; echo out{number}") for number in range(12)]
    announce(driver, *calls)
    for number, call in enumerate(calls):
        if number in (3, 7):
            driver.pool.cut()
        assert ask(driver, call) == (0, b"out%d\n" % number)
    assert lines(ledger) == [str(number) for number in range(12)]


def test_the_next_driver_finds_what_had_begun(drivers: Drivers, ledger: Path) -> None:
    """And nothing more begins for the one that is gone."""
    first = drivers.next()
    calls = [noting(ledger, number, f"sleep 0.1; echo out{number}") for number in range(12)]
    announce(first, *calls)
    assert ask(first, calls[0])[0] == 0
    eventually(lambda: len(lines(ledger)) > 2, "some of it")
    first.die()
    second = drivers.next()
    for number, call in enumerate(calls):
        assert ask(second, call) == (0, b"out%d\n" % number)
    assert lines(ledger) == [str(number) for number in range(12)]


def test_a_runner_ends_when_its_driver_is_gone(drivers: Drivers, ledger: Path) -> None:
    """It finishes the command at hand."""
    first = drivers.next()
    calls = [noting(ledger, number, "sleep 0.3") for number in range(12)]
    announce(first, *calls)
    assert ask(first, calls[0])[0] == 0
    eventually(lambda: len(lines(ledger)) > 1, "the second")
    begun = len(lines(ledger))
    process = first.pool.carriers[0].process
    first.die()
    process.wait(20)
    assert len(lines(ledger)) <= begun + 1


def test_two_drivers_at_once_start_each_once(drivers: Drivers, ledger: Path) -> None:
    """The one with the smaller fence has what it was sent stopped."""
    first, second = drivers.next(), drivers.next()
    calls = [noting(ledger, number, "sleep 0.02") for number in range(20)]

    def drive(driver: Driver) -> list[int | None]:
        announce(driver, *calls)
        with suppress(Transient):
            return [ask(driver, call)[0] for call in calls]
        return []

    with ThreadPoolExecutor(2) as threads:
        one, two = threads.map(drive, (first, second))
    assert two == [0] * 20
    assert one in ([], [0] * 20)
    assert lines(ledger) == [str(number) for number in range(20)]


def test_what_arrived_too_late_is_asked_for_again(drivers: Drivers, ledger: Path) -> None:
    """The lease was renewed meanwhile."""
    driver = drivers.next()
    driver.valid = 5.0
    calls = [noting(ledger, 0, "sleep 6.5"), noting(ledger, 1), noting(ledger, 2)]
    announce(driver, *calls)
    assert ask(driver, calls[0])[0] == 0
    assert lines(ledger) == ["0"]
    driver.valid = 600.0
    assert [ask(driver, call)[0] for call in calls[1:]] == [0, 0]
    assert lines(ledger) == ["0", "1", "2"]


def test_long_output_is_whole(drivers: Drivers) -> None:
    """Though the runner is at the next command already."""
    driver = drivers.next()
    long = Call("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done", 60, key="k1")
    after = [Call("sleep 0.2; echo after", 20, key=f"k{n}") for n in (2, 3)]
    announce(driver, long, *after)
    code, out = ask(driver, long, timeout=60)
    assert code == 0
    assert out == b"".join(b"%d\n" % number for number in range(20000))
    assert [ask(driver, call) for call in after] == [(0, b"after\n")] * 2


def test_a_command_that_no_host_takes_ends_what_is_pipelined(
    drivers: Drivers, ledger: Path
) -> None:
    """It is refused when it is asked for, not before."""
    driver = drivers.next()
    calls = [noting(ledger, 0), Call("echo \0", 20, key="k1"), noting(ledger, 2)]
    told = announce(driver, *calls)
    assert ask(driver, calls[0])[0] == 0
    assert told.closed
    assert ask(driver, calls[2])[0] == 0
    assert lines(ledger) == ["0", "2"]


def test_a_large_command_does_not_block(drivers: Drivers) -> None:
    """However much of it is written and read at the same time."""
    driver = drivers.next()
    calls = [
        Call(f"printf '%s' '{'x' * 40_000}' | tail -c 20000", 20, key=f"k{number}")
        for number in range(6)
    ]
    announce(driver, *calls)
    done: list[tuple[int | None, bytes]] = []
    thread = threading.Thread(
        target=lambda: done.extend(ask(driver, c) for c in calls), daemon=True
    )
    thread.start()
    thread.join(30)
    assert done == [(0, b"x" * 20_000)] * 6


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    plan=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=12),
    cuts=st.sets(st.integers(0, 11), max_size=2),
)
def test_it_makes_no_difference(
    plan: list[tuple[int, bool, bool]], cuts: set[int], on: Machine, tmp_path: Path
) -> None:
    """Whatever is pipelined, asked and lost: what was asked for has run once, in that order."""
    scratch = tmp_path / str(time.monotonic_ns())
    scratch.mkdir()
    ledger = scratch / "ledger"
    driver = Driver(on, 1, name=f"token/{scratch.name}")
    calls = [
        Call(
            f"echo {number} >>{ledger}; exit {code}",
            20,
            well,
            None if look else f"k{number}",
        )
        for number, (code, well, look) in enumerate(plan)
    ]
    with driver.pool:
        announce(driver, *calls)
        asked = []
        for number, call in enumerate(calls):
            if number in cuts:
                driver.pool.cut()
            code = driver.shell.run(call).exit_code
            assert code == plan[number][0]
            asked.append(number)
    ran = [int(line) for line in lines(ledger)]
    keyed = [number for number in asked if calls[number].key]
    assert [number for number in ran if calls[number].key] == keyed
    assert set(ran) == set(asked)


def test_nothing_of_it_is_left(drivers: Drivers, ledger: Path, tmp_path: Path) -> None:
    """A pass that ends early gives no runner back that is still at it."""
    driver, pid = drivers.next(), tmp_path / "pid"
    calls = [
        noting(ledger, 0),
        noting(ledger, 1, f"echo $$ >{pid}; exec sleep 61"),
        noting(ledger, 2),
    ]
    announce(driver, *calls)
    assert ask(driver, calls[0])[0] == 0
    eventually(lambda: len(lines(pid)) == 1, "the second")
    assert running(int(pid.read_text()))
    driver.shell.close()
    other = drivers.next()
    cancelled = other.shell.run(Call(calls[1].command, 60, key="k1"), cancelled=lambda: True)
    assert cancelled.cancelled
    assert not running(int(pid.read_text()))
    assert lines(ledger) == ["0", "1"]
