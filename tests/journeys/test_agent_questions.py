"""The real Claude Code asks what only a person knows, and goes on once it is told."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.journeys.conftest import PLACES, processes_of
from tests.services.agent_programs import program_for_tests
from tests.services.ring import Ring, eventually


def asks(question: str, *options: str) -> list[dict[str, Any]]:
    """A turn in which the model uses the tool for questions."""
    asked = {
        "question": question,
        "header": "Word",
        "multiSelect": False,
        "options": [{"label": each, "description": f"it is {each}"} for each in options],
    }
    return [{"tool": "AskUserQuestion", "input": {"questions": [asked]}}]


DONE = {"status": "ok", "summary": "Renewed.", "decisions": [], "questions": []}
TURNS: list[list[dict[str, Any]]] = [
    asks("Which word?", "new", "fresh"),
    asks("And which end?", "dot", "none"),
    [{"tool": "Bash", "input": {"command": "echo newest >app.txt; echo $REPLAN_ATTEMPT >key"}}],
    [{"tool": "StructuredOutput", "input": DONE}],
]


def test_a_deferred_question_waits_for_a_person_and_for_no_process(
    ring: Ring, project: Path, tmp_path: Path
) -> None:
    """Must show 5: an hour later the answer continues the session, whose model reads it."""
    claude = program_for_tests("claude-code")
    script, plan = tmp_path / "script.json", tmp_path / "plan.yaml"
    script.write_text(json.dumps({"turns": TURNS}))
    plan.write_text(f"""
steps:
  - title: Renew the app
    repository: {project.name}
    subtasks:
      - kind: agent
        goal: Put a newer word into app.txt
        agent: {{runners: [{{runner: claude-code, command: {claude}}}]}}
        check: grep -q newest app.txt
""")
    ring.gateway("--script", str(script))
    ring.coordinator()
    ring.worker("executor")
    ring.replan("repo", "add", project.name, "--path", str(project))
    ring.replan("task", "submit", "--plan", str(plan), "--local")
    ring.ends(1, "waiting")

    for shown in (ring.replan("task", "show", "T1"), ring.replan("intervention", "show", "I1")):
        for part in (
            "Which word?",
            "I1 new",
            "fresh: it is fresh",
            "I1 fresh",
            "asked by: claude-code",
            "T1.1.1#1",
        ):
            assert part in shown.stdout, shown.stdout
    (asked,) = attempts(ring)
    assert asked.outcome == "needs_input"
    token = ring.scalar("SELECT token FROM runs")
    assert processes_of(token) == []
    let_an_hour_pass(ring)
    ring.replan("intervention", "answer", "I1", "the newest one")

    eventually(lambda: ring.rows("SELECT 1 FROM interventions WHERE id = 2"), "the next question")
    assert "And which end?" in ring.replan("intervention", "show", "I2").stdout
    let_an_hour_pass(ring)
    ring.replan("intervention", "answer", "I2", "2")

    ring.ends(1)
    first, second, last = attempts(ring)
    assert (last.outcome, last.check_exit_code) == ("ok", 0)
    assert last.body["changed_files"] == ["app.txt", "key"]
    sessions = {each.body["session"] for each in (first, second, last)}
    assert len(sessions) == 1
    assert '"Which word?"="the newest one"' in told(ring, second.key)
    assert '"And which end?"="none"' in told(ring, last.key)
    assert processes_of(token) == []
    tree = last.body["tree"]
    ours = PLACES / project.name / "ours.git"
    shown_key = subprocess.run(
        ("git", "--git-dir", str(ours), "show", f"{tree}:key"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert token in shown_key.stdout, "what is left of it would be found by that"


def attempts(ring: Ring) -> list[Any]:
    return list(ring.rows("SELECT * FROM attempts ORDER BY id"))


def told(ring: Ring, key: str) -> str:
    """What the requests of an attempt have told the model, as its user reads it."""
    rows = ring.rows(
        "SELECT question::text FROM model_calls WHERE attempt_key = :key ORDER BY id", key=key
    )
    return "\n".join(row.question for row in rows).replace("\\", "")


def let_an_hour_pass(ring: Ring) -> None:
    """Move everything that has happened an hour into the past."""
    moved = {
        "interventions": ("opened_at",),
        "attempts": ("started_at", "ended_at"),
        "jobs": ("created_at",),
        "events": ("at",),
    }
    with ring.database.begin() as connection:
        for table, columns in moved.items():
            changes = ", ".join(f"{name} = {name} - interval '1 hour'" for name in columns)
            connection.exec_driver_sql(f"UPDATE {table} SET {changes}")  # noqa: S608
