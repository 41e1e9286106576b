"""The fix memory: what put a step right is tried first where one fails like it, and measured."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import text

from tests.fakes.model_server import ModelServer, Says, model_server
from tests.integration.cli.calling import Cli
from tests.unit.planning.given import revision_answer, subtask_answer
from workers.fixes.recall import past_fixes

QUICK = ("--set", "error_threshold_per_step=1", "--set", "auto_correction_enabled=false")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that gives what it is told to, and counts how often it is asked."""
    with model_server() as server:
        yield server


@pytest.fixture
def worker_environ(model: ModelServer, short_looks: None) -> dict[str, str]:  # noqa: ARG001
    """The worker asks that model."""
    return model.environ


@pytest.fixture
def hosts(cli: Cli) -> list[str]:
    """Two hosts; both are folders of this machine in truth."""
    with cli.database.begin() as connection:
        for name in ("one", "two"):
            connection.execute(
                text(
                    "INSERT INTO hosts (name, connection, address, port)"
                    " VALUES (:name, 'local', '127.0.0.1', 22)"
                ),
                {"name": name},
            )
    return ["one", "two"]


def needing(state: Path) -> str:
    return f"grep -q ready {state}"


def submit(cli: Cli, folder: Path, *more: object, code: int = 0) -> str:
    """A task whose one step needs something in that folder that is not there; its reference."""
    folder.mkdir(exist_ok=True)
    plan = folder / "plan.yaml"
    subtasks = [
        {"run": f"touch {folder}/before"},
        {"run": needing(folder / "state")},
        {"run": f"touch {folder}/after"},
    ]
    steps = [{"title": "s", "planner": "anthropic", "subtasks": subtasks}]
    plan.write_text(yaml.safe_dump({"steps": steps}))
    given = more or ("--local",)
    answer = cli.json("task", "submit", "--plan", plan, "--wait", *given, *QUICK, code=code)
    return str(answer["details"]["ref"])


def astray(folder: Path) -> Path:
    """A folder in which what is needed is not there, and cannot simply be written either."""
    folder.mkdir()
    (folder / "state").symlink_to(folder / "away" / "state")
    return folder


def revision(folder: Path, *making: str) -> Says:
    """What the model answers: the same step, with something done before what failed."""
    state = folder / "state"
    fix = [subtask_answer(f"make{n}", command) for n, command in enumerate(making, 1)]
    return Says(
        revision_answer(
            subtask_answer("before", f"touch {folder}/before"),
            *fix,
            subtask_answer("look", needing(state), needs=["make1"]),
            subtask_answer("after", f"touch {folder}/after", needs=["look"]),
        )
    )


def learn(cli: Cli, model: ModelServer, folder: Path, *more: str) -> str:
    """Have a model put the step right once."""
    model.will(revision(folder, f"echo ready > {folder}/state"))
    return submit(cli, folder, *(more or ("--local",)))


def fixes(cli: Cli, *more: str) -> list[Any]:
    found: list[Any] = cli.json("fix", "list", *more)["details"]["fixes"]
    return found


