"""A project in words: its completion report, as Markdown (S3.49)."""

from collections.abc import Iterator

from orchestrator.views.projects import ProjectView
from orchestrator.words.quantities import count_of
from orchestrator.words.spending import amount
from shared.contracts.project import DevTask
from shared.domain.delivery import branch_name
from shared.domain.task import TaskPhase
from shared.visible import visible


def completion_report(project: ProjectView) -> str:
    """What was delivered, how it was checked and reviewed, what was published, and the cost."""
    return "\n".join(_lines(project)).strip() + "\n"


def _lines(project: ProjectView) -> Iterator[str]:
    plan = project.plan
    yield f"# {_line(plan.project_goal)}"
    yield ""
    approved = [task for task in plan.tasks if task.status == "approved"]
    done = f"{len(approved)} of {count_of(len(plan.tasks), 'task')} approved"
    yield f"{project.ref} in repository {project.repository}: {_status(project)}, {done}."
    if project.reason and plan.status != "completed":
        yield f"Reason: {_line(project.reason)}"
    yield ""
    yield from _published(project)
    if plan.analysis is not None:
        yield "## What there was"
        yield ""
        yield visible(plan.analysis.current_state)
        yield from (f"- done before: {_line(each)}" for each in plan.analysis.already_done)
        yield from (f"- was missing: {_line(each)}" for each in plan.analysis.remaining_work)
        yield ""
    yield "## What was done"
    for task in plan.tasks:
        yield from _task(project, task)


def _status(project: ProjectView) -> str:
    """Its state (S3.46), in which a project that was cancelled has failed: people read which."""
    return project.phase if project.phase == TaskPhase.CANCELLED else project.plan.status


def _published(project: ProjectView) -> Iterator[str]:
    found = project.checkpoint
    if found is not None and found.head is not None:
        branch = branch_name(found.ref)
        where = f"{branch} of {found.remote}" if found.remote else branch
        yield f"Checkpoint {found.number}: {where} is {found.head}, verified there."
    elif project.head is not None:
        yield f"Accepted, and not published yet: {project.head}."
    else:
        yield "Nothing was accepted."
    if project.tokens:
        yield f"Models: {project.tokens} tokens, {amount(project.cost)}."
    yield ""


def _task(project: ProjectView, task: DevTask) -> Iterator[str]:
    place = project.places.get(task.id)
    yield ""
    yield f"### {_line(task.title)} ({task.id}{f', {place}' if place else ''})"
    yield ""
    attempts = f"attempt {task.attempt} of at most {task.max_attempts}" if task.attempt else ""
    yield ", ".join(filter(None, (task.status, attempts)))
    yield from (f"- criterion: {_line(each)}" for each in task.acceptance_criteria)
    if task.dev_report:
        yield f"- the developer: {_line(task.dev_report)}"
    if task.review_verdict is not None:
        reviewer = project.reviewers.get(task.id, "")
        yield f"- the reviewer{f' ({reviewer})' if reviewer else ''}: {task.review_verdict}"
    yield from (f"- rejected: {_line(each)}" for each in task.rejection_history)


def _line(text: str) -> str:
    """On one line, and nothing of it does anything to a terminal."""
    return " ".join(visible(text).split())
