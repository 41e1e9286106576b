"""A finished task as a runbook, which repeats the work without a model."""

import re
from dataclasses import dataclass
from typing import Any

import yaml

from orchestrator.export.quotes import opened
from orchestrator.export.words import NUMBER, Parameter, candidates
from shared.contracts.origin import Origin
from shared.contracts.plandump import dump_document, dump_plan
from shared.contracts.yamltext import read_yaml
from shared.domain.plan import Plan
from shared.runbook import template
from shared.runbook.entries import RunbookFile

_NAMES = frozenset({"planner", "recovery"})
"""Keys of a step in a plan file that a runbook does not need: its planner is the library."""


_KEPT = frozenset(
    {
        *("id", "needs", "depends_on", "parallel_group", "kind", "timeout", "on_failure"),
        *("repository", "runner", "alias", "trigger", "execution_mode", "allowed_tools"),
    }
)
"""Keys whose values are names and limits, not text of the task."""


_SHELL = frozenset({"run", "command", "check", "rollback"})
"""Keys whose values a shell reads."""


@dataclass(frozen=True, slots=True)
class Runbook:
    """A runbook file with one job; `parameters` are the values that the task had.

    `prompt` asks for the job again.
    """

    job: str
    text: str
    prompt: str
    parameters: dict[str, str]


def runbook(prompt: str, plan: Plan, hosts: tuple[str, ...], *, origin: Origin) -> Runbook:
    """The runbook of a plan that was carried out on a host with these names.

    Raises the origin's error when the plan cannot become a runbook.
    """
    flat = " ".join(prompt.split())
    steps = _steps(plan)
    words: list[Parameter] = []
    for word in candidates(flat, list(_commands(steps)), hosts):
        # If the commands use the name themselves, or a value could become a command there, the
        # word stays.
        used = template.parameters_in(steps, [word.name])
        for tried in (steps, _opened(steps, word)):
            filled = _fill(tried, word)
            if filled != steps and not used and not template.faults(filled, [word.name]):
                steps, words = filled, [*words, word]
                break
    name = _name(flat)
    job = {
        "id": name,
        "match": [_pattern(flat, words)],
        "summary": plan.summary or flat,
        **_parameters(words),
        "steps": steps,
    }
    jobs = {"jobs": [job]}
    text = dump_document(jobs)
    RunbookFile.read(read_yaml(text, origin), origin)
    return Runbook(name, text, flat, {word.name: word.value for word in words})


def _steps(plan: Plan) -> list[dict[str, Any]]:
    document = yaml.safe_load(dump_plan(plan))
    return [{k: v for k, v in step.items() if k not in _NAMES} for step in document["steps"]]


def _parameters(words: list[Parameter]) -> dict[str, Any]:
    """The defaults, which parameters that the prompt contains do not have, and the forms."""
    unsaid = {word.name: word.value for word in words if not word.said}
    forms = {word.name: {"pattern": word.form} for word in words}
    given = {"parameters": unsaid, "forms": forms}
    return {name: each for name, each in given.items() if each}


def _opened(value: Any, word: Parameter) -> Any:
    """A document whose commands have a number nowhere inside quotes or a here-document."""
    if word.form != NUMBER:
        return value
    match value:
        case list():
            return [_opened(item, word) for item in value]
        case dict() if value.get("kind", "command") == "command":
            return {
                k: opened(item, word.place)
                if k in _SHELL and isinstance(item, str)
                else _opened(item, word)
                for k, item in value.items()
            }
    return value


def _commands(value: Any) -> list[str]:
    """The texts in a document that are sent to a host."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _commands(item)]
    if isinstance(value, dict):
        asked = ("run", "check", "rollback", "preconditions", "subtasks")
        return [text for key in asked if key in value for text in _commands(value[key])]
    return []


def _fill(value: Any, word: Parameter) -> Any:
    """A document with the word replaced by the parameter."""
    match value:
        case str():
            return word.place.sub(lambda _: f"${{{word.name}}}", value)
        case list():
            return [_fill(item, word) for item in value]
        case dict():
            return {k: item if k in _KEPT else _fill(item, word) for k, item in value.items()}
    return value


def _pattern(prompt: str, words: list[Parameter]) -> str:
    """A pattern for the prompt, with groups for its words and optional `name=value` after it."""
    said = {word.name: word for word in words if word.said}
    places = (
        sorted(
            (found.start(), found.end(), word)
            for word in said.values()
            for found in [word.place.search(prompt)]
            if found is not None
        )
        if said
        else []
    )
    pattern, at = "^", 0
    for start, end, word in places:
        pattern += f"{_escape(prompt[at:start])}(?P<{word.name}>{word.form})"
        at = end
    pattern += _escape(prompt[at:])
    for word in words:
        if not word.said:
            pattern += rf"(?:(?=.* {word.name}=(?P<{word.name}>{word.form})(?: |$)))?"
    return pattern + r"(?: \w+=\S+)*$"


def _escape(text: str) -> str:
    return re.escape(text).replace(r"\ ", " ")


def _name(prompt: str) -> str:
    words = re.findall(r"[a-z0-9]+", prompt.lower())
    return "-".join(words)[:60].strip("-") or "job"
