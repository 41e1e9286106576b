"""A finished task as a runbook: the same prompt gives the same plan, other words other ones."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.export.runbook import Runbook, runbook
from shared.contracts.origin import Origin
from shared.domain.agent import AgentWork, ExecutionMode, RunnerChoice
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan, Step, Subtask, SubtaskKind
from tests.unit.fixes.given import subtasks
from workers.planning import PlanRequest
from workers.runbook.backend import RunbookBackend

BY_MODEL = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")
HERE = Origin("T1@web1", "export", NextStep.of("task report", "T1"))
PROMPT = "Serve the status page in /srv/status on port 8080."


def done(*lists: list[str | dict[str, Any]]) -> Plan:
    """A plan of steps with those commands."""
    return Plan(
        tuple(
            Step(
                number,
                f"step-{number}",
                f"Step {number}",
                "as said",
                BY_MODEL,
                depends_on=(number - 1,) if number > 1 else (),
                subtasks=subtasks(*commands),
            )
            for number, commands in enumerate(lists, 1)
        ),
        "As asked",
    )


def exported(prompt: str, *commands: str | dict[str, Any], host: str = "web1") -> Runbook:
    """The runbook of a task with one step."""
    return runbook(prompt, done(list(commands)), (host, "10.0.0.7"), origin=HERE)


def again(made: Runbook, folder: Path, prompt: str) -> list[str]:
    """The commands that a worker with this runbook plans for a prompt."""
    folder.mkdir(exist_ok=True)
    (folder / "made.yaml").write_text(made.text)
    plan = RunbookBackend([folder]).plan(PlanRequest(prompt, ("other",), Policy()))
    return [subtask.command for step in plan.steps for subtask in step.subtasks]


def test_what_the_prompt_says_may_be_said_otherwise(tmp_path: Path) -> None:
    made = exported(
        PROMPT,
        "mkdir -p /srv/status/www",
        {"command": "serve --root /srv/status/www --port 8080", "check": "nc -z localhost 8080"},
    )
    assert made.parameters == {"folder": "/srv/status", "port": "8080"}
    assert again(made, tmp_path, PROMPT) == [
        "mkdir -p /srv/status/www",
        "serve --root /srv/status/www --port 8080",
    ]
    other = "serve the status page in /data/x on  port 9090."
    assert again(made, tmp_path, other) == [
        "mkdir -p /data/x/www",
        "serve --root /data/x/www --port 9090",
    ]
    with pytest.raises(Rejected, match="knows no job"):
        again(made, tmp_path, "Serve the status page")


def test_what_it_does_not_say_has_its_value_unless_it_is_added(tmp_path: Path) -> None:
    prompt = "Put the site into operation"
    commands = ("mkdir -p /srv/site/a", "cp x /srv/site/b", "serve --port 8080 --name web1")
    made = exported(prompt, *commands)
    assert made.parameters == {"host": "web1", "port": "8080", "folder": "/srv/site"}
    assert again(made, tmp_path, prompt) == list(commands)
    assert again(made, tmp_path, f"{prompt} host=db2 folder=/opt/b") == [
        "mkdir -p /opt/b/a",
        "cp x /opt/b/b",
        "serve --port 8080 --name db2",
    ]
    assert again(made, tmp_path, f"{prompt} port=9")[-1] == "serve --port 9 --name web1"


SITE = """\
cat > site.conf <<'END'
server {
    listen 28731;
    # it's "ours": $HOME \\n
}
END"""


def test_a_port_is_found_in_files_and_in_quotes_that_are_opened_for_it(tmp_path: Path) -> None:
    """The same bytes are written, and another number may be said; but nothing else."""
    prompt = "Put the site into operation"
    ask = "curl -fsS 'http://127.0.0.1:28731/'"
    made = exported(prompt, SITE, {"command": ask, "check": "grep -q 'port 28731' log"})
    assert made.parameters == {"port": "28731"}
    assert "      run: |-\n" in made.text

    def written(command: str) -> bytes:
        subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, check=True)
        return (tmp_path / "site.conf").read_bytes()

    write, ask_again = again(made, tmp_path / "made", prompt)
    assert written(write) == written(SITE)
    assert shlex.split(ask_again) == shlex.split(ask)
    before = written(SITE)
    write, ask_again = again(made, tmp_path / "made", f"{prompt} port=99")
    assert written(write) == before.replace(b"28731", b"99")
    assert shlex.split(ask_again)[-1] == "http://127.0.0.1:99/"
    with pytest.raises(Rejected, match="port cannot be '1;reboot'"):
        again(made, tmp_path / "made", f"{prompt} port=1;reboot")


KEPT = {
    "a number that something else may replace in": (
        "on port 8080",
        "cat > a <<END\n$HOME 8080\nEND\nserve --port 8080",
    ),
    "a number inside a substitution in quotes": (
        "on port 8080",
        'echo "$(cat "8080")"; serve --port 8080',
    ),
    "a value that would have to stand in quotes": ("on port 8080", "sh -c 'serve --port 8080'"),
    "a part of a word": ("on port 8080", "touch serve-8080.conf"),
    "a number of one digit": ("on 2 disks", "scrub 2"),
    "a host that is called like anything": ("do it", "cat /etc/web"),
    "folders of the system": ("do it", "cp /etc/a /usr/lib/b"),
    "a home folder that all have in common": ("do it", "cp /home/ann/a /home/bob/b"),
    "a name that the command uses itself": (
        "on port 8080",
        'for port in 1; do echo "${port}" 8080; done',
    ),
}


@pytest.mark.parametrize(("prompt", "command"), KEPT.values(), ids=KEPT)
def test_what_is_not_plain_to_see_stays_as_it_was(
    prompt: str, command: str, tmp_path: Path
) -> None:
    made = exported(prompt, command, host="web")
    assert made.parameters == {}
    assert again(made, tmp_path, prompt) == [command]


def test_all_that_a_subtask_has_is_kept(tmp_path: Path) -> None:
    whole = {
        "command": "serve --port 8080",
        "check": "curl -fsS http://localhost:8080/",
        "preconditions": ["test -d /etc"],
        "rollback": "unserve --port 8080",
        "critical": True,
        "idempotent": True,
        "timeout": 77.0,
    }
    made = runbook("Do it", done(["true", whole], ["echo '${secret:KEY}'"]), (), origin=HERE)
    (tmp_path / "made.yaml").write_text(made.text)
    backend = RunbookBackend([tmp_path])
    plan = backend.plan(PlanRequest("do it port=9090", ("other",), Policy()))
    first, second = plan.steps
    assert (first.depends_on, second.depends_on) == ((), (1,))
    assert {step.author.backend for step in plan.steps} == {"runbook"}
    served = first.subtasks[1]
    assert served.needs == ("s1",)
    assert (served.check, served.rollback) == (
        "curl -fsS http://localhost:9090/",
        "unserve --port 9090",
    )
    assert (served.critical, served.idempotent, served.timeout) == (True, True, 77.0)
    assert served.preconditions == ("test -d /etc",)
    assert second.subtasks[0].command == "echo '${secret:KEY}'"
    (job,) = yaml.safe_load(made.text)["jobs"]
    assert (job["id"], job["summary"]) == ("do-it", "As asked")


def test_what_cannot_be_a_runbook_is_refused_with_its_place() -> None:
    with pytest.raises(Rejected) as told:
        exported("do it", "x" * 2, {"command": "a", "key": "not a key!"})
    assert told.value.stage == "export"


WORDS = st.sampled_from(
    ["serve", "8080", "/srv/a", "/srv/a/b", "--port", "web1", "'x y'", "&&", "echo", "on", "port"]
)


LINES = st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=6), LINES)
def test_the_same_prompt_gives_the_same_commands(
    tmp_path_factory: pytest.TempPathFactory, prompt: list[str], commands: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("runbooks")
    listed = [" ".join(("true", *words)) for words in commands]
    asked = " ".join(("please", *prompt))
    assert again(exported(asked, *listed), folder, asked) == listed


def test_the_work_of_agents_comes_back_as_it_was(tmp_path: Path) -> None:
    """Words of the prompt change in its goal as in commands; names of places and runners stay."""
    work = AgentWork(
        context=("docs/8080.md",),
        acceptance=("port 8080 answers",),
        runners=(
            RunnerChoice("codex", 1, 300.0),
            RunnerChoice("command", 2, command="mend --port 8080 {task_file}", alias="mend-8080"),
        ),
        mode=ExecutionMode.AUTONOMOUS,
        time_budget=5400.0,
    )
    goal = "Have app-1 answer on port 8080.\nKeep ${HOME} and `$(date)` as they are.\n"
    subtask = Subtask(
        1, "a", "a", goal, "curl app-1:8080", 5400.0, kind=SubtaskKind.AGENT, agent=work
    )
    plan = Plan((Step(1, "s", "S", "", BY_MODEL, subtasks=(subtask,), repository="app-1"),), "x")
    prompt = "Have app-1 answer on port 8080."
    made = runbook(prompt, plan, ("app-1",), origin=HERE)
    (tmp_path / "made.yaml").write_text(made.text)

    def planned(words: str) -> Step:
        asked = PlanRequest(words, ("other",), Policy())
        (step,) = RunbookBackend([tmp_path]).plan(asked).steps
        return step

    assert planned(prompt).subtasks[0].agent == work
    assert (planned(prompt).subtasks[0].command, planned(prompt).repository) == (goal, "app-1")
    assert planned(prompt).subtasks[0].kind is SubtaskKind.AGENT
    other = planned("Have app-2 answer on port 9090.")
    (changed,) = other.subtasks
    assert (other.repository, changed.check) == ("app-1", "curl app-2:9090")
    assert "port 9090" in changed.command
    assert changed.agent is not None
    assert [choice.name for choice in changed.agent.chain] == ["codex", "mend-8080"]
    assert changed.agent.acceptance == ("port 9090 answers",)
