"""A program that is tied to its parent ends with it, however the parent ends."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.embedded.process import Process, Tether
from tests.services.availability import needs_root
from tests.services.processes import running

ROOT = Path(__file__).parents[2]

PARENT = """
import signal, sys, threading
from pathlib import Path
from orchestrator.embedded.process import Process, Tether
folder, by_kernel = Path(sys.argv[1]), sys.argv[2] == "kernel"
child = Process.launch(
    ("sh", "-c", "trap 'echo interrupted; exit' INT; echo running; while :; do sleep 0.05; done"),
    tether=Tether(signal.SIGINT, by_kernel=by_kernel, unprivileged=True),
    log=folder / "log",
)
(folder / "pid").write_text(str(child.pid))
print("launched", flush=True)
threading.Event().wait()
"""


def eventually(happened: Callable[[], bool], within: float = 10.0) -> bool:
    """Whether something became true in time."""
    deadline = time.monotonic() + within
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def launched(folder: Path, *words: str, tether: Tether) -> str:
    """What a program says until its end."""
    process = Process.launch(words, tether=tether, log=folder / "log", cwd=folder)
    assert process.wait(10.0) is not None
    return (folder / "log").read_text()


@pytest.mark.parametrize("way", ["kernel", "watcher"])
@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_the_program_gets_its_signal_when_its_parent_dies(
    tmp_path: Path, way: str, death: signal.Signals
) -> None:
    """Also when the parent is killed and can do nothing about it, and also when not root."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), way], cwd=ROOT, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"launched\n"
        pid = int((tmp_path / "pid").read_text())
        log = tmp_path / "log"
        assert eventually(lambda: log.read_text() == "running\n")
        os.kill(parent.pid, death)
    assert eventually(lambda: not running(pid))
    assert log.read_text() == "running\ninterrupted\n"


@pytest.mark.parametrize("by_kernel", [True, False])
def test_an_exit_code_is_handed_on(tmp_path: Path, by_kernel: bool) -> None:
    """What the program ended with, and minus the signal if one killed it."""
    tether = Tether(by_kernel=by_kernel)
    assert Process.launch(("sh", "-c", "exit 7"), tether=tether, log=tmp_path / "a").wait(10) == 7
    killed = Process.launch(("sh", "-c", "kill -9 $$"), tether=tether, log=tmp_path / "b")
    assert killed.wait(10) == -signal.SIGKILL


def test_a_program_that_ends_takes_its_group_along(tmp_path: Path) -> None:
    """What it leaves in its process group is killed before it counts as ended."""
    script = "sleep 300 & echo $!; exec 2>&- >&-; exit 0"
    process = Process.launch(("sh", "-c", script), tether=Tether(), log=tmp_path / "log")
    assert process.wait(10.0) == 0
    left = int((tmp_path / "log").read_text())
    assert eventually(lambda: not running(left))


def test_a_program_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    """`end` waits as long as it was told, and then nothing of the program is left."""
    script = "trap '' TERM; sleep 300 & echo $!; while :; do wait; done"
    process = Process.launch(("sh", "-c", script), tether=Tether(), log=tmp_path / "log")
    assert eventually(lambda: (tmp_path / "log").read_text() != "")
    child = int((tmp_path / "log").read_text())
    assert process.end(signal.SIGTERM, 0.2) == -signal.SIGKILL
    assert eventually(lambda: not running(child))


def test_signals_are_as_in_a_fresh_login(tmp_path: Path) -> None:
    """Neither ignored nor blocked: Python ignores SIGPIPE, and children would inherit it."""
    state = launched(tmp_path, "grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status", tether=Tether())
    assert [int(line.split()[1], 16) & 0x7FFFFFFF for line in state.splitlines()] == [0, 0]


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """One line in its log instead of a traceback."""
    process = Process.launch(("/no/such program",), tether=Tether(), log=tmp_path / "log")
    assert process.wait(10.0) == 1
    said = (tmp_path / "log").read_text()
    assert said == ("tether: /no/such program: [Errno 2] No such file or directory\n")


def test_a_log_is_private_and_begun_anew_when_it_is_long(tmp_path: Path) -> None:
    """Mode 600; the earlier one is kept beside it."""
    log = tmp_path / "log"
    log.write_bytes(b"x" * 5_000_001)
    launched(tmp_path, "echo", "new", tether=Tether())
    assert log.read_text() == "new\n"
    assert log.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "log.1").stat().st_size == 5_000_001


@needs_root
def test_root_is_given_up_without_losing_roots_files(tmp_path: Path) -> None:
    """The program is nobody, reads and writes a folder of root's, and no account was made."""
    tmp_path.chmod(0o700)
    (tmp_path / "secret").write_text("kept\n")
    (tmp_path / "secret").chmod(0o600)
    script = "id -u; cat secret; echo written >written"
    said = launched(tmp_path, "sh", "-c", script, tether=Tether(unprivileged=True, owned=tmp_path))
    assert said == "65534\nkept\n"
    assert (tmp_path / "written").stat().st_uid == 0


@needs_root
def test_root_is_given_up_where_user_namespaces_are_forbidden(tmp_path: Path) -> None:
    """As in many containers: then the program is really nobody, and still reaches its folder.

    The kernel refuses a user namespace to a process in a changed root; so that is used here.
    """
    inside, data = tmp_path / "root", tmp_path / "data"
    inside.mkdir()
    data.mkdir(mode=0o700)
    program = textwrap.dedent(
        f"""\
        import signal
        from pathlib import Path
        from orchestrator.embedded.process import Process, Tether
        folder = Path({str(data)!r})
        process = Process.launch(
            ("sh", "-c", "id -u; grep -c . /proc/self/uid_map; echo written >written; sleep 300"),
            tether=Tether(signal.SIGTERM, unprivileged=True, owned=folder),
            log=folder.parent / "log", cwd=folder,
        )
        (folder.parent / "pid").write_text(str(process.pid))
        while not (folder / "written").exists():
            assert process.exit_code() is None
        """
    )
    script = f'mount --rbind / "{inside}" && exec chroot "{inside}" "$@"'
    prefix = ("unshare", "--mount", "--propagation", "private", "--", "sh", "-ec", script, "sh")
    subprocess.run(
        [*prefix, sys.executable, "-c", f"import os; os.chdir({str(ROOT)!r})\n{program}"],
        check=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )
    assert (tmp_path / "log").read_text().split()[0] == "65534"
    assert (data / "written").stat().st_uid == 65534
    assert eventually(lambda: not running(int((tmp_path / "pid").read_text())))
