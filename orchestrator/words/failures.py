"""Why something stands still, in one line: the cause in its own words, and what it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.words.quantities import brief
from shared.domain.outcome import Outcome
from shared.domain.task import TaskPhase

if TYPE_CHECKING:  # a list of tasks needs none of what a whole task is made of
    from orchestrator.views.failures import Failure
    from orchestrator.views.interventions import InterventionView
    from orchestrator.views.steps import StepLine
    from orchestrator.views.task_lists import TaskLine
    from orchestrator.views.tasks import TaskView

_CAUSE = 160
_TITLE = 40
_COMMAND = 60


def cause(failure: Failure) -> str:
    """The failing program's own words; where it has none, how it ended."""
    return brief(failure.said, _CAUSE) if _speaks(failure) else ending(failure)


def describe_failure(failure: Failure) -> str:
    """The cause, and what it was: which subtask, how it ended, and its command."""
    title = brief(failure.title, _TITLE)
    command = brief(failure.command, _COMMAND)
    named = f" {title}" if title and title != brief(failure.command, _TITLE) else ""
    undone = ", rollback" if failure.rollback else ""
    how = f", {ending(failure)}" if _speaks(failure) else ""
    return f"{cause(failure)} ({replace(failure.ref, attempt=None)}{named}{undone}{how}: {command})"


def describe_before(failure: Failure) -> str:
    """How a command ended that is asked for again, with its attempt."""
    said = f": {brief(failure.said, _CAUSE)}" if _speaks(failure) else ""
    return f"{ending(failure)}{said} ({failure.ref})"


def ending(failure: Failure) -> str:
    """How the command ended."""
    coded = describe_codes(failure.outcome, failure.exit_code, failure.check_exit_code)
    return coded or brief(failure.reason, _CAUSE) or failure.outcome.value.replace("_", " ")


def describe_codes(outcome: str, exit_code: int | None, check_exit_code: int | None) -> str:
    """What the exit codes of a command or its check say of its end; empty if they say nothing."""
    if outcome == Outcome.FAILED and exit_code is not None:
        return f"exit code {exit_code}"
    if outcome == Outcome.CHECK_FAILED and check_exit_code is not None:
        return f"its check is red, exit code {check_exit_code}"
    return ""


def why_it_waits(view: InterventionView) -> str:
    """The first line of an intervention: the cause if a command failed, else its reason.

    What would run again and failed before says so.
    """
    if view.failure is not None:
        return describe_failure(view.failure)
    again = (each.failed_before for each in view.wanted)
    before = [f"ran before, {describe_before(each)}" for each in again if each is not None]
    return " – ".join(filter(None, (view.reason, *before[:1])))


def why_it_stops(view: TaskView) -> str:
    """The first line of a task: what it waits for, the cause if a command failed, or its reason.

    Empty where nothing is wrong.
    """
    if view.phase is TaskPhase.DONE:
        return view.reason
    failed = first_failure(view)
    told = view.reason if failed is None else describe_failure(failed)
    return next((why_it_waits(each) for each in view.interventions), told)


def first_failure(view: TaskView) -> Failure | None:
    """The failure of the first of its steps that has one."""
    failed = (step.failure for run in view.runs for step in run.steps)
    return next((each for each in failed if each is not None), None)


def why_listed(line: TaskLine) -> str:
    """The cause of a task in a list, in short."""
    if line.failure is None:
        return line.reason
    how = f", {ending(line.failure)}" if _speaks(line.failure) else ""
    return f"{cause(line.failure)} ({replace(line.failure.ref, attempt=None)}{how})"


def why_it_stands(step: StepLine) -> str:
    """Why a step is where it is: the cause if a command failed, else its reason."""
    return step.reason if step.failure is None else cause(step.failure)


def reasons(step: StepLine) -> list[str]:
    """Why a step is where it is, the cause first, then what it has come to."""
    failed = [] if step.failure is None else [describe_failure(step.failure)]
    return [*failed, *filter(None, (step.reason,))]


def _speaks(failure: Failure) -> bool:
    """Whether its output says why: of a command that was stopped it says what it did before."""
    return bool(failure.said) and failure.outcome is not Outcome.TIMED_OUT
