"""A file of tasks as the plan of a task: what is submitted, and what a person is told."""

import pytest

from orchestrator.acts.plan_text import TasksText
from orchestrator.acts.tasks import TaskRequest, _submission
from shared.domain.errors import Rejected
from shared.domain.next_step import command_line
from shared.settings import Settings

TASKS = """
runners: {codex: {command: codex --mode agent}}
tasks:
  - {id: api, file: api.md, runner: codex}
  - {id: ui, file: ui.md, depends_on: [api]}
"""


def given(text: str) -> TaskRequest:
    """A request with such a file, all of whose tasks say what they are called."""
    return TaskRequest(
        None, ("localhost",), plan=TasksText(text, "conf/site.yaml", lambda name: f"do {name}")
    )


def test_a_file_of_tasks_is_the_plan_of_a_task() -> None:
    submission, told = _submission(Settings(), given(TASKS))
    assert submission.prompt == "site"
    assert submission.plan is not None
    assert [step.key for step in submission.plan.steps] == ["api", "ui"]
    assert submission.plan.steps[1].depends_on == (1,)
    assert submission.plan.steps[1].subtasks[0].command == "do ui.md"
    (note,) = told
    assert "without `--mode agent`" in note.reason


def test_settings_that_such_a_plan_leaves_without_effect_are_refused() -> None:
    request = TaskRequest(
        None, ("localhost",), settings=("planner=runbook",), plan=given(TASKS).plan
    )
    with pytest.raises(Rejected, match="leave out --planner") as raised:
        _submission(Settings(), request)
    assert command_line(raised.value.next_step) == "replan task submit --tasks site.yaml"
