"""Questions to people: the taskmaster's, a step's, a snippet's; and what snippets say of errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.model_server import Fails, ModelServer, Says, model_server
from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.unit.planning.given import detail_answer, plan_answer, step_answer, subtask_answer

ASKS = {
    "prompt": "Write a colour",
    "ask_question": "Which colour?",
    "ask_options": ["red", "deep blue"],
}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def worker_environ(model: ModelServer) -> dict[str, str]:
    """The worker asks a scripted model."""
    return dict(model.environ)


@pytest.fixture
def asking(working: Cli) -> Cli:
    """A coordinator and a worker of every role, with a scripted model."""
    return working


def plan_file(folder: Path, *steps: dict[str, Any]) -> Path:
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump({"steps": list(steps)}))
    return path


def code(snippet: str, **more: Any) -> dict[str, Any]:
    """A step of one snippet."""
    return {"title": "Snippet", "subtasks": [{"kind": "code", "run": snippet, **more}]}


def submit(cli: Cli, plan: Path, code: int, *more: str) -> dict[str, Any]:
    given = ("task", "submit", "--plan", plan, "--local", "--wait", *more)
    answer: dict[str, Any] = cli.json(*given, code=code)["details"]
    return answer


def allow(cli: Cli, ref: str) -> None:
    """A person has seen the snippet that waits, and lets the task run it as often as it needs."""
    cli.json("intervention", "approve", f"I{waits(cli)['id']}", "--for-task")
    eventually(lambda: cli("task", "watch", ref), "its next rest")


def waits(cli: Cli) -> dict[str, Any]:
    (found,) = cli.json("intervention", "list")["details"]["interventions"]
    return found  # type: ignore[no-any-return]


def test_the_taskmaster_asks_instead_of_guessing(
    asking: Cli, model: ModelServer, tmp_path: Path
) -> None:
    """S0.2, S0.24, S0.25, S3.57: the question waits, its answer reaches every planner."""
    ledger = tmp_path / "ledger"
    model.will(Says(ASKS), Says({"prompt": "Write the colour deep blue"}), wanted="RefineAnswer")
    model.will(Says(plan_answer(step_answer("only"))), wanted="PlanAnswer")
    model.will(
        Says(detail_answer(subtask_answer("a", f"echo blue > {ledger}"))), wanted="DetailAnswer"
    )
    given = ("task", "submit", "write a colour", "--local", "--taskmaster", "--wait")
    task = asking.json(*given, code=3)["details"]
    ref = task["ref"]
    asked = waits(asking)
    assert (asked["kind"], asked["ref"], asked["reason"]) == ("question", ref, "Which colour?")
    assert asked["options"] == ["red", "deep blue"]
    typed = "replan intervention answer I1 'deep blue'"
    assert asked["commands"][:2] == ["replan intervention answer I1 red", typed]
    assert typed in asking("task", "show", ref).out
    assert "does not answer that" in asking.refused("task", "resume", ref)["reason"]
    assert "1: red, 2: deep blue" in asking.refused("intervention", "answer", "I1", "x")["reason"]
    assert "Which colour?" in asking.refused("intervention", "answer", "I1")["reason"]
    answer = asking.json("intervention", "answer", "I1", "DEEP BLUE")
    assert answer["details"]["answer"] == "deep blue"
    done = asking.json("task", "watch", ref)["details"]
    assert done["prompt"] == "write a colour"
    assert done["improved_prompt"] == "Write the colour deep blue"
    assert done["replies"] == [{"question": "Which colour?", "answer": "deep blue"}]
    for asked_again in (model.of("RefineAnswer")[1], model.of("PlanAnswer")[0]):
        assert "Which colour?" in asked_again.said[0]
        assert "deep blue" in asked_again.said[0]
    shown = asking.json("intervention", "show", "I1")["details"]
    assert shown["answer"] == "deep blue"
    assert shown["answered_by"]
    assert "already" in asking.refused("intervention", "answer", "I1", "red")["reason"]
    assert ledger.read_text() == "blue\n"


def test_without_a_taskmaster_nobody_asks(asking: Cli, model: ModelServer) -> None:
    """S0.81: the switch at the submission is stronger than the setting."""
    model.will(Says(plan_answer(step_answer("only"))), wanted="PlanAnswer")
    model.will(Says(detail_answer(subtask_answer("a"))), wanted="DetailAnswer")
    options = ("--set", "taskmaster_enabled=true", "--no-taskmaster", "--wait")
    task = asking.json("task", "submit", "do it", "--local", *options)["details"]
    assert (task["phase"], task["improved_prompt"]) == ("done", None)
    assert not model.of("RefineAnswer")


def test_a_resumption_goes_back_to_a_taskmaster_that_was_misconfigured(
    asking: Cli, model: ModelServer
) -> None:
    """Not on to planning: the prompt is still to be improved."""
    model.will(Fails(401), Says({"prompt": "Better"}), wanted="RefineAnswer")
    model.will(Says(plan_answer(step_answer("only"))), wanted="PlanAnswer")
    model.will(Says(detail_answer(subtask_answer("a"))), wanted="DetailAnswer")
    ref = asking.json("task", "submit", "do it", "--local", "--taskmaster")["details"]["ref"]
    eventually(lambda: asking.rows("SELECT id FROM interventions"), "the refusal")
    assert f"replan plan provide {ref} --file plan.yaml" in waits(asking)["commands"]
    asking.json("task", "resume", ref)
    done = asking.json("task", "watch", ref)["details"]
    assert (done["phase"], done["improved_prompt"]) == ("done", "Better")


def test_a_task_that_nobody_could_plan_says_how_to_give_it_a_plan(asking: Cli) -> None:
    """The next command is about this very task, not about another one."""
    given = ("task", "submit", "fly to the moon", "--local", "--planner", "runbook")
    ref = asking.json(*given)["details"]["ref"]
    eventually(lambda: asking.rows("SELECT id FROM interventions"), "the refusal")
    commands = waits(asking)["commands"]
    assert commands[0] == f"replan plan provide {ref} --file plan.yaml"
    assert commands.count(commands[0]) == 1


def test_the_question_of_a_planned_step_comes_before_its_commands(
    asking: Cli, model: ModelServer
) -> None:
    """S3.11: the answer is part of what the subtask planner is told."""
    step = step_answer("port", ask_question="Which port?", ask_options=[])
    model.will(Says(plan_answer(step)), wanted="PlanAnswer")
    model.will(Says(detail_answer(subtask_answer("a"))), wanted="DetailAnswer")
    ref = asking.json("task", "submit", "do it", "--local", "--wait", code=3)["details"]["ref"]
    asked = waits(asking)
    assert (asked["ref"], asked["reason"]) == (f"{ref}.1", "Which port?")
    assert not model.of("DetailAnswer")
    asking.json("intervention", "answer", "I1", "8080")
    assert asking.json("task", "watch", ref)["details"]["phase"] == "done"
    (detail,) = model.of("DetailAnswer")
    assert "Which port?" in detail.said[0]
    assert "8080" in detail.said[0]


def test_a_step_given_by_hand_waits_for_its_answer_and_gets_it(asking: Cli, tmp_path: Path) -> None:
    """S3.11, S3.12: nothing runs before; a snippet finds the answer in its environment."""
    out = tmp_path / "out"
    snippet = f"import os\nopen({str(out)!r}, 'w').write(os.environ['REPLAN_ANSWER'])\nresult = 1"
    asks = {"ask_question": "Which one?", "ask_options": ["a", "b"]}
    first = {"title": "First", "subtasks": [{"run": f"touch {tmp_path / 'ran'}"}]}
    ref = submit(asking, plan_file(tmp_path, first, code(snippet) | asks), 3)["ref"]
    assert not (tmp_path / "ran").exists()
    asking.json("intervention", "answer", "I1", "2")
    asking("task", "watch", ref)
    allow(asking, ref)
    assert asking.json("task", "watch", ref)["details"]["phase"] == "done"
    assert out.read_text() == "b"
    shown = asking.json("step", "show", f"{ref}.2")["details"]
    assert (shown["question"], shown["answer"]) == ("Which one?", "b")
    assert shown["request"]["inputs"]["answers"] == {"Which one?": "b"}
    assert shown["response"]["status"] == "ok"


def test_a_snippet_asks_and_goes_on_with_the_answer(asking: Cli, tmp_path: Path) -> None:
    """S3.24, S3.28: `needs_input` waits as a question, counts as no error, and is answered."""
    out = tmp_path / "out"
    snippet = f"""
