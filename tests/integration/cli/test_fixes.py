"""The fix memory: a hint to planners, carried out by itself only where it can do no harm."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.fakes.model_server import ModelServer, Says, model_server
from tests.integration.cli.calling import Cli
from tests.integration.cli.fix_memory import QUICK, fixes, learn, needing, revision, submit
from tests.unit.planning.given import revision_answer, subtask_answer


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that gives what it is told to, and counts how often it is asked."""
    with model_server() as server:
        yield server


@pytest.fixture
def worker_environ(model: ModelServer, short_looks: None) -> dict[str, str]:  # noqa: ARG001
    """The worker asks that model."""
    return model.environ


def astray(folder: Path) -> Path:
    """A folder in which something else is wrong, too, which shows only later."""
    folder.mkdir()
    (folder / "kind").write_text("bad\n")
    return folder


def undoable(folder: Path) -> Says:
    """A revision whose first command says how it is undone."""
    state = folder / "state"
    return Says(
        revision_answer(
            subtask_answer("before", f"touch {folder}/before"),
            subtask_answer("room", f"mkdir -p {folder}", rollback=f"ls -d {folder}"),
            subtask_answer("make", f"echo ready >> {state}"),
            subtask_answer("look", needing(state), needs=["make"]),
            subtask_answer("after", f"touch {folder}/after", needs=["look"]),
        )
    )


def teach(cli: Cli, model: ModelServer, tmp_path: Path, hosts: list[str]) -> None:
    """Have a model put the step right on two hosts: that is proof enough."""
    for host in hosts:
        learn(cli, model, tmp_path / f"at-{host}", "--host", host)


