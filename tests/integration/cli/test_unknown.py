"""Unknown outcomes on the command line: the evidence, the three answers, and every refusal."""

from pathlib import Path

import jsonschema
import pytest

from orchestrator.cli.schemas import schema_of
from shared.domain.attempt import SAID, Answer
from shared.domain.budget import Ending
from shared.domain.outcome import Outcome
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.services.scripted_worker import ScriptedWorker

PLAN = """
steps:
  - title: Say it
    subtasks:
      - {run: "echo [said] once"}
  - title: Wait for somebody
    depends_on: []
    subtasks:
      - {run: "true"}
"""
ANSWERS = [("--ran", Answer.RAN), ("--not-run", Answer.NOT_RUN), ("--again", Answer.AGAIN)]


@pytest.fixture
def worker(coordinated: Cli) -> ScriptedWorker:
    return ScriptedWorker(coordinated.database)


def submitted(cli: Cli, folder: Path, text: str = PLAN) -> str:
    """A task of two steps of which nothing has been carried out."""
    plan = folder / "plan.yaml"
    plan.write_text(text)
    answer = cli.json("task", "submit", "--plan", plan, "--local")
    return str(answer["details"]["ref"])


def asked(cli: Cli, worker: ScriptedWorker, folder: Path) -> str:
    """A task whose first step waits until somebody says how its command ended; its reference."""
    ref = submitted(cli, folder)
    worker.loses_sight("echo [said] once", printed="[/half] of it\n")
    eventually(lambda: cli.rows("SELECT id FROM interventions"), "the question")
    return ref


def phases(cli: Cli) -> list[str]:
    return [row.phase for row in cli.rows("SELECT phase FROM run_steps ORDER BY step")]


