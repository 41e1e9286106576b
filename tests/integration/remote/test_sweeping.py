"""Old records are removed, never those of a pass that somebody drives or takes over."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.domain.attempt import Unknown
from shared.domain.host import LOCALHOST
from tests.integration.remote.drivers import Driver, Drivers, in_background, lines
from tests.integration.remote.shells import Machine, MachinePool
from tests.services.processes import descendants, running
from tests.services.ring import eventually
from workers.shells.ports import Call
from workers.shells.remote.runner import Runner
from workers.shells.remote.shell import RunnerShell

DAY = 86_400.0

with_gates = pytest.mark.parametrize("on", ["dash", "bash"], indirect=True)
"""Busybox runs its own find, whatever lies in the path."""


@dataclass(frozen=True)
class Gate:
    """Holds every call of `find` that has a word up, once it knows its answer."""

    reached: Path
    released: Path

    def open(self) -> None:
        """Let them go on."""
        self.released.touch()


def gate(on: Machine, word: str) -> Gate:
    """A gate before what `find` answers on the machine, where its arguments hold the word."""
    made = Gate(on.home / "reached", on.home / "released")
    here = on.sh.parent / "find"
    here.write_text(
        f"""#!/bin/sh
answer=$({shutil.which("find")} "$@")
case "$*" in *"{word}"*)
  : >{made.reached}
  while [ ! -e {made.released} ]; do sleep 0.02; done ;;
