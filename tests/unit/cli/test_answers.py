"""How an answer is written, and what its exit code is."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from orchestrator.cli.follow import ending, print_message
from orchestrator.cli.invocation import Invocation, answer
from orchestrator.cli.reply import Format, Result, of_error, write
from orchestrator.cli.schemas import schema_of
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.interventions import InterventionView
from orchestrator.views.next_steps import next_steps
from orchestrator.views.tasks import TaskView
from orchestrator.words.kinds import MessageKind, Tone
from orchestrator.words.messages import Message
from shared.domain.config import Policy
from shared.domain.errors import Defect, Misconfigured, Rejected, ReplanError, Transient
from shared.domain.exits import ExitCode
from shared.domain.ids import parse_ref
from shared.domain.next_step import ShellCommand, command_line
from shared.domain.task import TaskPhase

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def call(output: Format = Format.MIN_JSON, **environ: str) -> Invocation:
    """A call whose output can be looked at."""
    return Invocation(
        output, None, Console(file=io.StringIO()), Console(file=io.StringIO()), environ
    )


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def fails(error: Exception) -> Any:
    def act() -> Result:
        raise error

    return act


def task(phase: str, *interventions: InterventionView, reason: str = "") -> TaskView:
    """A task in that phase."""
    return TaskView(
        ref=parse_ref("T1"),
        phase=TaskPhase(phase),
        reason=reason,
        prompt="p",
        improved_prompt=None,
        plan_given=True,
        plan_summary="",
        steps_planned=1,
        policy=Policy(),
        created_at=AT,
        ended_at=AT,
        now=AT,
        runs=(),
        interventions=interventions,
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Transient("r", stage="database"), 4),
        (Rejected("r", stage="input"), 2),
        (Misconfigured("r", stage="config"), 2),
        (Misconfigured("another version", stage="database"), 2),
        (Defect("r", stage="cli"), 1),
    ],
)
def test_each_family_of_errors_has_its_exit_code(error: ReplanError, code: int) -> None:
    assert of_error("task.list", error).exit_code == code


@pytest.mark.parametrize("output", Format)
def test_what_nobody_foresaw_is_told_without_a_traceback(output: Format) -> None:
    asked = call(output)
    assert answer(asked, "task.list", fails(ValueError("broken [/] markup"))) == 1
    told = printed(asked.console) + printed(asked.complaints)
    assert "defect of replan" in told
    assert "broken [/] markup" in told
    assert "Traceback" not in told
    if output is Format.MIN_JSON:
        jsonschema.validate(json.loads(told), schema_of("task.list"))


def test_the_traceback_is_there_for_whoever_wants_it(capsys: pytest.CaptureFixture[str]) -> None:
    answer(call(REPLAN_TRACEBACK="1"), "task.list", fails(ValueError("broken")))
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupted_command_ends_as_shells_expect() -> None:
    assert answer(call(), "task.watch", fails(KeyboardInterrupt())) == 130  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["[red]no[/red]", "odd [/]", "ends with \\", "C:\\[dir]", "[b"])
def test_text_is_never_taken_for_markup(text: str) -> None:
    asked = call(Format.HUMAN)
    answer(asked, "task.list", fails(Rejected(text, stage="input", next_step=ShellCommand(text))))
    assert printed(asked.complaints).count(text) == 2
    noted = call(Format.HUMAN)
    write(Result("x", warnings=(text,)), Format.HUMAN, noted.console, noted.complaints)
    assert text in printed(noted.complaints)
    message = Message(AT, parse_ref("T1"), MessageKind.ERROR, Tone.BAD, text)
    print_message(noted.console, message)
    assert text in printed(noted.console)


def test_json_lines_are_the_items_one_a_line() -> None:
    asked = call(Format.JSONL)
    answer(asked, "task.list", lambda: Result("task.list", items=[{"a": 1}, {"a": 2}]))
    lines = [json.loads(line) for line in printed(asked.console).splitlines()]
    assert [line["details"] for line in lines] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("phase", "code"), [("done", 0), ("error", 1), ("cancelled", 1), ("waiting", 3)]
)
def test_following_ends_with_the_exit_code_of_the_task(phase: str, code: int) -> None:
    result = ending(task(phase, reason="why"))
    assert result.exit_code == code
    assert (result.reason is None) == (code == 0)
    assert (result.stage is None) == (code == 0)
    assert command_line(result.next_step) == "replan task report T1"
    asked = call()
    assert answer(asked, "task.watch", lambda: result) == code
    jsonschema.validate(json.loads(printed(asked.console)), schema_of("task.watch"))


@pytest.mark.parametrize(
    ("stopped", "first"),
    [(True, "replan checkpoint show T1@app"), (False, "replan checkpoint run T1@app --apply")],
)
def test_what_stopped_a_checkpoint_is_looked_at_first(stopped: bool, first: str) -> None:
    steps = next_steps(InterventionKind.CHECKPOINT, parse_ref("T1@app"), None, stopped=stopped)
    assert command_line(steps[0]) == first


def test_a_waiting_task_says_everything_that_can_be_typed() -> None:
    step, kind = parse_ref("T1.2@web1"), InterventionKind.ESCALATION
    kinds = next_steps(kind, step, None)
    waits = InterventionView(1, step, kind, "escalate", "why", kinds, AT, None)
    result = ending(task("waiting", waits))
    assert result.exit_code is ExitCode.WAITING
    assert command_line(result.next_step) == "replan step revise T1.2@web1 --file revision.yaml"
    asked = call(Format.HUMAN)
    answer(asked, "task.watch", lambda: result)
    for each in kinds:
        assert f"next: {command_line(each)}\n" in printed(asked.console)