def test_the_evidence_stands_everywhere_with_what_can_be_typed(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    ref = asked(coordinated, worker, tmp_path)
    (waits,) = coordinated.json("intervention", "list")["details"]["interventions"]
    assert coordinated.json("intervention", "show", "I1")["details"] == waits
    evidence = waits["evidence"]
    assert evidence["attempt"] == f"{ref}.1.1#1@localhost"
    assert evidence["host"] == "localhost"
    assert evidence["command"] == "echo [said] once"
    assert evidence["reason"] == "its runner was killed"
    assert evidence["stdout"] == "[/half] of it\n"
    assert (evidence["check"], evidence["worker"]) == (None, "scripted")
    typed = [f"replan intervention answer I1 {flag}" for flag, _ in ANSWERS]
    assert waits["commands"][0] == "replan intervention show I1"
    assert waits["commands"][1:4] == typed
    for command in (
        ("intervention", "show", "i1"),
        ("intervention", "list"),
        ("task", "show", ref),
        ("task", "report", ref),
        ("step", "show", f"{ref}.1"),
    ):
        said = coordinated(*command)
        assert said.code == 0
        for told in ("echo [said] once", "[/half] of it", "its runner was killed", *typed):
            assert told in said.out, command
    shown = coordinated("attempt", "show", f"{ref}.1.1").out
    assert "unknown its runner was killed" in shown
    assert "exit code None" not in shown
    assert "its runner was killed" in coordinated("attempt", "list", ref).out
    attempt = coordinated.json("attempt", "show", f"{ref}.1.1")["details"]["attempt"]
    assert (attempt["outcome"], attempt["counted"]) == ("unknown", False)
    lines = coordinated("intervention", "list", "--format", "jsonl").out.splitlines()
    assert len(lines) == 1


def test_a_check_that_did_not_settle_it_is_shown(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    text = PLAN.replace('"echo [said] once"', '"echo once", check: "test -e once"')
    submitted(coordinated, tmp_path, text)
    worker.loses_sight("echo once")
    eventually(lambda: coordinated.rows("SELECT id FROM interventions"), "the question")
    shown = coordinated.json("intervention", "show", "1")["details"]
    assert shown["evidence"]["check"] == "test -e once"


@pytest.mark.parametrize(("flag", "answer"), ANSWERS)
def test_an_answer_is_taken_once(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path, flag: str, answer: Answer
) -> None:
    ref = asked(coordinated, worker, tmp_path)
    given = coordinated.json("intervention", "answer", "I1", flag)
    assert given["details"] == {
        "ref": f"{ref}.1@localhost",
        "phase": "ready",
        "intervention": "I1",
        "answer": answer.value,
        "rule": None,
        "rest": 0,
    }
    entry = coordinated.json("audit", "list")["details"]["entries"][0]
    assert (entry["verb"], entry["ref"]) == ("intervention.answer", f"{ref}.1@localhost")
    assert entry["details"] == {"intervention": "I1", "answer": answer.value, "from": "process"}
    for again, _ in ANSWERS:
        refused = coordinated.refused("intervention", "answer", "I1", again)
        assert f"already been answered: {answer.value.replace('_', ' ')}" in refused["reason"]
        assert refused["next_step_cmd"] == "replan intervention show I1"
    said = coordinated("intervention", "show", "I1").out
    assert f"answered: {answer.value.replace('_', ' ')}" in said
    shown = coordinated.json("intervention", "show", "I1")["details"]
    assert shown["answer"] == answer.value
    assert shown["closed_at"] is not None
    assert shown["evidence"]["command"] == "echo [said] once"
    attempt = coordinated.json("attempt", "show", f"{ref}.1.1")["details"]["attempt"]
    assert SAID[answer] in attempt["reason"]
    assert attempt["outcome"] == ("ok" if answer is Answer.RAN else "unknown")
    step = coordinated.json("step", "show", f"{ref}.1")["details"]["step"]
    assert (step["errors"], step["pass_no"]) == (1, 2)
    told = coordinated("task", "report", ref).out
    assert SAID[answer] in told


def test_what_is_no_answer_is_refused(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    asked(coordinated, worker, tmp_path)
    for flags in ((), ("--ran", "--again"), ("--ran", "--not-run", "--again")):
        refused = coordinated.refused("intervention", "answer", "I1", *flags)
        assert "give one of --ran, --not-run and --again" in refused["reason"]
    for name in ("I9", "I1x", "", "I", "I-1", "I" + "9" * 30, "²"):
        for verb in (("show",), ("answer", "--ran")):
            refused = coordinated.refused("intervention", verb[0], name, *verb[1:])
            assert refused["next_step_cmd"] == "replan intervention list"
    assert phases(coordinated)[0] == "waiting"


def test_what_waits_for_something_else_takes_no_such_answer(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    asked(coordinated, worker, tmp_path)
    assert worker.finishes(worker.takes(), Ending.NEEDS_APPROVAL, "rm")
    eventually(lambda: len(coordinated.rows("SELECT id FROM interventions")) == 2, "the other one")
    refused = coordinated.refused("intervention", "answer", "I2", "--ran")
    assert "I2 does not ask how a command ended: it waits because of approval" in refused["reason"]
    assert refused["next_step_cmd"].startswith("replan task resume ")


def test_to_resume_is_no_answer(coordinated: Cli, worker: ScriptedWorker, tmp_path: Path) -> None:
    ref = asked(coordinated, worker, tmp_path)
    refused = coordinated.refused("task", "resume", ref)
    assert "does not answer that" in refused["reason"]
    assert refused["next_step_cmd"] == "replan intervention show I1"
    assert worker.finishes(worker.takes(), Ending.NEEDS_APPROVAL, "rm")
    eventually(lambda: phases(coordinated) == ["waiting", "waiting"], "both steps waiting")
    said = coordinated("task", "resume", ref)
    assert said.code == 0
    assert "still waits until you say how its command ended" in said.err
    assert phases(coordinated) == ["waiting", "ready"]


def test_an_answer_that_comes_too_late_is_told_so(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    ref = asked(coordinated, worker, tmp_path)
    coordinated.json("step", "abandon", f"{ref}.1")
    refused = coordinated.refused("intervention", "answer", "I1", "--ran")
    assert "is no longer waiting" in refused["reason"]


def test_without_a_coordinator_an_answer_is_only_recorded(cli: Cli, tmp_path: Path) -> None:
    from orchestrator.coordinator import Coordinator
    from orchestrator.store import SqlLedger

    submitted(cli, tmp_path)
    coordinator, worker = Coordinator(SqlLedger(cli.database)), ScriptedWorker(cli.database)
    coordinator.drain()
    worker.loses_sight()
    coordinator.drain()
    answer = cli.json("intervention", "answer", "I1", "--ran", code=4)
    assert answer["next_step_cmd"] == "replan coordinator start"
    assert answer["details"]["answer"] == "ran"
    coordinator.drain()
    assert cli.json("intervention", "show", "I1")["details"]["answer"] == "ran"


def test_the_story_is_told_while_it_is_watched(
    coordinated: Cli, worker: ScriptedWorker, tmp_path: Path
) -> None:
    ref = asked(coordinated, worker, tmp_path)
    job = worker.takes()
    worker.finishes(job, Ending.DONE)
    eventually(lambda: coordinated.rows("SELECT 1 FROM tasks WHERE phase = 'waiting'"), "waiting")
    said = coordinated("task", "watch", ref)
    assert said.code == 3
    assert "nobody can say how it ended: echo [said] once" in said.out
    assert "step 1 stopped: nobody can say how a command ended" in said.out
    assert "next: replan intervention answer I1 --not-run" in said.out
    coordinated.json("intervention", "answer", "I1", "--ran")
    again = worker.takes()
    attempt = worker.begins(again)
    worker.ends(again, attempt, Outcome.OK)
    worker.finishes(again, Ending.DONE)
    told = coordinated("task", "watch", ref)
    assert told.code == 0
    assert "a person answered for step 1: the command ran" in told.out
    assert SAID[Answer.RAN] in told.out


def test_the_schema_names_the_evidence() -> None:
    schema = schema_of("intervention.show")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "Evidence" in schema["$defs"]
