"""Report and timeline say what was so: who got the evidence, what people decided, live errors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import Connection, event, text

from orchestrator.views.entries import Unreadable
from orchestrator.views.report import report
from orchestrator.views.timeline import BEGINNING, Cursor, read_timeline
from shared.domain.ids import parse_ref
from shared.store.database import Database
from shared.wire import from_json, to_json
from tests.fakes.model_server import ModelServer, Says, model_server
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.unit.planning.given import revision_answer, subtask_answer

QUICK = ("--set", "error_threshold_per_step=1", "--set", "auto_correction_enabled=false")
SENT = "(sent to the planner)"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that answers what it is told to."""
    with model_server() as server:
        yield server


@pytest.fixture
def worker_environ(model: ModelServer, short_looks: None) -> dict[str, str]:  # noqa: ARG001
    """The worker asks that model."""
    return model.environ


def submit(cli: Cli, folder: Path, *more: object, code: int = 0) -> str:
    """A task that fails until `folder`/state is there."""
    folder.mkdir(exist_ok=True)
    plan = folder / "plan.yaml"
    subtasks = [{"run": f"grep -q ready {folder}/state"}]
    steps = [{"title": "s", "planner": "anthropic", "subtasks": subtasks}]
    plan.write_text(yaml.safe_dump({"steps": steps}))
    place = () if "--host" in more else ("--local",)
    given = ("task", "submit", "--plan", plan, *place, "--wait", *QUICK, *more)
    return str(cli.json(*given, code=code)["details"]["ref"])


def puts_right(folder: Path) -> Says:
    """A model's answer that makes what the step needs."""
    state = f"{folder}/state"
    return Says(
        revision_answer(
            subtask_answer("make", f"echo ready >> {state}"),
            subtask_answer("look", f"grep -q ready {state}", needs=["make"]),
        )
    )


def markdown(cli: Cli, ref: str) -> str:
    return cli("task", "report", ref).out


def recipients(cli: Cli, ref: str) -> list[Any]:
    steps = cli.json("task", "report", ref)["details"]["steps"]
    return [each["recipients"] for step in steps for each in step["escalations"]]


def test_the_planner_is_named_only_where_a_planner_was_asked(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    """S0.79, S0.80: what has worked on two hosts, the memory of fixes answers the third time."""
    with working.database.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO hosts (name, connection, address, port)"
                " VALUES ('other', 'local', '127.0.0.1', 22)"
            )
        )
    model.will(puts_right(tmp_path / "a"))
    model.will(puts_right(tmp_path / "b"))
    first = submit(working, tmp_path / "a")
    submit(working, tmp_path / "b", "--host", "other")
    third = submit(working, tmp_path / "c")
    assert len(model.asked) == 2
    assert SENT in working("task", "watch", first).out
    assert SENT not in working("task", "watch", third).out
    assert recipients(working, first) == [["author"]]
    assert recipients(working, third) == [["memory"]]
    assert "the evidence went to subtask_planner/anthropic." in markdown(working, first)
    told = markdown(working, third)
    assert "the memory of fixes answered, and no planner was asked" in told
    assert "the evidence went to" not in told


