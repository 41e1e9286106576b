"""The runbooks that a person may look at: their names, parameters and steps."""

from dataclasses import dataclass

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from shared.contracts.documents import SubtaskDocument, first_line
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.runbook.entries import RunbookJob
from shared.runbook.library import Library, read_library
from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class RunbookLine:
    """A runbook; `example` is a prompt that asks for it, empty if its author gave none."""

    name: str
    summary: str
    parameters: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class RunbookList:
    """Every known runbook: the operator's before those that ship."""

    runbooks: tuple[RunbookLine, ...]


@dataclass(frozen=True, slots=True)
class RunbookParameter:
    """A parameter; a prompt has to say those whose `default` is None."""

    name: str
    about: str
    pattern: str | None
    default: str | None


@dataclass(frozen=True, slots=True)
class RunbookSubtask:
    """A subtask of a runbook, its parameters still open."""

    title: str
    command: str
    check: str | None
    rollback: str | None


@dataclass(frozen=True, slots=True)
class RunbookStep:
    """A step of a runbook."""

    title: str
    subtasks: tuple[RunbookSubtask, ...]


@dataclass(frozen=True, slots=True)
class RunbookAlternative:
    """What is done instead when the output of a failure matches `when`."""

    when: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunbookView:
    """A whole runbook; `prompts` are the regular expressions that it answers."""

    name: str
    summary: str
    example: str
    prompts: tuple[str, ...]
    parameters: tuple[RunbookParameter, ...]
    steps: tuple[RunbookStep, ...]
    alternatives: tuple[RunbookAlternative, ...]


def runbook_names(settings: Settings) -> tuple[str, ...]:
    """The names of every known runbook. Raises Misconfigured for a folder that cannot be read."""
    return tuple(job.id for job in _library(settings).jobs)


@act("runbook.list")
def list_runbooks(caller: Caller) -> RunbookList:
    """Every known runbook. Raises Misconfigured for a folder that cannot be read."""
    return RunbookList(tuple(_line(job) for job in _library(caller.settings).jobs))


@act("runbook.show")
def show_runbook(caller: Caller, name: str) -> RunbookView:
    """A whole runbook. Raises Rejected if there is none with that name, and Misconfigured."""
    for job in _library(caller.settings).jobs:
        if job.id == name:
            return _view(job)
    raise Rejected(
        f"there is no runbook {name!r}", stage="input", next_step=NextStep.of("runbook list")
    )


def _library(settings: Settings) -> Library:
    return read_library(settings.server.runbook_dirs)


def _line(job: RunbookJob) -> RunbookLine:
    return RunbookLine(job.id, job.summary, tuple(sorted(job.names)), job.example)


def _view(job: RunbookJob) -> RunbookView:
    return RunbookView(
        name=job.id,
        summary=job.summary,
        example=job.example,
        prompts=tuple(job.match),
        parameters=tuple(_parameter(job, name) for name in sorted(job.names)),
        steps=tuple(
            RunbookStep(step.title, tuple(_subtask(each) for each in step.subtasks))
            for step in job.steps
        ),
        alternatives=tuple(RunbookAlternative(each.when, each.reason) for each in job.revisions),
    )


def _parameter(job: RunbookJob, name: str) -> RunbookParameter:
    form = job.forms.get(name)
    about, pattern = ("", None) if form is None else (form.about, form.pattern)
    return RunbookParameter(name, about, pattern, job.parameters.get(name))


def _subtask(each: SubtaskDocument) -> RunbookSubtask:
    command = each.command or each.run or each.goal or ""
    return RunbookSubtask(each.title or first_line(command), command, each.check, each.rollback)
