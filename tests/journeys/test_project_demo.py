"""What `replan demo --project` shows: a goal becomes reviewed work on a remote (S3.55, S2.17)."""

import subprocess
from pathlib import Path

from tests.journeys.answers import accepted
from tests.journeys.demonstrations import demonstration


def test_a_goal_is_planned_developed_reviewed_and_published(tmp_path: Path) -> None:
    """Three tasks, two at once and one after both; one rejected once by its reviewer, corrected."""
    with demonstration(tmp_path, "--project") as shown:
        assert shown.done.returncode == 0, shown.done.stdout + shown.done.stderr
        (line,) = shown.done.stdout.splitlines()
        answer = accepted(line)["details"]
        project, folder = answer["project"], Path(answer["folder"])
        plan = project["plan"]
        assert (plan["status"], plan["analysis"]["already_done"]) == (
            "completed",
            ["count.sh prints how many numbers there are."],
        )
        tasks = {task["id"]: task for task in plan["tasks"]}
        assert {key: task["status"] for key, task in tasks.items()} == dict.fromkeys(
            ("mean", "median", "report"), "approved"
        )
        mean, median, report = tasks.values()
        assert (mean["attempt"], median["attempt"], report["attempt"]) == (2, 1, 1)
        (why,) = mean["rejection_history"]
        assert "divides by NR" in why
        assert median["rejection_history"] == report["rejection_history"] == []
        assert {task["review_verdict"] for task in tasks.values()} == {"approved"}
        assert report["depends_on"] == ["mean", "median"]
        assert report["started_at"] > max(mean["started_at"], median["started_at"])
        published = project["checkpoint"]
        assert published["head"] == project["head"] == _head_of(folder / "stats.git", "session/T1")
        assert _files(folder / "stats.git", "session/T1") >= {"mean.sh", "median.sh", "report.sh"}
        told = (folder / "report.md").read_text()
        assert "completed, 3 of 3 tasks approved" in told
        assert shown.left() == []


def _head_of(remote: Path, branch: str) -> str:
    return _git(remote, "rev-parse", branch).strip()


def _files(remote: Path, branch: str) -> set[str]:
    return set(_git(remote, "ls-tree", "-r", "--name-only", branch).splitlines())


def _git(remote: Path, *words: str) -> str:
    command = ["git", "-c", "safe.directory=*", "--git-dir", str(remote), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
