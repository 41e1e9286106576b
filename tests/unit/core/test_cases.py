"""The tables in tests/cases/core: given these facts, when this one comes, then that is decided."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml
from _pytest.mark.structures import ParameterSet

from orchestrator.core.decisions import Decision
from shared.domain import facts as f
from shared.domain.approval import plan_digest
from shared.domain.plan import Plan, Step
from shared.fact_wire import decode_fact
from shared.wire import from_json, to_json
from tests.unit.core.actors import APPROVALS
from tests.unit.core.given import (
    PLANNER,
    SUBTASK_PLANNER,
    Run,
    Task,
    bare,
    running,
    step,
    submitted,
    subtasks,
)

Case = dict[str, Any]
Said = str | dict[str, Any]
"""A fact as a table names it: its kind alone, or its kind with what matters of it."""

CASES = Path(__file__).parents[2] / "cases" / "core"


def _cases() -> list[ParameterSet]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted(CASES.glob("*.yaml"))
        for case in yaml.safe_load(path.read_text())
    ]


def _fact(said: Said, defaults: dict[str, Any]) -> f.Fact:
    kind, body = (said, {}) if isinstance(said, str) else next(iter(said.items()))
    fields = {field.name for field in dataclasses.fields(f.FACTS[kind])}
    return decode_fact(kind, {k: v for k, v in (defaults | body).items() if k in fields})


def _of_run(run: Run, said: Said) -> f.Fact:
    body = {} if isinstance(said, str) else next(iter(said.values()))
    kind = said if isinstance(said, str) else next(iter(said))
    at = run.step(body.get("step", 1))
    defaults = {
        "step": None if kind == "ResumeRequested" else 1,
        "revision": at.revision + (kind == "StepRevised"),
        "pass_no": at.pass_no,
        "postponed": at.postponed,
        "errors": 0,
        "bundle_id": 7,
        "author": to_json(SUBTASK_PLANNER),
        "subtasks": [to_json(subtask) for subtask in subtasks("again")],
        "stage": "test",
        "reason": "",
        "answer": "ran",
        "intervention": 7,
        "approvals": to_json(APPROVALS),
        "denied_by": "ann",
        "question": None if kind == "PassFinished" else "which?",
        "given_by": "ann",
        "subtask": 1,
        "number": 1,
        "key": "key",
        "requested_by": "ann",
        "settled_by": "ann",
        "claims": ["token"],
        "newest": at.pass_no,
        "retry": True,
        "planner": to_json(PLANNER),
        "worker": "executor.7@web1",
        "sign": "presence",
        "known": max(run.state.steps),
        "steps": [to_json(step(1, title="New 1")), to_json(step(2, depends_on=(1,)))],
    }
    return _fact(said, defaults)


def _of_task(task: Task, said: Said) -> f.Fact:
    defaults = {
        "step": None,
        "revision": 0,
        "pass_no": 0,
        "postponed": task.state.postponed,
        "author": to_json(SUBTASK_PLANNER),
        "subtasks": [to_json(subtask) for subtask in subtasks("true")],
        "stage": "test",
        "reason": "",
        "prompt": "better",
        "plan": to_json(Plan((bare(1), bare(2)))),
        "run_id": 1,
        "plan_digest": "" if task.state.plan is None else plan_digest(task.state.plan),
        "given_by": "ann",
        "approvals": to_json(APPROVALS),
        "question": "which?",
        "answer": "a",
        "intervention": 7,
        "worker": "planner.7@web1",
        "sign": "presence",
    }
    return _fact(said, defaults)


def _steps(case: Case) -> list[Step]:
    """The steps of a table; each depends on the one before it unless it says otherwise."""
    return [
        from_json(
            Step, to_json(step(ordinal)) | {"depends_on": [ordinal - 1][: ordinal - 1]} | said
        )
        for ordinal, said in enumerate(case.get("steps", [{}]), 1)
    ]


def _check_decisions(decided: tuple[Decision, ...], expected: list[Any]) -> None:
    named = [next(iter(e.items())) if isinstance(e, dict) else (e, {}) for e in expected]
    assert [type(d).__name__ for d in decided] == [kind for kind, _ in named], decided
    for decision, (_, fields) in zip(decided, named, strict=True):
        shown = to_json(decision)
        assert {key: shown[key] for key in fields} == fields


@pytest.mark.parametrize("case", _cases())
def test_case(case: Case) -> None:
    """Each row of the tables holds; facts pass through the codec on the way."""
    policy = {"retry_jitter": 0.0} | case.get("policy", {})
    then = case["then"]
    if "task" in case:
        task = submitted(runs=case["task"].get("runs", 1), **policy)
        for said in case.get("given", []):
            task.tell(_of_task(task, said))  # type: ignore[arg-type]
        if "when" in case:
            task.tell(_of_task(task, case["when"]))  # type: ignore[arg-type]
        assert task.phase.value == then["task"]
        _check_decisions(task.decided, then["decisions"])
        return
    run = running(*_steps(case), **policy)
    for said in case.get("given", []):
        run.tell(_of_run(run, said))  # type: ignore[arg-type]
    if "when" in case:
        run.tell(_of_run(run, case["when"]))  # type: ignore[arg-type]
    assert run.phases() == then["steps"]
    assert run.state.phase.value == then["run"]
    _check_decisions(run.decided, then["decisions"])
    for ordinal, fields in then.get("step", {}).items():
        shown = to_json(run.step(ordinal))
        assert {key: shown[key] for key in fields} == fields


def test_there_are_tables() -> None:
    """The tables are found: an empty folder would make every case pass."""
    assert len(_cases()) > 40
