"""A plan as the text of a plan file that loads as the same plan."""

from typing import Any

import yaml

from shared.contracts.agentwork import dump_work, span
from shared.domain.author import PlanningRole
from shared.domain.plan import (
    OnFailure,
    Plan,
    Recovery,
    Step,
    Subtask,
    SubtaskKind,
    default_dependencies,
    default_needs,
)
from shared.visible import visible_yaml


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a block, like a person."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.rstrip("\n") else None
    if not text.replace("\n", "").isprintable():
        style = '"'  # the other styles lose some of the line breaks that Unicode knows
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def dump_plan(plan: Plan) -> str:
    """The plan file of a plan: `load_plan(dump_plan(plan))` is the plan again.

    One thing is not kept: a plan file cannot say that the main planner, not the subtask planner,
    wrote a step; such a step comes back as the subtask planner's, with the same backend.
    """
    depends = default_dependencies(
        (s.ordinal, None if s.parallelizable is False else s.parallel_group, None)
        for s in plan.steps
    )
    keys = {step.ordinal: step.key for step in plan.steps}
    document: dict[str, Any] = {"summary": plan.summary} if plan.summary else {}
    if plan.autonomy is not None:
        document["autonomy"] = plan.autonomy
    document["steps"] = [_step(step, depends[step.ordinal], keys) for step in plan.steps]
    return dump_document(document)


def dump_subtasks(subtasks: tuple[Subtask, ...]) -> str:
    """The text that `load_revision` reads as these subtasks."""
    return dump_document({"subtasks": _subtasks(subtasks)})


def dump_document(document: dict[str, Any]) -> str:
    """The document as YAML, in which text of several lines is a block."""
    return visible_yaml(
        lambda unicode: yaml.dump(
            document, Dumper=_Dumper, sort_keys=False, allow_unicode=unicode, width=100
        )
    )


def _step(step: Step, depends_on: tuple[int, ...], keys: dict[int, str]) -> dict[str, Any]:
    document: dict[str, Any] = {"id": step.key, "title": step.title}
    if step.instruction:
        document["instruction"] = step.instruction
    if step.depends_on != depends_on:
        document["depends_on"] = [keys[ordinal] for ordinal in step.depends_on]
    if step.parallel_group is not None:
        document["parallel_group"] = step.parallel_group
    usual = Recovery.RETRY
    if step.author.role is not PlanningRole.HUMAN or step.recovery is Recovery.REPLAN:
        document["planner"] = step.author.backend
        usual = Recovery.REPLAN
    if step.recovery is not usual:
        document["recovery"] = step.recovery.value
    if step.on_failure is not OnFailure.STOP:
        document["on_failure"] = step.on_failure.value
    document |= _details(step)
    document["subtasks"] = _subtasks(step.subtasks)
    return document


def _details(step: Step) -> dict[str, Any]:
    """The fields of a step, except its place in the plan and default values."""
    tools = step.allowed_tools
    said = {
        "step_type": step.step_type,
        "parallelizable": step.parallelizable,
        "parallelizable_reason": step.parallelizable_reason,
        "allowed_tools": None if tools is None else list(tools),
        "ask_question": step.ask_question,
        "ask_options": list(step.ask_options),
        "repository": step.repository,
    }
    unsaid: dict[str, Any] = {
        "step_type": "task",
        "parallelizable": None,
        "parallelizable_reason": "",
        "allowed_tools": None,
        "ask_question": "",
        "ask_options": [],
        "repository": None,
    }
    return {key: value for key, value in said.items() if value != unsaid[key]}


def _subtasks(subtasks: tuple[Subtask, ...]) -> list[dict[str, Any]]:
    usual = default_needs((subtask.key, None) for subtask in subtasks)
    return [_subtask(subtask, usual[subtask.key]) for subtask in subtasks]


def _subtask(subtask: Subtask, needs: tuple[str, ...]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": subtask.key,
        "title": subtask.title,
        "run" if subtask.agent is None else "goal": subtask.command,
        "check": subtask.check,
        "timeout": span(subtask.timeout),
        "preconditions": list(subtask.preconditions),
        "needs": list(subtask.needs),
        "critical": subtask.critical,
        "rollback": subtask.rollback,
        "idempotent": subtask.idempotent,
        "kind": subtask.kind.value,
    }
    unsaid = {
        "check": None,
        "preconditions": [],
        "needs": list(needs),
        "critical": False,
        "rollback": None,
        "idempotent": False,
        "kind": SubtaskKind.COMMAND.value,
    }
    said = {key: value for key, value in document.items() if unsaid.get(key, ...) != value}
    if subtask.agent is not None:
        del said["timeout"]  # it is the time budget
        said |= {"agent": work} if (work := dump_work(subtask.agent)) else {}
    if subtask.failure is not None:
        said["failure_output"] = {"status": "Error", "context": {"error": subtask.failure}}
    return said
