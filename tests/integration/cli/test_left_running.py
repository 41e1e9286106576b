"""What a command left running is information, wherever an attempt is told of."""

from pathlib import Path

from shared.domain.budget import Ending
from shared.domain.outcome import Outcome
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.services.scripted_worker import ScriptedWorker

PLAN = "steps:\n  - title: s\n    subtasks:\n      - {run: start-it}\n"


def test_what_a_command_left_running_is_told(coordinated: Cli, tmp_path: Path) -> None:
    """The task is done all the same."""
    worker = ScriptedWorker(coordinated.database)
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    ref = str(coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"])
    job = worker.takes()
    attempt = worker.begins(job, "start-it")
    worker.ends(job, attempt, Outcome.OK, left_over=("4711(sleep)", "+2"))
    worker.finishes(job, Ending.DONE)
    show = ("task", "show", ref)
    eventually(lambda: coordinated.json(*show)["details"]["phase"] == "done", "the end")

    for command in (
        ("attempt", "show", f"{ref}.1.1#1@localhost"),
        ("task", "report", ref),
        ("task", "watch", ref),
    ):
        said = coordinated(*command)
        assert said.code == 0
        assert "left running: sleep (4711) and 2 more" in " ".join(said.out.split())
    (line,) = coordinated.json("attempt", "list", ref)["details"]["attempts"]
    assert line["left_over"] == ["4711(sleep)", "+2"]
