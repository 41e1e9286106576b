"""Supervised children: ready before they count, restarted when they die, stopped in order."""

import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.embedded import backoff
from orchestrator.embedded.process import TETHER
from orchestrator.embedded.supervisor import Supervisor
from orchestrator.embedded.watched import Child, ChildEvent, ChildStatus
from shared.domain.errors import Defect, Misconfigured
from shared.domain.next_step import command_line
from tests.services.processes import running

FOREVER = "while :; do sleep 0.05; done"


class Witness:
    """Remembers what a supervisor told."""

    def __init__(self) -> None:
        self.events: list[ChildEvent] = []

    def __call__(self, event: ChildEvent) -> None:
        """Remember it."""
        self.events.append(event)

    def kinds(self, name: str) -> list[str]:
        """What happened to a child, in order."""
        return [event.kind for event in self.events if event.name == name]


@pytest.fixture
def witness() -> Witness:
    """Told of everything by `supervisor`."""
    return Witness()


@pytest.fixture
def supervisor(tmp_path: Path, witness: Witness) -> Iterator[Supervisor]:
    """A supervisor that is closed after the test."""
    with Supervisor(tmp_path / "logs", witness) as supervisor:
        yield supervisor


def shell(name: str, script: str, **options: object) -> Child:
    """A child that runs a script."""
    return Child(name=name, argv=("sh", "-c", script), **options)  # type: ignore[arg-type]


def eventually(happened: Callable[[], bool], within: float = 10.0) -> bool:
    """Whether something became true in time."""
    deadline = time.monotonic() + within
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def status(supervisor: Supervisor, name: str) -> ChildStatus:
    """One child of several."""
    return next(child for child in supervisor.status() if child.name == name)


def pid_of(supervisor: Supervisor, name: str) -> int:
    """The process of a child that runs."""
    pid = status(supervisor, name).pid
    assert pid is not None
    return pid


def test_add_returns_when_the_child_is_ready(supervisor: Supervisor, tmp_path: Path) -> None:
    """Not before its probe says so."""
    sign = tmp_path / "sign"
    supervisor.add(shell("one", f"sleep 0.3; touch {sign}; {FOREVER}", ready=sign.exists))
    assert sign.exists()
    assert status(supervisor, "one").condition == "ready"


def test_a_killed_child_is_started_again(supervisor: Supervisor, witness: Witness) -> None:
    """With a new process, as often as it dies, and everything is told."""
    supervisor.add(shell("one", FOREVER))
    for _ in range(3):
        pid = pid_of(supervisor, "one")
        os.kill(pid, signal.SIGKILL)
        assert eventually(
            lambda pid=pid: (
                status(supervisor, "one").condition == "ready"  # type: ignore[misc]
                and pid_of(supervisor, "one") != pid
            )
        )
    now = status(supervisor, "one")
    assert (now.restarts, now.last_end) == (3, "was killed by SIGKILL")
    assert witness.kinds("one") == ["started", "ready", *["died", "started", "ready"] * 3]


def test_the_pause_before_a_restart_grows(supervisor: Supervisor, tmp_path: Path) -> None:
    """A child that dies at once, after it worked once, does not burn the processor."""
    times = tmp_path / "times"
    script = f"date +%s.%N >>{times}; [ -e {tmp_path}/once ] && exit 1; {FOREVER}"
    supervisor.add(shell("one", script, ready=times.exists))
    (tmp_path / "once").touch()
    os.kill(pid_of(supervisor, "one"), signal.SIGKILL)
    assert eventually(lambda: len(times.read_text().splitlines()) >= 5)
    starts = [float(line) for line in times.read_text().splitlines()]
    pauses = [later - earlier for earlier, later in itertools.pairwise(starts[1:])]
    expected = backoff.Backoff(quick_deaths=1)
    # A busy machine makes each of them longer, and none shorter.
    assert all(pause >= 0.99 * expected.pause(0.0) for pause in pauses), pauses
    assert expected.pause(0.0) > 4 * backoff.FIRST_PAUSE


