"""Whether a runbook fits a prompt, and so no model has to be asked (`--planner auto`)."""

from dataclasses import dataclass

from orchestrator.acts.done import Note
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep
from shared.runbook.library import read_library
from shared.settings import Settings

AUTO = "auto"
"""The planner that becomes `runbook` where one fits, and otherwise the one that is set."""

_PLANNERS = ("planner", "subtask_planner")


@dataclass(frozen=True, slots=True)
class ChosenRunbook:
    """The runbook that plans a task, and the values of its parameters."""

    name: str
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class PlannerChoice:
    """The settings with a planner in the place of `auto`, and what is to be said about it."""

    settings: tuple[str, ...]
    runbook: ChosenRunbook | None = None
    notes: tuple[Note, ...] = ()


def choose_planner(
    settings: Settings, given: tuple[str, ...], prompt: str | None, *, planned: bool
) -> PlannerChoice:
    """What `auto` among the settings that were given (`key=value`) comes to for this prompt.

    A runbook fits if all of the prompt asks for it and its parameters have values of their form.
    Raises Rejected if the task is `planned` already, and Misconfigured for a folder of runbooks.
    """
    others = tuple(each for each in given if not _is_auto(each))
    if len(others) == len(given):
        return PlannerChoice(given)
    if planned:
        raise Rejected(
            "the plan is given, so no runbook is looked for: leave out --planner auto",
            stage="input",
            next_step=NextStep.of("task submit", plan=Blank("FILE"), host=Blank("NAME")),
        )
    found = read_library(settings.server.runbook_dirs).find_job(prompt or "", whole=True)
    if found is None:
        return _other(settings, others, "no runbook fits")
    job, parameters = found
    missing = job.missing(parameters)
    if missing is not None:
        return _other(settings, others, f"the runbook {job.id} does not fit: {missing}")
    chosen = ChosenRunbook(job.id, parameters)
    told = ", ".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    note = Note(
        f"the runbook {job.id} plans it, and no model is asked{f' ({told})' if told else ''}; "
        "what it does, or with --planner NAME another planner",
        NextStep.of("runbook show", job.id),
    )
    by_runbook = (*(f"{key}=runbook" for key in _PLANNERS), "taskmaster_enabled=false")
    return PlannerChoice((*others, *by_runbook), chosen, (note,))


def _other(settings: Settings, given: tuple[str, ...], why: str) -> PlannerChoice:
    planner = settings.with_agent(given).agent.planner
    return PlannerChoice(given, notes=(Note(f"{why}, so the planner {planner} is asked"),))


def _is_auto(given: str) -> bool:
    key, _, value = given.partition("=")
    return key.strip() in _PLANNERS and value.strip() == AUTO
