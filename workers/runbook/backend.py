"""The planner backend that answers from the library."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from shared.contracts.origin import Origin
from shared.contracts.planfile import plan_in, revision_in
from shared.domain.author import Author, PlanningRole
from shared.domain.bundle import Bundle
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import Blank, NextStep
from shared.domain.outcome import GREEN
from shared.domain.plan import Plan, Recovery, Subtask
from shared.runbook.entries import Alternative, is_plain
from shared.runbook.library import read_library
from shared.runbook.template import fill, parameters_in
from workers.planning import (
    DetailRequest,
    PlanRequest,
    ProjectDraft,
    ReplanRequest,
    RetryAdvice,
    ReviseRequest,
    RevisionDraft,
)

PLAN_BY_HAND = NextStep.of("plan provide", Blank("TASK"), file=Blank("plan.yaml"))
"""For a task that waits for a plan; the failure report fills in TASK."""

PROJECT_BY_MODEL = NextStep.of(
    "project start", Blank("GOAL", text=True), repo=Blank("NAME"), planner="anthropic"
)
"""For a goal that no library knows."""

_GREEN = frozenset(outcome.value for outcome in GREEN)

_Open = tuple[Alternative, frozenset[str], dict[str, str]]
"""An alternative, the names of its job's parameters, and their values."""


class RunbookBackend:
    """Answers for the planning roles from recorded runbooks, without a model or a network."""

    uses_facts = False

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._library = read_library(folders)

    def refine(self, request: PlanRequest) -> str:  # noqa: ARG002 - the port's signature
        """Always raises: a library cannot improve prompts."""
        raise Misconfigured(
            "the runbook backend cannot improve prompts",
            stage="refine",
            next_step=NextStep.of("task submit", Blank("PROMPT"), set="taskmaster_enabled=false"),
        )

    def advise(self, request: ReviseRequest) -> RetryAdvice:  # noqa: ARG002 - the port's signature
        """Always raises: a library gives no advice, so the count alone decides."""
        raise Rejected("the runbook library gives no advice on another try", stage="advise")

    def plan(self, request: PlanRequest) -> Plan:
        """The steps of the job that the prompt asks for, including their subtasks.

        Raises Rejected if the library has no such job.
        """
        found = self._library.find_job(request.prompt)
        if found is None:
            known = ", ".join(job.id for job in self._library.jobs) or "none"
            raise Rejected(
                f"the runbook library knows no job for {request.prompt!r}; it knows {known}",
                stage="plan",
                next_step=PLAN_BY_HAND,
            )
        job, parameters = found
        origin = Origin(f"job {job.id} of the library", "plan", PLAN_BY_HAND)
        document = job.document()
        lacking = job.missing(parameters)
        if lacking is not None:
            raise origin.error(lacking)
        document = fill(document, parameters)
        plan = plan_in(document, policy=request.policy, origin=origin)
        author = Author(PlanningRole.PLANNER, "runbook")
        steps = tuple(replace(step, author=author, recovery=Recovery.REPLAN) for step in plan.steps)
        return replace(plan, steps=steps)

    def project(self, request: PlanRequest) -> ProjectDraft:
        """The analysis and the tasks of the project that the goal asks for.

        Raises Rejected if the library has no such project.
        """
        found = self._library.find_project(request.prompt)
        if found is None:
            known = ", ".join(project.id for project in self._library.projects) or "none"
            raise Rejected(
                f"the runbook library knows no project for {request.prompt!r}; it knows {known}",
                stage="plan",
                next_step=PROJECT_BY_MODEL,
            )
        answer = found.answer()
        project = answer.project(request.prompt, request.policy.max_delivery_attempts)
        return ProjectDraft(project, answer.plan(Author(PlanningRole.PLANNER, "runbook")))

    def detail(self, request: DetailRequest) -> tuple[Subtask, ...]:
        """The recorded subtasks of a step of a known job."""
        plan = self.plan(PlanRequest(request.prompt, request.targets, request.policy))
        for step in plan.steps:
            if request.step.key in {step.key, step.title}:
                return step.subtasks
        raise Rejected(
            f"the runbook library has no step {request.step.key!r} for this task",
            stage="detail",
            next_step=PLAN_BY_HAND,
        )

    def revise(self, request: ReviseRequest) -> RevisionDraft:
        """The first recorded alternative that matches the evidence and has not been tried.

        Raises Rejected if there is none.
        """
        output = _output(request.bundle)
        for alternative, names, parameters in self._alternatives(request):
            groups = alternative.found_in(output)
            if groups is None:
                continue
            values = {**parameters, **groups}
            if not _can_be_filled(alternative, names, values):
                continue
            subtasks = _subtasks(alternative, values, request)
            if not _was_tried(subtasks, request):
                return RevisionDraft(subtasks, alternative.reason)
        raise Rejected(
            f"the runbook library has no further alternative for the failure of step "
            f"{request.step.ordinal}",
            stage="revise",
            next_step=_revise_by_hand(request),
        )

    def replan(self, request: ReplanRequest) -> Plan:
        """Always raises: a library has only one plan for a task."""
        raise Rejected(
            "the runbook library has no other plan for the remaining steps",
            stage="replan",
            next_step=NextStep.of("step revise", request.bundle.step_ref, file=Blank("FILE")),
        )

    def _alternatives(self, request: ReviseRequest) -> list[_Open]:
        bundle = request.bundle
        found = self._library.find_job(bundle.improved_prompt or bundle.prompt)
        listed: list[_Open] = []
        if found is not None:
            job, parameters = found
            listed += [
                (alternative, job.names, parameters)
                for alternative in job.revisions
                if alternative.step in {None, request.step.key}
            ]
        return listed + [(alternative, frozenset(), {}) for alternative in self._library.revisions]


def _can_be_filled(alternative: Alternative, names: frozenset[str], values: dict[str, str]) -> bool:
    """Whether each of its parameters has a plain value: hosts print what they like."""
    used = parameters_in(alternative.document(), names | alternative.names)
    return all(name in values and is_plain(values[name]) for name in used)


def _revise_by_hand(request: ReviseRequest) -> NextStep:
    return NextStep.of("step revise", request.bundle.step_ref, file=Blank("FILE"))


def _output(bundle: Bundle) -> str:
    """The output of all failed attempts."""
    return "\n".join(
        f"{attempt.stdout}\n{attempt.stderr}\n{attempt.check_output}"
        for attempt in bundle.attempts
        if attempt.outcome not in _GREEN
    )


def _subtasks(
    alternative: Alternative, parameters: dict[str, str], request: ReviseRequest
) -> tuple[Subtask, ...]:
    origin = Origin("an alternative of the library", "revise", _revise_by_hand(request))
    document = fill(alternative.document(), parameters)
    return revision_in(document, policy=request.policy, origin=origin)


def _was_tried(subtasks: Sequence[Subtask], request: ReviseRequest) -> bool:
    """Whether these commands are those of the current revision or an earlier one."""
    commands = [subtask.command for subtask in subtasks]
    if commands == [subtask.command for subtask in request.subtasks]:
        return True
    return any(
        commands == [subtask.command for subtask in revision.subtasks]
        for revision in request.earlier
    )