@pytest.mark.parametrize("code", [0, 2, 75])
def test_a_child_that_ends_with_any_code_is_started_again_at_once(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """After health, with no pause: that has its own tests, with a clock that is moved."""
    monkeypatch.setattr(backoff, "HEALTHY_AFTER", 0.0)
    monkeypatch.setattr(backoff, "FIRST_PAUSE", 3600.0)
    supervisor.add(shell("one", f"trap 'exit {code}' TERM; {FOREVER}"))
    for restarts in (1, 2):
        os.kill(pid_of(supervisor, "one"), signal.SIGTERM)
        assert eventually(lambda n=restarts: is_back(supervisor, n))  # type: ignore[misc]
    assert status(supervisor, "one").last_end == f"exited with {code}"


def is_back(supervisor: Supervisor, restarts: int) -> bool:
    now = status(supervisor, "one")
    return (now.condition, now.restarts) == ("ready", restarts)


def test_a_child_that_dies_at_its_first_start_is_an_error(supervisor: Supervisor) -> None:
    """The error says how it ended, what it said and where its log is; nothing is left running."""
    with pytest.raises(Misconfigured) as raised:
        supervisor.add(shell("one", "echo the reason; exit 3"))
    assert raised.value.reason == "one exited with 3; it said: the reason"
    assert raised.value.stage == "start"
    assert str(supervisor.log_of("one")) in str(command_line(raised.value.next_step))
    assert supervisor.status() == ()


def test_a_child_that_is_never_ready_is_an_error(supervisor: Supervisor, witness: Witness) -> None:
    """It is stopped, and so are those that were added with it; the probe's doubt is told."""

    def doubtful() -> bool:
        raise ConnectionRefusedError("nobody there")

    with pytest.raises(Misconfigured, match=r"not ready within 0\.2 s .*nobody there"):
        supervisor.add(
            shell("one", FOREVER), shell("two", FOREVER, ready=doubtful, ready_within=0.2)
        )
    assert supervisor.status() == ()
    assert not any(running(event.pid) for event in witness.events)


def test_a_program_that_does_not_exist_is_an_error(supervisor: Supervisor) -> None:
    """It is named."""
    with pytest.raises(Misconfigured, match=r"/no/such/program: .*No such file"):
        supervisor.add(Child(name="one", argv=("/no/such/program",)))


def test_a_child_is_not_ready_before_its_program_has_begun(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a busy machine takes until it looks for the program."""
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import os, sys, time\ntime.sleep(1)\n"
        f"os.execv(sys.executable, [sys.executable, '-I', '-S', {str(TETHER)!r}, *sys.argv[1:]])\n"
    )
    monkeypatch.setattr("orchestrator.embedded.process.TETHER", slow)
    with pytest.raises(Misconfigured, match="No such file"):
        supervisor.add(Child(name="one", argv=("/no/such/program",)))


def test_a_folder_that_does_not_exist_is_an_error(supervisor: Supervisor) -> None:
    """The launch itself fails, and the supervisor goes on."""
    with pytest.raises(Misconfigured, match="could not be started"):
        supervisor.add(shell("one", FOREVER, cwd=Path("/no/such/folder")))
    supervisor.add(shell("two", FOREVER))
    assert status(supervisor, "two").condition == "ready"


def test_two_children_of_one_name_are_a_defect(supervisor: Supervisor) -> None:
    """The first goes on."""
    supervisor.add(shell("one", FOREVER))
    pid = pid_of(supervisor, "one")
    with pytest.raises(Defect, match="one"):
        supervisor.add(shell("one", FOREVER))
    assert pid_of(supervisor, "one") == pid


def test_children_are_stopped_in_the_reverse_order(supervisor: Supervisor, tmp_path: Path) -> None:
    """What was added later uses what was added before."""
    order = tmp_path / "order"
    for name in ("database", "broker", "worker"):
        script = f"trap 'sleep 0.1; echo {name} >>{order}; exit' TERM; touch {tmp_path / name}; "
        supervisor.add(shell(name, script + FOREVER, ready=(tmp_path / name).exists))
    supervisor.close()
    assert order.read_text().split() == ["worker", "broker", "database"]


def test_children_of_one_call_are_stopped_together(
    supervisor: Supervisor, witness: Witness, tmp_path: Path
) -> None:
    """Each ends only when all have been told to: in turn, none would end by itself."""
    names = "abcde"
    told = {name: tmp_path / f"{name}-told" for name in names}
    all_told = " && ".join(f"[ -e {path} ]" for path in told.values())
    children = []
    for name in names:
        stop = f"touch {told[name]}; until {all_told}; do sleep 0.05; done; exit 0"
        script = f"trap '{stop}' TERM; touch {tmp_path / name}; {FOREVER}"
        children.append(shell(name, script, ready=(tmp_path / name).exists, stop_within=60.0))
    supervisor.add(*children)
    supervisor.close()
    ends = [event.detail for event in witness.events if event.kind == "stopped"]
    assert ends == ["exited with 0"] * len(names)


def test_a_child_is_asked_to_stop_once(tmp_path: Path) -> None:
    """One that has begun to end itself is not killed by a second signal, meant for the first."""
    go_on, ends = tmp_path / "go_on", {}

    def tell(event: ChildEvent) -> None:
        if event.kind == "stopped":
            ends[event.name] = event.detail
            go_on.touch()

    trapped = f"trap 'trap - TERM; until [ -e {go_on} ]; do sleep 0.05; done; exit 0' TERM"
    with Supervisor(tmp_path / "logs", tell) as supervisor:
        supervisor.add(shell("first", FOREVER), shell("second", f"{trapped}; {FOREVER}"))
    assert ends == {"first": "was killed by SIGTERM", "second": "exited with 0"}


def test_a_child_gets_its_own_stop_signal(supervisor: Supervisor, tmp_path: Path) -> None:
    """Postgres, for one, wants SIGINT."""
    script = f"trap 'echo interrupted; exit' INT; touch {tmp_path / 'up'}; {FOREVER}"
    ready = (tmp_path / "up").exists
    supervisor.add(shell("one", script, stop_signal=signal.SIGINT, ready=ready))
    supervisor.remove("one")
    assert supervisor.log_of("one").read_text() == "interrupted\n"


def test_restart_makes_a_new_process(supervisor: Supervisor) -> None:
    """And does not count as a death."""
    supervisor.add(shell("one", FOREVER))
    before = pid_of(supervisor, "one")
    supervisor.restart("one")
    assert eventually(lambda: status(supervisor, "one").condition == "ready")
    assert pid_of(supervisor, "one") != before
    assert not running(before)
    assert status(supervisor, "one").restarts == 0


def test_a_child_outlives_the_thread_that_asked_for_it(supervisor: Supervisor) -> None:
    """The kernel ends a child with the thread that started it: that is the supervisor's own."""
    asking = threading.Thread(target=supervisor.add, args=(shell("one", FOREVER),))
    asking.start()
    asking.join()
    supervisor.add(shell("later", FOREVER))
    assert status(supervisor, "one").restarts == 0
    assert running(pid_of(supervisor, "one"))


def test_close_leaves_nothing_and_may_be_repeated(supervisor: Supervisor, witness: Witness) -> None:
    """Also a child that is just resting before its restart is forgotten."""
    supervisor.add(shell("one", FOREVER), shell("two", FOREVER))
    os.kill(pid_of(supervisor, "two"), signal.SIGKILL)
    assert eventually(lambda: "died" in witness.kinds("two"))
    supervisor.close()
    supervisor.close()
    assert supervisor.status() == ()
    assert not any(running(event.pid) for event in witness.events)


def test_the_environment_is_the_given_one_alone(supervisor: Supervisor, tmp_path: Path) -> None:
    """Nothing of ours reaches a child that names its own."""
    written = tmp_path / "environment"
    script = f"import os, time; open({str(written)!r}, 'w').write(repr(sorted(os.environ))); "
    child = Child(
        name="one",
        argv=(sys.executable, "-I", "-c", script + "time.sleep(300)"),
        env={"ONLY": "this", "LC_CTYPE": "C"},
        ready=lambda: written.exists() and written.stat().st_size > 0,
    )
    supervisor.add(child)
    assert written.read_text() == "['LC_CTYPE', 'ONLY']"
