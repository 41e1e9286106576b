"""What `replan demo --agents` shows: commands and a real coding agent in one plan."""

import os
import pwd
from pathlib import Path

from tests.journeys.answers import accepted
from tests.journeys.demonstrations import demonstration


def test_the_demonstration_of_agents_shows_all_of_it_and_leaves_nothing(tmp_path: Path) -> None:
    """Must show 7: the threshold, one bundle, one revision; then a command uses what was made."""
    with demonstration(tmp_path, "--agents") as shown:
        assert shown.done.returncode == 0, shown.done.stdout + shown.done.stderr
        (line,) = shown.done.stdout.splitlines()
        answer = accepted(line)["details"]
        report, folder = answer["report"], Path(answer["folder"])
        assert (report["failed"], report["escalations"], report["revisions"]) == (2, 1, 1)
        assert (folder / "host/report.txt").read_text() == "200 2\n404 2\n408 1\n"
        told = (folder / "report.md").read_text()
        assert "Escalated after 2 errors: the evidence went to" in told
        assert "agent" in told.partition("## Model calls")[2]
        assert "DOCUMENT_DECISIONS" not in told  # its agents keep the rules
        assert shown.left() == []
        assert not Path(pwd.getpwuid(os.getuid()).pw_dir, ".replan/workspaces/logreport").exists()