def test_the_same_failure_on_another_host_is_put_right_without_a_model(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    """Must show 2, in one process; the folder, and so the commands, differ."""
    first = learn(working, model, tmp_path / "a", "--host", hosts[0])
    assert len(model.asked) == 1
    (fix,) = fixes(working)
    assert fix["learnt_from"] == f"{first}.1@one"
    assert (fix["offered"], fix["worked"], fix["failed"]) == (0, 0, 0)
    second = submit(working, tmp_path / "b", "--host", hosts[1])
    assert len(model.asked) == 1
    assert (tmp_path / "b" / "after").exists()
    step = working.json("step", "show", f"{second}.1")["details"]
    assert [each["author"] for each in step["revisions"]] == ["subtask_planner/anthropic"] * 2
    reason = step["revisions"][1]["reason"]
    assert reason.startswith(f"from fix F1, learnt from {first}.1@one (first use): ")
    assert [s["command"] for s in step["revisions"][1]["subtasks"]] == [
        f"touch {tmp_path}/b/before",
        f"echo ready > {tmp_path}/b/state",
        needing(tmp_path / "b" / "state"),
        f"touch {tmp_path}/b/after",
    ]
    shown = working.json("fix", "show", "F1")["details"]
    assert (shown["fix"]["offered"], shown["fix"]["worked"]) == (1, 1)
    assert [(use["ref"], use["worked"]) for use in shown["uses"]] == [(f"{second}.1@two", True)]
    assert len(fixes(working)) == 1  # nothing new was learnt from it
    said = working("fix", "show", "F1").out
    (told,) = past_fixes(working.database, hosts)
    assert f"This put it right: echo ready > {tmp_path}/a/state ; then grep" in told
    assert past_fixes(working.database, ["never seen"]) == ()
    for words in ("worked 1, failed 0", "echo ready > ", f"{second}.1@two", "exit code 2"):
        assert words in said
    assert "1/1" in working("fix", "list").out


def test_a_fix_that_fails_is_followed_by_the_model_and_retired_in_the_end(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    learn(working, model, tmp_path / "a")

    def goes_astray(name: str) -> None:
        folder = astray(tmp_path / name)
        model.will(revision(folder, f"mkdir {folder}/away", f"echo ready > {folder}/state"))
        submit(working, folder)

    goes_astray("b")
    assert len(model.asked) == 2
    first, *more = fixes(working)
    assert (first["offered"], first["worked"], first["failed"]) == (1, 0, 1)
    # What helped instead was learnt for both failures before it, and is what is tried next.
    assert [fix["learnt_from"] for fix in more] == ["T2.1@localhost"] * 2
    submit(working, astray(tmp_path / "c"))
    assert len(model.asked) == 2
    for fix in more:
        working.json("fix", "retire", fix["ref"])
    goes_astray("d")
    assert len(model.asked) == 3
    worn = fixes(working, "--all")[0]
    assert (worn["offered"], worn["worked"], worn["failed"]) == (2, 0, 2)
    assert worn["retired_because"] == "it worked 0 times and failed 2 times"


def test_a_fix_is_retired_restored_and_changed_by_people(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    assert "no fixes yet" in working("fix", "list").out
    learn(working, model, tmp_path / "a")
    working.json("fix", "retire", "F1", "--note", "not here")
    assert fixes(working) == []
    assert "retired by" in fixes(working, "--all")[0]["retired_because"]
    assert "not here" in working("fix", "show", "1").out
    assert "is already retired" in working.refused("fix", "retire", "F1")["reason"]
    learn(working, model, tmp_path / "b")
    assert len(model.asked) == 2  # a retired one is not offered
    working.json("fix", "restore", "F1")
    assert "is not retired" in working.refused("fix", "restore", "F1")["reason"]
    made = tmp_path / "fix.yaml"
    made.write_text(
        f"- run: echo ready > {tmp_path}/a/state\n- run: grep -q ready {tmp_path}/a/state\n"
    )
    working.json("fix", "edit", "F1", "--file", made)
    shown = working.json("fix", "show", "F1")["details"]
    assert len(shown["replacement"]) == 2
    assert shown["fix"]["author"].startswith("human/")
    for wrong in ("F", "F0x", "nginx", "F99999999999999999999"):
        assert "is not a valid fix" in working.refused("fix", "show", wrong)["reason"]
    assert "there is no fix F77" in working.refused("fix", "show", "F77")["reason"]
    secret = tmp_path / "secret.yaml"
    secret.write_text("- run: mysql --password=hunter2hunter2 -e 'SELECT 1'\n")
    assert "secret" in working.refused("fix", "edit", "F1", "--file", secret)["reason"]
    verbs = [entry["verb"] for entry in working.json("audit", "list")["details"]["entries"]]
    assert [v for v in verbs if v.startswith("fix.")] == ["fix.edit", "fix.restore", "fix.retire"]
    lines = working("fix", "list", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["fix.line"] * 2


def test_a_fix_passes_the_guard_like_any_revision(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    """What a hostile host once led a planner to is not run because it is remembered."""
    folder = tmp_path / "a"
    model.will(revision(folder, f"printf ready > {folder}/state"))
    submit(working, folder)
    forbidding = ("--set", "forbidden_commands=printf*")
    ref = submit(working, tmp_path / "b", "--local", *forbidding, code=3)
    assert len(model.asked) == 1
    assert not (tmp_path / "b" / "state").exists()
    step = working.json("step", "show", f"{ref}.1")["details"]
    assert step["step"]["phase"] == "blocked"
    (fix,) = fixes(working)
    assert (fix["offered"], fix["failed"]) == (1, 1)


def test_the_memory_can_be_switched_off(working: Cli, model: ModelServer, tmp_path: Path) -> None:
    off = ("--local", "--set", "fix_memory=false")
    learn(working, model, tmp_path / "a", *off)
    assert fixes(working) == []
    learn(working, model, tmp_path / "b")
    learn(working, model, tmp_path / "c", *off)
    assert len(model.asked) == 3
    assert len(fixes(working)) == 1


def test_what_a_person_says_goes_to_the_planner(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    learn(working, model, tmp_path / "a")
    held = ("--local", "--set", "send_to_planner_after_threshold=false")
    ref = submit(working, tmp_path / "b", *held, code=3)
    model.will(revision(tmp_path / "b", f"printf ready > {tmp_path}/b/state"))
    working.json("step", "revise", f"{ref}.1", "--now", "--note", "no echo, please")
    working.json("task", "watch", ref)
    assert "no echo, please" in model.of("RevisionAnswer")[1].said[0]
    assert [fix["offered"] for fix in fixes(working)] == [0, 0]


def test_what_a_person_has_done_meanwhile_is_no_fix(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    """Nothing of the revision had anything to do, so it has put nothing right."""
    folder = tmp_path / "a"
    state = folder / "state"
    check = {"check": f"test -e {state}"}
    model.will(
        Says(
            revision_answer(
                subtask_answer("make", f"false {state}", **check),
                subtask_answer("look", needing(state), **check),
                subtask_answer("after", f"touch {folder}/after", **check),
            )
        )
    )
    folder.mkdir()
    plan = folder / "plan.yaml"
    lines = [{"run": f"echo ready > {state}; false", "check": "false"}]
    steps = [{"title": "s", "planner": "anthropic", "subtasks": lines}]
    plan.write_text(yaml.safe_dump({"steps": steps}))
    working.json("task", "submit", "--plan", plan, "--local", "--wait", *QUICK)
    assert fixes(working) == []
