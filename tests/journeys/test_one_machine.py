"""What a stranger types where everything is on one machine."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.journeys.answers import EXAMPLES, REPLAN, accepted
from tests.journeys.demonstrations import demonstration
from tests.services.processes import descendants, kill, marked, running
from tests.services.ring import eventually


class Up:
    """`replan up` in a process and a data folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("REPLAN_")},
            "HOME": str(folder),
            "REPLAN_DATA_DIR": str(self.data),
            "REPLAN_UP_OF_TEST": str(folder),
        }
        self.log = folder / "up.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*REPLAN, "up"], env=self.environ, cwd=folder, stdout=log, stderr=log
            )
        self.folder = folder

    def replan(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another process of the same user."""
        return subprocess.run(
            [*REPLAN, *arguments],
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def ready(self) -> None:
        """Return when it says so; fails the test when it ends before."""

        def says() -> bool:
            told = self.log.read_text()
            assert self.process.poll() is None, told
            return "up; data in" in told

        eventually(says, "`replan up` being ready")

    def everything(self) -> list[int]:
        """It and all that it has started."""
        mark = f"REPLAN_UP_OF_TEST={self.folder}"
        return sorted({*marked(mark), *(pid for pid, _ in descendants(self.process.pid))})


@contextmanager
def brought_up(folder: Path) -> Iterator[Up]:
    """A `replan up` that is ready; nothing of it is left afterwards."""
    up = Up(folder)
    try:
        up.ready()
        yield up
    finally:
        kill(up.everything())
        up.process.wait(10)


def greeting(folder: Path) -> str:
    """The first example, but what it makes lies in a scratch folder."""
    path = folder / "hello.yaml"
    path.write_text((EXAMPLES / "hello.yaml").read_text().replace("$HOME", str(folder)))
    return str(path)


def test_everything_on_one_machine(tmp_path: Path) -> None:
    """Killed it takes every child along. Begun again it is found by other processes.

    It is refused a second time, and SIGTERM ends it with all its children.
    """
    with brought_up(tmp_path) as killed:
        pids = killed.everything()
        killed.process.kill()
        killed.process.wait(10)
        eventually(lambda: not any(running(pid) for pid in pids), "the end of every child", 20)
        gone = killed.replan("task", "list", "--format", "min-json")
        assert accepted(gone.stdout)["next_step_cmd"] == "replan up"
    with brought_up(tmp_path) as up:
        assert accepted(up.replan("task", "list", "--format", "min-json").stdout)["ok"] is True
        assert (up.data / "connection.toml").stat().st_mode & 0o777 == 0o600
        done = up.replan("task", "submit", "--plan", greeting(tmp_path), "--local", "--wait")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "T1 done" in done.stdout
        assert (tmp_path / "replan-hello/greeting").exists()
        example = ("install nginx", "--local", "--planner", "runbook", "--dry-run")  # of its help
        foretold = up.replan("task", "submit", *example, "--wait")
        assert "would run" in foretold.stdout, foretold.stdout + foretold.stderr

        assert {path.stat().st_mode & 0o777 for path in (up.data, up.data / "pulse")} == {0o700}
        del up.environ["REPLAN_DATA_DIR"]  # what `next:` prints names no folder
        assert "T1" in up.replan("task", "show", "T1").stdout
        up.environ["REPLAN_DATA_DIR"] = str(up.data)

        second = up.replan("up", "--format", "min-json")
        assert second.returncode == 2, second.stderr
        refusal = accepted(second.stdout)
        assert refusal["kind"] == "up"
        assert str(up.data) in refusal["reason"]
        assert refusal["next_step_cmd"]
        assert "Traceback" not in second.stderr

        pids = up.everything()
        assert len(pids) >= 6
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(30) == 0, up.log.read_text()
        eventually(lambda: not any(running(pid) for pid in pids), "the end of every child", 15)
        assert not (up.data / "connection.toml").exists()
        gone = up.replan("task", "list", "--format", "min-json")
        assert gone.returncode == 2
        assert accepted(gone.stdout)["next_step_cmd"] == "replan up"


def test_the_demonstration_shows_all_of_it_and_leaves_nothing(tmp_path: Path) -> None:
    """Must show 1: four failed attempts, one escalation, one revision, done."""
    with demonstration(tmp_path) as shown:
        assert shown.done.returncode == 0, shown.done.stdout + shown.done.stderr
        (line,) = shown.done.stdout.splitlines()
        answer = accepted(line)["details"]
        assert answer["phase"] == "done"
        report = answer["report"]
        assert report["failed"] >= 4
        assert (report["escalations"], report["revisions"]) == (1, 1)
        told = Path(answer["folder"], "report.md").read_text()
        assert "1 escalation, 1 revision" in told
        assert shown.left() == []
        assert "Traceback" not in shown.done.stderr