def test_a_held_bundle_is_told_as_held_and_who_sent_it_stands_in_the_report(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    """S0.80, S0.96."""
    folder = tmp_path / "a"
    ref = submit(working, folder, "--set", "hold_bundles=true", code=3)
    assert SENT not in working("task", "watch", ref).out
    assert recipients(working, ref) == [["held"]]
    assert "the evidence was held for a person to send." in markdown(working, ref)
    model.will(puts_right(folder))
    working.json("bundle", "send", f"{ref}.1", "--note", "look at the state")
    working.json("task", "watch", ref)
    assert recipients(working, ref) == [["held", "author"]]
    assert SENT in working("task", "watch", ref).out
    told = markdown(working, ref)
    assert "## What people decided" in told
    assert "sent the evidence to its planner: look at the state" in told
    (submitted, sent) = working.json("task", "report", ref)["details"]["decisions"]
    assert (submitted["verb"], sent["verb"]) == ("task.submit", "bundle.send")
    assert sent["by"]
    assert sent["ref"] == f"{ref}.1@localhost"


def test_the_last_escalation_goes_to_a_person(working: Cli, tmp_path: Path) -> None:
    ref = submit(working, tmp_path / "a", "--set", "human_escalation_threshold=0", code=3)
    assert recipients(working, ref) == [["person"]]
    assert "Escalated after 1 error: a person was asked." in markdown(working, ref)
    working.json("step", "abandon", f"{ref}.1")
    assert "abandoned it" in markdown(working, ref)


def test_a_story_is_resumed_from_any_of_its_cursors(
    working: Cli, model: ModelServer, tmp_path: Path
) -> None:
    """Nothing twice and nothing left out; a cursor may be kept as JSON meanwhile."""
    model.will(puts_right(tmp_path / "a"))
    ref = parse_ref(submit(working, tmp_path / "a"))
    with working.database.begin() as connection:
        whole = read_timeline(connection, ref)
        kept = from_json(Cursor, json.loads(json.dumps(to_json(whole.cursor))))
        assert kept == whole.cursor
        assert read_timeline(connection, ref, kept).entries == ()
        names = [entry.id for entry in whole.entries]
        assert "" not in names
        assert len(set(names)) == len(names)
        assert not [e for e in whole.entries if isinstance(e.about, Unreadable)]
        assert [e.id for e in read_timeline(connection, ref, BEGINNING).entries] == names


def many(cli: Cli, tmp_path: Path, steps: int, targets: list[str]) -> str:
    """A task of so many steps on these targets, each of which has failed and was revised."""
    plan = tmp_path / f"plan{steps}.yaml"
    listed = [{"title": f"s{n}", "subtasks": [{"run": "false"}]} for n in range(steps)]
    plan.write_text(yaml.safe_dump({"steps": listed}))
    hosts = [word for target in targets for word in ("--host", target)]
    ref = str(cli.json("task", "submit", "--plan", plan, *hosts)["details"]["ref"])
    fill(cli, ref)
    return ref


def fill(cli: Cli, ref: str) -> None:
    """What would have happened to a task that has begun, had there been a worker."""
    eventually(
        lambda: cli.json("task", "show", ref)["details"]["phase"] == "running", "the runs to begin"
    )
    with cli.database.begin() as connection:
        _fill(connection, parse_ref(ref).task)


def _fill(connection: Connection, task: int) -> None:
    """Attempts, a revision, a bundle and an intervention for each step in each run."""
    connection.execute(
        text("""
        INSERT INTO attempts (key, run_id, step, revision, subtask, pass_no, try_no, number,
            command, outcome, counted, never_red, reason, stdout, stderr, stdout_size,
            stderr_size, check_output, started_at, ended_at, worker)
        SELECT 'k' || run_id || '-' || step, run_id, step, 0, 1, 1, 0, 1, 'false', 'failed', true,
            false, '', '', '', 0, 0, '', now(), now(), 'w'
        FROM run_steps JOIN runs ON runs.id = run_id WHERE task_id = :task
    """),
        {"task": task},
    )
    connection.execute(
        text("""
        INSERT INTO bundles (run_id, step, revision, pass_no, body)
        SELECT run_id, step, 0, 1, '{}' FROM run_steps JOIN runs ON runs.id = run_id
        WHERE task_id = :task
    """),
        {"task": task},
    )
    connection.execute(
        text("""
        INSERT INTO interventions (task_id, run_id, step, kind, stage, reason)
        SELECT task_id, run_id, step, 'held_bundle', 'escalate', ''
        FROM run_steps JOIN runs ON runs.id = run_id WHERE task_id = :task
    """),
        {"task": task},
    )


def statements(database: Database, ref: str) -> int:
    """How many statements a report takes, and the story of a task."""
    seen: list[str] = []

    def note(*given: Any) -> None:
        seen.append(given[2])

    with database.begin() as connection:
        event.listen(connection, "before_cursor_execute", note)
        compiled = report(connection, parse_ref(ref))
        read_timeline(connection, parse_ref(ref))
    assert all(step.attempts and step.bundles and step.interventions for step in compiled.steps)
    return len(seen)


def test_a_report_takes_as_many_statements_for_ninety_steps_as_for_one(
    coordinated: Cli, tmp_path: Path
) -> None:
    with coordinated.database.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO hosts (name, connection, address, port)"
                " SELECT 'h' || n, 'local', '127.0.0.1', 22 FROM generate_series(1, 3) AS n"
            )
        )
    one = many(coordinated, tmp_path, 1, ["h1"])
    ninety = many(coordinated, tmp_path, 30, ["h1", "h2", "h3"])
    assert statements(coordinated.database, ninety) == statements(coordinated.database, one)
    newest = coordinated.json("attempt", "list", ninety, "--limit", 50)
    older = coordinated.json(*newest["next_step_cmd"].split()[1:])["details"]
    listed = [each["id"] for page in (older, newest["details"]) for each in page["attempts"]]
    assert len(listed) == 90
    assert listed == sorted(set(listed))
    assert older["next"] is None


def test_the_errors_of_a_pass_are_counted_while_it_is_under_way(
    coordinated: Cli, tmp_path: Path
) -> None:
    """S0.45: the row of the step has them only once the pass has ended."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump({"steps": [{"title": "s", "subtasks": [{"run": "false"}]}]}))
    ref = str(coordinated.json("task", "submit", "--plan", plan, "--local")["details"]["ref"])
    fill(coordinated, ref)
    (run,) = coordinated.json("task", "show", ref)["details"]["runs"]
    assert (run["steps"][0]["errors"], run["steps"][0]["threshold"]) == (1, 4)
    said = coordinated("task", "show", ref).out
    assert "1/4" in said
    assert " human " in said  # who planned it, in one word
    assert "planned by human, " in coordinated("step", "show", f"{ref}.1").out