esac
[ -z "$answer" ] || printf '%s\\n' "$answer"
"""
    )
    here.chmod(0o755)
    return made


def age(root: Path) -> None:
    """Make all logs three days old."""
    three_days_ago = time.time() - 3 * DAY
    for path in root.glob("*/*.log"):
        os.utime(path, (three_days_ago, three_days_ago))


@pytest.fixture
def left(drivers: Drivers, ledger: Path) -> Path:
    """The log, three days old, of a pass whose driver and runner are gone: it ran k1."""
    root = drivers.on.root
    first = drivers.next()
    assert first.shell.run(Call(f"echo run >>{ledger}", 20, key="k1")).ok
    (log,) = root.glob("token/*.log")
    words = log.read_text().split("\n", 1)[0].split()
    first.die()
    for pid in (int(words[-1]), int(words[2])):
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: not running(pid), "the end of the runner")  # type: ignore[misc]
    (root / ".swept").unlink(missing_ok=True)
    age(root)
    return log


@pytest.fixture
def long_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the host had been up for ten days more than it has."""
    uptime = Runner.uptime
    monkeypatch.setattr(
        Runner, "uptime", lambda runner, after=0.0: uptime(runner, after) + int(10 * DAY)
    )


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Where drivers wait."""
    with ThreadPoolExecutor() as made:
        yield made


def sweeping(drivers: Drivers) -> None:
    """Have the driver of another pass sweep."""
    other = Driver(drivers.on, 1, name="other/9-0-1")
    drivers.all.append(other)
    assert other.shell.run(Call("true", 20, key="k1")).ok


def taking_over(drivers: Drivers, threads: ThreadPoolExecutor) -> Future[Driver]:
    """Have a driver take the pass over; its log is open afterwards."""
    future = threads.submit(drivers.next, since=3 * DAY)
    eventually(lambda: list(drivers.on.root.glob("token/1-0-1.[2-9].1.log")), "its log")
    return future


def test_old_records_are_swept_away(on: Machine, ledger: Path) -> None:
    """But not those of a runner that lives, nor young ones."""
    first = Driver(on, 1, name="long/1-0-1")
    thread = in_background(first, f"echo $$ >>{ledger}; exec sleep 300", "k1")
    with first.pool:
        eventually(lambda: lines(ledger), "the start")
        for name in ("old", "young"):
            (on.root / name).mkdir()
            (on.root / name / "1-0-1.1.1.log").write_text("@@aa i 1 1 boot space 1\n")
            (on.root / name / "1-0-1.1.1.o.1").write_text("said\n")
        three_days_ago = time.time() - 3 * 86_400
        for name in ("old", "long"):
            for path in (on.root / name).glob("*.log"):
                os.utime(path, (three_days_ago, three_days_ago))
        eventually((on.root / ".swept").exists, "the first sweeping")
        (on.root / ".swept").unlink()
        second = Driver(on, 1, name="other/1-0-1")
        with second.pool:
            assert second.shell.run(Call("true", 20, key="k1")).ok
            eventually(lambda: not list((on.root / "old").iterdir()), "the sweeping")
        assert len(list((on.root / "young").iterdir())) == 2
        assert list((on.root / "long").glob("*.log"))
        first.gone.set()
    thread.join(20)
    os.kill(int(lines(ledger)[0]), signal.SIGKILL)


def test_the_records_of_a_pass_that_is_taken_over_are_kept(drivers: Drivers, ledger: Path) -> None:
    """However old they are, and although whoever takes it over sweeps first of all."""
    root = drivers.on.root
    root.mkdir(parents=True, mode=0o700)
    (root / ".swept").touch()
    first = drivers.next()
    assert first.shell.run(Call(f"echo run >>{ledger}", 20, key="k1")).ok
    first.die()
    (root / ".swept").unlink()
    (log,) = root.glob("token/*.log")
    (root / "token" / "2-0-1.1.1.log").write_text("@@aa i 1 1 boot space 1\n")
    (root / "looks").mkdir(exist_ok=True)
    (root / "looks" / "aa.0.0.log").write_text("@@aa i 1 1 boot space 1\n")
    three_days_ago = time.time() - 3 * 86_400
    for path in root.glob("*/*.log"):
        os.utime(path, (three_days_ago, three_days_ago))
    second = drivers.next()
    second.shell.recall("k1")
    eventually(lambda: not (root / "looks" / "aa.0.0.log").exists(), "the sweeping")
    assert log.exists()
    assert second.shell.run(Call(f"echo run >>{ledger}", 20, key="k1")).ok
    assert lines(ledger) == ["run"]


def test_who_only_looks_sweeps_nothing(drivers: Drivers, left: Path) -> None:
    """A runner may be used for a look before it opens the log of a pass that is taken over."""
    with MachinePool(drivers.on) as pool:
        look = RunnerShell(LOCALHOST, pool)
        assert look.run(Call("true", 20)).ok
        (log,) = drivers.on.root.glob("looks/*.log")
        watch = int(log.read_text().split("\n", 1)[0].split()[-1])
        pauses: set[int] = set()

        def has_looked() -> bool:
            pauses.update(pid for pid, _ in descendants(watch))
            return len(pauses) > 2

        eventually(has_looked, "the watch seeing the look")
        assert left.exists()
        assert not (drivers.on.root / ".swept").exists()


@with_gates
def test_a_log_that_is_open_before_the_decision_keeps_all(
    drivers: Drivers, ledger: Path, left: Path, threads: ThreadPoolExecutor
) -> None:
    """The sweep has listed the old log, and decides after a driver has come."""
    held = gate(drivers.on, "*.log")
    sweeping(drivers)
    eventually(held.reached.exists, "the listing")
    second = taking_over(drivers, threads).result(20)
    held.open()
    eventually(lambda: not list(drivers.on.root.glob("*/.claim.*")), "the decision")
    assert second.shell.run(Call(f"echo run >>{ledger}", 20, key="k1")).ok
    assert left.exists()
    assert lines(ledger) == ["run"]


@with_gates
@pytest.mark.usefixtures("long_up")
def test_a_decision_under_way_is_waited_for(
    drivers: Drivers, ledger: Path, left: Path, threads: ThreadPoolExecutor
) -> None:
    """Nobody reads records that are removed a moment later, and nothing runs twice after that."""
    held = gate(drivers.on, "! -mtime")
    sweeping(drivers)
    eventually(held.reached.exists, "the decision")
    coming = taking_over(drivers, threads)
    held.open()
    second = coming.result(20)
    assert not left.exists()
    assert second.shell.recall("k1") is None
    result = second.shell.run(Call(f"echo run >>{ledger}", 20, key="k1"))
    assert result.unknown is Unknown.RECORD_REMOVED
    assert lines(ledger) == ["run"]


def test_a_decision_whose_maker_died_is_not_waited_for(
    drivers: Drivers, ledger: Path, left: Path
) -> None:
    """Its claim remains."""
    words = left.read_text().split("\n", 1)[0].split()
    claim = left.parent / ".claim.1-"
    claim.write_text(" ".join(words[2:6]) + "\n")
    second = drivers.next(since=3 * DAY)
    assert second.shell.run(Call(f"echo run >>{ledger}", 20, key="k1")).ok
    assert lines(ledger) == ["run"]


def test_a_decision_from_elsewhere_is_waited_for(
    drivers: Drivers, ledger: Path, left: Path, threads: ThreadPoolExecutor
) -> None:
    """Nobody can tell here whether a process of another host or container lives."""
    claim = left.parent / ".claim.1-"
    claim.write_text("1 1 another-boot pid:[1]\n")
    coming = taking_over(drivers, threads)
    assert not coming.done()
    claim.unlink()
    second = coming.result(20)
    assert second.shell.run(Call(f"echo run >>{ledger}", 20, key="k1")).ok
    assert lines(ledger) == ["run"]


@pytest.mark.usefixtures("long_up")
@pytest.mark.parametrize("since", [1.0, 3 * DAY])
def test_where_records_may_have_been_removed_nobody_can_tell(
    drivers: Drivers, ledger: Path, since: float
) -> None:
    """What an earlier driver of an old pass ran is unknown without records, once."""
    drivers.all.append(Driver(drivers.on, 1, name="other/9-0-1"))
    second = drivers.next(since=since)
    result = second.shell.run(Call(f"echo run >>{ledger}", 20, key="k1"))
    assert (result.unknown is Unknown.RECORD_REMOVED) == (since > DAY)
    assert second.shell.run(Call(f"echo run >>{ledger}", 20, key="k2")).ok
