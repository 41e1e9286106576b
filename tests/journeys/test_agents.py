"""A step of an agent, from a plan file to what it changed in a repository."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.journeys.conftest import PLACES, processes_of
from tests.services.agent_programs import program_for_tests
from tests.services.ring import Ring, eventually


def test_a_killed_executor_s_agent_goes_on_and_its_work_is_proved(
    ring: Ring, project: Path, tmp_path: Path
) -> None:
    """Must show 2: it is started once, and the tree holds its work. A command goes on from it."""
    gate = tmp_path / "gate"
    program = tmp_path / "agent"
    program.write_text(
        f'#!/bin/sh\necho x >>"$HOME/started"\necho half >half.txt\necho "reads $(cat "$1")"\n'
        f"until [ -e {gate} ]; do sleep 0.1; done\necho new >app.txt\n"
    )
    program.chmod(0o755)
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"""
steps:
  - title: Renew the app
    repository: {project.name}
    subtasks:
      - title: Write the new text
        kind: agent
        goal: Put the word new into app.txt
        agent:
          runners: [{{runner: command, command: "{program} {{task_file}}"}}]
        check: grep -q new app.txt
  - title: Look at it
    repository: {project.name}
    subtasks: [{{command: cat app.txt half.txt}}]
""")
    ring.coordinator()
    ring.worker("executor", name="executor-1")
    ring.replan("repo", "add", project.name, "--path", str(project))
    ring.replan("task", "submit", "--plan", str(plan), "--local")
    eventually(lambda: started_in(project), "the start of the agent")
    eventually(lambda: ring.rows("SELECT 1 FROM attempts WHERE outcome = 'running'"), "its row")
    ring.kill("executor-1")
    gate.touch()
    ring.worker("executor", name="executor-2")
    ring.ends(1)
    assert [each.read_text() for each in started_in(project)] == ["x\n"]
    worked, command = ring.rows("SELECT * FROM attempts ORDER BY id")
    assert (worked.outcome, worked.body["changed_files"]) == ("ok", ["app.txt", "half.txt"])
    assert worked.body["summary"] == "reads Put the word new into app.txt"
    assert command.stdout == "new\nhalf\n"
    assert (project / "app.txt").read_text() == "old\n"
    shown = ring.replan("task", "show", "T1").stdout
    assert "Renew the app" in shown


def started_in(project: Path) -> list[Path]:
    """What each start of an agent has left in its home."""
    return [*(PLACES / project.name).glob("work/*/home/*/started")]


SAYS_DONE = {"status": "ok", "summary": "Renewed.", "decisions": []}


def plan_of(project: Path, folder: Path, agent: dict[str, Any]) -> str:
    """A plan with one goal for an agent in that repository."""
    work = {"execution_mode": "autonomous", **agent}
    goal = {"kind": "agent", "goal": "Put the word new into app.txt", "agent": work}
    goal |= {"title": "Write the new text", "check": "grep -q new app.txt"}
    step = {"title": "Renew the app", "repository": project.name, "subtasks": [goal]}
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump({"steps": [step]}))
    return str(path)


def scripted(ring: Ring, *cases: dict[str, Any]) -> Path:
    """Start the gateway of the ring, which answers from that script; returns what it records."""
    script, recorded = ring.folder / "script.yaml", ring.folder / "recorded"
    script.write_text(yaml.safe_dump({"cases": list(cases)}))
    ring.gateway("--script", str(script), "--record", str(recorded))
    return recorded


def test_each_request_of_a_killed_executor_s_agent_is_answered_once(
    ring: Ring, project: Path, tmp_path: Path
) -> None:
    """Must show 2, with the real Claude Code: it is killed while the model answers."""
    gate = tmp_path / "gate"
    claude = program_for_tests("claude-code")
    turns = [
        [{"tool": "Bash", "input": {"command": "echo half > half.txt"}}],
        [{"await": str(gate)}, {"tool": "Bash", "input": {"command": "echo new > app.txt"}}],
        [{"tool": "StructuredOutput", "input": SAYS_DONE}],
    ]
    recorded = scripted(ring, {"turns": turns})
    runner = {"runner": "claude-code", "command": str(claude)}
    plan = plan_of(project, tmp_path, {"runners": [runner]})
    ring.coordinator()
    ring.worker("executor", name="executor-1")
    ring.replan("repo", "add", project.name, "--path", str(project))
    ring.replan("task", "submit", "--plan", plan, "--local")
    calls = "SELECT * FROM model_calls ORDER BY id"
    under_way = "SELECT 1 FROM model_calls WHERE ended_at IS NULL"
    eventually(lambda: len(ring.rows(calls)) == 2 and ring.rows(under_way), "the second request")
    first = ring.scalar("SELECT worker FROM attempts")
    ring.kill("executor-1")
    ring.worker("executor", name="executor-2")
    eventually(lambda: ring.scalar("SELECT worker FROM attempts") != first, "another driver")
    gate.touch()
    ring.ends(1)
    assert [(row.error, row.attempt_key) for row in ring.rows(calls)] == [
        (None, ring.scalar("SELECT key FROM attempts"))
    ] * len(turns)
    requests = [json.loads(each.read_text()) for each in sorted(recorded.glob("*.json"))]
    rounds = [sum(m["role"] == "assistant" for m in r["request"]["messages"]) for r in requests]
    assert rounds == [0, 1, 2]
    (worked,) = ring.rows("SELECT * FROM attempts")
    assert (worked.outcome, worked.body["changed_files"]) == ("ok", ["app.txt", "half.txt"])
    assert worked.body["summary"] == "Renewed."
    entered = ring.rows("SELECT body FROM attempt_notes WHERE kind = 'runner_entered'")
    assert [each.body["tree"] for each in entered] == [worked.body["before"]]


def test_the_timeline_tells_of_a_runner_that_hung_and_of_the_one_that_went_on(
    ring: Ring, project: Path, tmp_path: Path
) -> None:
    """Must show 3, with the real Claude Code and the real Codex."""
    claude, codex = program_for_tests("claude-code"), program_for_tests("codex")
    leaves = "echo half > half.txt; setsid -f sleep 600 >/dev/null 2>&1 </dev/null"
    goes_on = {"cmd": "sed s/half/new/ half.txt > app.txt"}
    scripted(
        ring,
        {
            "when": "It was made by claude-code",
            "turns": [
                [{"tool": "exec_command", "input": goes_on}],
                [{"text": json.dumps(SAYS_DONE)}],
            ],
        },
        {
            "turns": [
                [{"tool": "Bash", "input": {"command": leaves}}],
                [{"text": "Now I think."}, {"hang": True}],
            ]
        },
    )
    chain = [
        {"runner": "claude-code", "command": str(claude)},
        {"runner": "codex", "command": str(codex)},
    ]
    watchdog = {"check_interval": 6, "escalation_strategy": "next_runner"}
    plan = plan_of(project, tmp_path, {"runners": chain, "watchdog": watchdog})
    ring.coordinator()
    ring.worker("executor")
    ring.replan("repo", "add", project.name, "--path", str(project))
    ring.replan("task", "submit", "--plan", plan, "--local")
    eventually(lambda: ring.rows("SELECT 1 FROM attempt_notes WHERE kind = 'stuck'"), "the note")
    ring.ends(1, patience=120)
    hung, done = ring.rows("SELECT * FROM attempts ORDER BY id")
    assert (hung.outcome, hung.ended_by, hung.body["left_over"]) == ("failed", "watchdog", [])
    assert (done.outcome, done.body["runner"]) == ("ok", "codex")
    assert done.body["before"] == hung.body["tree"]
    assert done.body["changed_files"] == ["app.txt", "half.txt"]
    token = ring.scalar("SELECT token FROM runs")
    assert processes_of(token) == []
    story = " ".join(ring.replan("task", "watch", "T1").stdout.split())
    tree = hung.body["tree"][:12]
    parts = (
        "claude-code starts from tree",
        "stuck for",
        "waiting for the model (limit 6 s): no file changed, no new commit",
        "it is ended and the next runner may enter",
        f"codex goes on from tree {tree}: claude-code made no progress",
        "ok: Put the word new into app.txt",
    )
    assert [part for part in parts if part not in story] == []
    assert sorted(parts, key=story.index) == list(parts)
    assert "stuck for" in ring.replan("task", "report", "T1").stdout
    assert "stuck for" in ring.replan("step", "show", "T1.1").stdout
    assert "codex goes on from tree" in ring.replan("attempt", "show", "T1.1.1#2").stdout
