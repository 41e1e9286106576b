"""One attempt in full: while its command runs, and once it has ended."""

import re
from pathlib import Path

from shared.domain.outcome import Outcome
from tests.integration.cli.asking import plan_file
from tests.integration.cli.calling import Cli
from tests.services.scripted_worker import ScriptedWorker

COMMAND = "make all"
STEP: dict[str, object] = {
    "title": "Build",
    "subtasks": [{"title": "Make it", "run": COMMAND, "timeout": 90}],
}


def test_what_runs_is_shown_with_its_limit_and_what_it_has_written(
    coordinated: Cli, tmp_path: Path
) -> None:
    plan = plan_file(tmp_path, STEP)
    ref = coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"]
    worker = ScriptedWorker(coordinated.database, name="executor.4711@vm/3f2a")
    job = worker.takes()
    attempt = worker.begins(job, COMMAND)
    worker.prints(job, attempt, "stdout", b"compiling a.c\n")
    worker.prints(job, attempt, "stderr", b"a.c:1: warning\n")
    worker.prints(job, attempt, "stdout", b"compiling b.c\n")

    first, command, since, by, *streams, following = coordinated(
        "attempt", "show", f"{ref}.1.1"
    ).out.splitlines()
    assert first == f"{ref}.1.1#1@localhost running Make it"
    assert command == f"$ {COMMAND}"
    assert re.fullmatch(
        r"  since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: \d+\.\d s, of 1:30 at most", since
    )
    assert re.fullmatch(r"  by executor 4711 on vm, heard of at \d\d:\d\d:\d\d", by)
    assert streams == [
        "── stdout",
        "compiling a.c",
        "compiling b.c",
        "── stderr",
        "a.c:1: warning",
    ]
    assert following == f"next: replan attempt tail {ref}.1.1#1@localhost"
    (told,) = coordinated.json("task", "logs", ref)["details"]["attempts"]
    assert told["view"]["stdout"] == "compiling a.c\ncompiling b.c\n"

    worker.ends(job, attempt, Outcome.OK, printed="compiling a.c\ncompiling b.c\ndone\n")
    ended = coordinated("attempt", "show", f"{ref}.1.1").out
    assert ended.startswith(f"{ref}.1.1#1@localhost ok Make it\n")
    assert "  exit code 0, " in ended
    assert ended.endswith("compiling b.c\ndone\n")
    shown = coordinated.json("attempt", "show", f"{ref}.1.1")["details"]
    assert (shown["title"], shown["timeout"]) == ("Make it", 90.0)
