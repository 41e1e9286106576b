"""The records on a host have a cap: beyond it, output goes that is recorded elsewhere, not more."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from shared.domain.host import LOCALHOST
from tests.integration.remote.drivers import PASS, Driver, Drivers, lines
from tests.integration.remote.shells import Machine, MachinePool
from tests.services.ring import eventually
from workers.shells.ports import Call
from workers.shells.remote.shell import RunnerShell

CAP = 2_800_000
"""The folders alone take up a megabyte."""

LOUD = "head -c 900000 /dev/zero; exit 0"

Pass = Callable[..., Driver]


def outputs(on: Machine, name: str) -> list[Path]:
    """The files with output of a pass; the watch may be removing them."""
    return [path for path in on.root.glob(f"{name}.*.[oe].*") if _size(path)]


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


@pytest.fixture
def loud(drivers: Drivers, monkeypatch: pytest.MonkeyPatch) -> Pass:
    """Carries out a pass with much output on a host with a small cap."""
    made = MachinePool.__init__

    def capped(self: MachinePool, on: Machine) -> None:
        made(self, on)
        self._records_cap = CAP

    monkeypatch.setattr(MachinePool, "__init__", capped)
    drivers.on.root.mkdir(parents=True, mode=0o700)
    (drivers.on.root / ".sized").touch()

    def carry_out(name: str, *, command: str = LOUD, settled: bool = True) -> Driver:
        driver = Driver(drivers.on, 1, name=name)
        drivers.all.append(driver)
        assert driver.shell.run(Call(command, 20, key="k1")).ok
        if settled:
            driver.shell.close()
            driver.shell.settle()
            driver.pool.close()
            mark = drivers.on.root / f"{name}.settled"
            eventually(mark.exists, "the word that its results are recorded")
            order = len(drivers.all)
            os.utime(mark, (time.time() - 1000 + order, time.time() - 1000 + order))
        return driver

    return carry_out


@pytest.fixture
def swept(drivers: Drivers) -> Callable[[], None]:
    """Has the watch of another pass look at the size, and waits until it has."""

    def sweep() -> None:
        sized = drivers.on.root / ".sized"
        sized.unlink(missing_ok=True)
        other = Driver(drivers.on, 1, name=f"other/{len(drivers.all)}-0-1")
        drivers.all.append(other)
        assert other.shell.run(Call("true", 20, key="k1")).ok
        (log,) = drivers.on.root.glob(f"{other.name}.*.log")
        watch = int(log.read_text().split("\n", 1)[0].split()[-1])
        eventually(sized.exists, "the look at the size")
        eventually(lambda: not _busy(watch), "the end of it")

    return sweep


def _busy(watch: int) -> bool:
    """Whether it does anything but pause."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            if int(rest.split()[1]) == watch:
                return not name.endswith(("(sleep", "(busybox"))
    return True


def test_the_oldest_output_goes_first(
    drivers: Drivers, loud: Pass, swept: Callable[[], None]
) -> None:
    """Until the records are well below the cap; all logs stay."""
    for name in ("aa/1-0-1", "aa/2-0-1", "bb/3-0-1"):
        loud(name)
    swept()
    eventually(lambda: not (drivers.on.root / "aa/2-0-1.settled").exists(), "the shrinking")
    assert not outputs(drivers.on, "aa/1-0-1") + outputs(drivers.on, "aa/2-0-1")
    assert outputs(drivers.on, "bb/3-0-1")
    assert len(list(drivers.on.root.glob("??/[123]-0-1.1.1.log"))) == 3
    assert [path.name for path in drivers.on.root.glob("*/*.settled")] == ["3-0-1.settled"]


def test_below_the_cap_everything_stays(
    drivers: Drivers, loud: Pass, swept: Callable[[], None]
) -> None:
    loud("aa/1-0-1")
    swept()
    assert outputs(drivers.on, "aa/1-0-1")