import os
answer = os.environ.get("REPLAN_ANSWER")
if answer is None:
    result = {{"status": "needs_input", "next_questions": ["How many?"], "options": ["1", "2"]}}
else:
    open({str(out)!r}, "w").write(answer)
    result = {{"success": True}}
"""
    ref = submit(asking, plan_file(tmp_path, code(snippet)), 3)["ref"]
    allow(asking, ref)
    asked = waits(asking)
    assert (asked["kind"], asked["reason"], asked["options"]) == (
        "question",
        "How many?",
        ["1", "2"],
    )
    shown = asking.json("step", "show", f"{ref}.1")["details"]
    assert shown["step"]["errors"] == 0
    response = shown["response"]
    assert (response["status"], response["next_questions"]) == ("needs_input", ["How many?"])
    assert "does not answer that" in asking.refused("task", "resume", ref)["reason"]
    asking.json("intervention", "answer", f"I{asked['id']}", "2")
    assert asking.json("task", "watch", ref)["details"]["phase"] == "done"
    assert out.read_text() == "2"


SAID = [
    ('result = {"success": True, "result": {"success": False}}', {}, "exit code 1"),
    (
        'result = {"success": False, "target_task": "002", "target_status": "Error",'
        ' "context": {"error": "gate is broken"}}',
        {},
        "gate is broken (exit code 1)",
    ),
    (
        "raise OSError('no gate')",
        {"failure_output": {"task_id": "002", "context": {"error": "gate system down"}}},
        "gate system down (exit code 1)",
    ),
    ("x = 'a' * (1 << 31)\nresult = 1", {}, "exit code 1"),  # more memory than it may take
]
"""A snippet that fails, what its subtask says beside it, and the reason that is recorded."""


def test_what_a_snippet_says_decides(asking: Cli, tmp_path: Path) -> None:
    """S1.25-S1.28, S1.45, and the limits of its interpreter."""
    steps = [code(snippet, **more) | {"on_failure": "continue"} for snippet, more, _ in SAID]
    limits = ("--set", "max_retry_count=1", "--autonomy", "plan")
    ref = submit(asking, plan_file(tmp_path, *steps), 3, *limits)["ref"]
    asking.json("plan", "approve", ref)
    asking.json("task", "watch", ref, code=1)
    attempts = asking.json("attempt", "list", ref)["details"]["attempts"]
    assert [a["outcome"] for a in attempts] == ["failed"] * len(SAID)
    assert [a["reason"] for a in attempts] == [said for _, _, said in SAID]


def test_only_its_own_tools_may_be_started(asking: Cli, tmp_path: Path) -> None:
    """S3.10: another program is forbidden, whatever the site's policy says."""
    step = {
        "title": "Look",
        "allowed_tools": ["ls", "grep"],
        "subtasks": [{"run": f"ls {tmp_path} | grep plan"}, {"run": f"touch {tmp_path / 'no'}"}],
    }
    ref = submit(asking, plan_file(tmp_path, step), 3)["ref"]
    attempts = asking.json("attempt", "list", ref)["details"]["attempts"]
    assert [a["outcome"] for a in attempts] == ["ok", "denied"]
    assert "touch" in attempts[1]["reason"]
    assert not (tmp_path / "no").exists()


def test_a_planner_advises_another_try(asking: Cli, model: ModelServer, tmp_path: Path) -> None:
    """S1.35: within the limit its word decides; the reason stands in the story."""
    advice = {"retry": True, "delay_seconds": 0, "reason": "it was still starting"}
    model.will(Says(advice), wanted="AdviceAnswer")
    tries = tmp_path / "tries"
    step = {
        "title": "Fail",
        "subtasks": [{"run": f"echo x >> {tries}; grep -c x {tries} | grep 2"}],
    }
    task = submit(asking, plan_file(tmp_path, step), 0, "--set", "retry_strategy=model")
    assert tries.read_text().split() == ["x", "x"]
    assert task["context"]["retries"][0]["failures"] == 1
    assert "still starting" in asking("task", "watch", task["ref"]).out
