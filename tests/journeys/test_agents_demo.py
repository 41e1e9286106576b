"""What `replan demo --agents` shows: commands and a real coding agent in one plan."""

import os
import pwd
import subprocess
from pathlib import Path

from tests.journeys.answers import REPLAN, accepted
from tests.services.agent_programs import program_for_tests
from tests.services.processes import kill, marked


def test_the_demonstration_of_agents_shows_all_of_it_and_leaves_nothing(tmp_path: Path) -> None:
    """Must show 7: the threshold, one bundle, one revision; then a command uses what was made."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").symlink_to(program_for_tests("claude-code"))
    mark = f"demo-agents-{os.getpid()}"
    environ = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("REPLAN_", "ANTHROPIC_"))},
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "REPLAN_UP_OF_TEST": mark,
    }
    done = subprocess.run(
        [*REPLAN, "demo", "--agents", "--format", "min-json"],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        (line,) = done.stdout.splitlines()
        answer = accepted(line)["details"]
        report, folder = answer["report"], Path(answer["folder"])
        assert (report["failed"], report["escalations"], report["revisions"]) == (2, 1, 1)
        assert (folder / "host/report.txt").read_text() == "200 2\n404 2\n408 1\n"
        told = (folder / "report.md").read_text()
        assert "Escalated after 2 errors: the evidence went to" in told
        assert "agent" in told.partition("## Model calls")[2]
        assert "DOCUMENT_DECISIONS" not in told  # its agents keep the rules
        assert marked(f"REPLAN_UP_OF_TEST={mark}") == []
        assert not Path(pwd.getpwuid(os.getuid()).pw_dir, ".replan/workspaces/logreport").exists()
    finally:
        kill(marked(f"REPLAN_UP_OF_TEST={mark}"))