def test_a_result_that_nobody_has_recorded_stays(
    drivers: Drivers, loud: Pass, swept: Callable[[], None], ledger: Path
) -> None:
    """Whoever takes the pass over reads it whole, and runs nothing again."""
    first = loud(PASS, command=f"echo run >>{ledger}; {LOUD}", settled=False)
    first.die()
    for name in ("aa/1-0-1", "aa/2-0-1"):
        loud(name)
    swept()
    eventually(lambda: not outputs(drivers.on, "aa/2-0-1"), "the shrinking")
    second = Driver(drivers.on, 2)
    drivers.all.append(second)
    result = second.shell.run(Call("x", 20, key="k1"))
    assert len(result.stdout) + result.stdout_dropped == 900_000
    assert lines(ledger) == ["run"]


def test_a_settled_pass_still_runs_nothing_again(
    drivers: Drivers, loud: Pass, swept: Callable[[], None], ledger: Path
) -> None:
    """Its output is gone, its log is not: a driver that comes late learns how its command ended."""
    loud(PASS, command=f"echo run >>{ledger}; {LOUD}")
    for name in ("aa/1-0-1", "aa/2-0-1"):
        loud(name)
    swept()
    eventually(lambda: not outputs(drivers.on, PASS), "the shrinking")
    second = Driver(drivers.on, 2)
    drivers.all.append(second)
    result = second.shell.run(Call("x", 20, key="k1"))
    assert result.exit_code == 0
    assert result.stdout == b""
    assert lines(ledger) == ["run"]


def test_a_pass_that_goes_on_after_all_is_settled_no_more(
    drivers: Drivers, loud: Pass, swept: Callable[[], None]
) -> None:
    """As after a failover of the database that has lost the end of the pass."""
    loud(PASS)
    second = Driver(drivers.on, 2)
    drivers.all.append(second)
    assert second.shell.run(Call(LOUD, 20, key="k2")).ok
    for name in ("aa/1-0-1", "aa/2-0-1"):
        loud(name)
    swept()
    eventually(lambda: not outputs(drivers.on, "aa/2-0-1"), "the shrinking")
    assert len(outputs(drivers.on, PASS)) == 2


def test_output_that_somebody_still_writes_stays(
    drivers: Drivers, loud: Pass, swept: Callable[[], None], ledger: Path
) -> None:
    """It would grow unseen: a watch cuts it back only while it has a name."""
    loud("aa/1-0-1", command=f"head -c 900000 /dev/zero; sleep 300 & echo $! >>{ledger}")
    try:
        for name in ("aa/2-0-1", "bb/3-0-1"):
            loud(name)
        swept()
        eventually(lambda: not outputs(drivers.on, "aa/2-0-1"), "the shrinking")
        assert outputs(drivers.on, "aa/1-0-1")
    finally:
        os.kill(int(lines(ledger)[0]), signal.SIGKILL)


def test_the_host_hears_of_it_with_the_next_pass(drivers: Drivers) -> None:
    """Or before the connection closes; a pass that wrote nothing has nothing to say."""
    with MachinePool(drivers.on) as pool:
        first, second, third = (
            RunnerShell(LOCALHOST, pool, Driver(drivers.on, 1, name=f"aa/{n}-0-1").shell._record)
            for n in (1, 2, 3)
        )
        assert first.run(Call("echo 1", 20, key="k1")).ok
        assert second.run(Call("true", 20, key="k1")).ok
        for shell in (first, second):
            shell.close()
            shell.settle()
        marks = drivers.on.root / "aa"
        assert not list(marks.glob("*.settled"))
        assert third.run(Call("echo 3", 20, key="k1")).ok
        assert [path.name for path in marks.glob("*.settled")] == ["1-0-1.settled"]
        third.close()
        third.settle()
        pool.cool_down(0)
        eventually((marks / "3-0-1.settled").exists, "the last word")