def test_a_fix_is_a_hint_until_it_has_worked_on_two_hosts(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    """The folder, its depth, and so the commands, differ each time."""
    first = learn(working, model, tmp_path / "a", "--host", hosts[0])
    (fix,) = fixes(working)
    assert fix["learnt_from"] == f"{first}.1@one"
    assert "a hint to planners, because it has to work twice" in working("fix", "show", "F1").out
    learn(working, model, tmp_path / "b", "--host", hosts[1])
    assert len(model.asked) == 2
    hint = model.of("RevisionAnswer")[1].said[0]
    marked = re.search(r"<(fixes-\w+)>\n(.*)\n</\1>", hint, re.DOTALL)
    assert marked is not None
    hinted = json.loads(marked[2].removeprefix("- "))
    assert hinted["names"] == {"a": "b"}
    assert hinted["this_step_with_it"][1] == {"command": f"echo ready >> {tmp_path}/b/state"}
    assert "No such file" not in marked[2]  # what the other host printed
    (fix,) = fixes(working)
    assert (fix["learnt"], fix["offered"]) == (2, 0)
    assert "carried out by itself on hosts without labels" in working("fix", "show", "F1").out

    (tmp_path / "deep" / "er").mkdir(parents=True)
    third = submit(working, tmp_path / "deep" / "er" / "c", "--host", hosts[0])
    assert len(model.asked) == 2
    assert (tmp_path / "deep" / "er" / "c" / "after").exists()
    step = working.json("step", "show", f"{third}.1")["details"]
    assert [each["author"] for each in step["revisions"]] == ["subtask_planner/anthropic"] * 2
    reason = step["revisions"][1]["reason"]
    assert reason.startswith(f"from fix F1, learnt from {first}.1@one (first use): ")
    assert [s["command"] for s in step["revisions"][1]["subtasks"]][1] == (
        f"echo ready >> {tmp_path}/deep/er/c/state"
    )
    shown = working.json("fix", "show", "F1")["details"]
    assert (shown["fix"]["offered"], shown["fix"]["worked"]) == (1, 1)
    assert [(use["ref"], use["worked"]) for use in shown["uses"]] == [(f"{third}.1@one", True)]
    assert [proof["target"] for proof in shown["proofs"]] == hosts
    assert len(fixes(working)) == 1  # nothing new was learnt from it
    assert "1/1" in working("fix", "list").out


def test_hosts_with_other_labels_are_another_scope(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    """What is proved in development is a hint in production."""
    for host in hosts:
        working.json("host", "label", host, "env=dev")
    teach(working, model, tmp_path, hosts)
    working.json("host", "label", hosts[1], "env=production")
    learn(working, model, tmp_path / "b", "--host", hosts[1])
    assert len(model.asked) == 3
    submit(working, tmp_path / "c", "--host", hosts[0])
    assert len(model.asked) == 3
    shown = working.json("fix", "show", "F1")["details"]
    assert shown["scopes"] == ["env=dev"]
    assert [p["scope"] for p in shown["proofs"]] == ["env=dev", "env=dev", "env=production"]
    assert "env=production" in working("host", "list").out
    refused = working.refused("host", "label", hosts[0], "env = x")
    assert "is not a valid label" in refused["reason"]


def test_a_fix_that_fails_is_followed_by_the_model_and_named(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    """What it left on the host stands in the evidence, and it is only a hint from then on."""
    for host in hosts:
        folder = tmp_path / f"at-{host}"
        model.will(revision(folder, f"mkdir -p {folder}", f"echo ready >> {folder}/state"))
        submit(working, folder, "--host", host)
    folder = astray(tmp_path / "b")
    model.will(revision(folder, f"echo good >> {folder}/kind"))
    submit(working, folder)
    assert len(model.asked) == 3
    evidence = model.of("RevisionAnswer")[2].said[0]
    assert f"fix F1 of the memory ran `mkdir -p {folder}`" in evidence
    assert "it has no rollback, so what it did stays" in evidence
    first, *_ = fixes(working)
    assert (first["offered"], first["worked"], first["failed"]) == (1, 0, 1)
    assert "it has failed" in working("fix", "show", "F1").out
    learn(working, model, tmp_path / "c")
    assert len(model.asked) == 4


def test_what_a_failed_fix_did_is_undone_where_it_says_how(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    for host in hosts:
        folder = tmp_path / f"at-{host}"
        model.will(undoable(folder))
        submit(working, folder, "--host", host)
    folder = astray(tmp_path / "b")
    model.will(revision(folder, f"echo good >> {folder}/kind"))
    ref = submit(working, folder)
    assert len(model.asked) == 3
    step = working.json("step", "show", f"{ref}.1")["details"]
    assert [each["rollback"] for each in step["revisions"]] == [[], [], ["room"]]
    undone = [a["command"] for a in step["attempts"] if a["rollback"]]
    assert undone == [f"ls -d {folder}"]


def test_the_memory_can_be_switched_off(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    off = ("--local", "--set", "fix_memory=false")
    learn(working, model, tmp_path / "a", *off)
    assert fixes(working) == []
    teach(working, model, tmp_path, hosts)
    learn(working, model, tmp_path / "c", *off)
    assert "<fixes-" not in model.of("RevisionAnswer")[3].said[0]
    learn(working, model, tmp_path / "d", "--local", "--set", "fix_memory=hint")
    assert "<fixes-" in model.of("RevisionAnswer")[4].said[0]
    submit(working, tmp_path / "e", "--local", "--set", "fix_memory=true")
    assert len(model.asked) == 5
    assert len(fixes(working)) == 1


def test_a_fix_is_retired_restored_and_changed_by_people(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    assert "no fixes yet" in working("fix", "list").out
    teach(working, model, tmp_path, hosts)
    working.json("fix", "retire", "F1", "--note", "not here")
    assert fixes(working) == []
    assert "retired by" in fixes(working, "--all")[0]["retired_because"]
    assert "not here" in working("fix", "show", "1").out
    assert "is already retired" in working.refused("fix", "retire", "F1")["reason"]
    learn(working, model, tmp_path / "b")
    assert len(model.asked) == 3  # a retired one is not offered
    working.json("fix", "restore", "F1")
    assert working.json("fix", "show", "F1")["details"]["proofs"] == []  # it proves itself anew
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
    assert {json.loads(line)["kind"] for line in lines} == {"fix.line"}


def test_a_fix_passes_the_guard_like_any_revision(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    """What a hostile host once led a planner to is not run because it is remembered."""
    for host in hosts:
        folder = tmp_path / f"at-{host}"
        model.will(revision(folder, f"mkdir -p {folder}", f"echo ready >> {folder}/state"))
        submit(working, folder, "--host", host)
    forbidding = ("--set", "forbidden_commands=mkdir*")
    ref = submit(working, tmp_path / "b", "--local", *forbidding, code=3)
    assert len(model.asked) == 2
    assert not (tmp_path / "b" / "state").exists()
    step = working.json("step", "show", f"{ref}.1")["details"]
    assert step["step"]["phase"] == "blocked"
    (fix,) = fixes(working)
    assert (fix["offered"], fix["failed"]) == (1, 1)


def test_what_a_person_says_goes_to_the_planner(
    working: Cli, model: ModelServer, hosts: list[str], tmp_path: Path
) -> None:
    teach(working, model, tmp_path, hosts)
    held = ("--local", "--set", "send_to_planner_after_threshold=false")
    ref = submit(working, tmp_path / "b", *held, code=3)
    model.will(revision(tmp_path / "b", f"printf ready > {tmp_path}/b/state"))
    working.json("step", "revise", f"{ref}.1", "--now", "--note", "no echo, please")
    working.json("task", "watch", ref)
    assert "no echo, please" in model.of("RevisionAnswer")[2].said[0]
    assert [fix["offered"] for fix in fixes(working)] == [0, 0]


def test_a_fault_that_was_gone_by_itself_teaches_nothing(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    """A revision that only looks has put nothing right."""
    folder = tmp_path / "a"
    folder.mkdir()
    heals = f"cat {folder}/state || {{ echo ready >> {folder}/state; cat {folder}/missing; }}"
    model.will(
        Says(
            revision_answer(
                subtask_answer("look", f"ls -l {folder}"),
                subtask_answer("again", heals, needs=["look"]),
            )
        )
    )
    plan = folder / "plan.yaml"
    steps = [{"title": "s", "planner": "anthropic", "subtasks": [{"run": heals}]}]
    plan.write_text(yaml.safe_dump({"steps": steps}))
    working.json("task", "submit", "--plan", plan, "--local", "--wait", *QUICK)
    assert len(model.asked) == 1
    assert fixes(working) == []
