"""A person's approval: who gives it, for exactly what, and what cannot be approved."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.interventions import InterventionView
from shared.domain.agent import AgentWork
from shared.domain.approval import (
    Approval,
    ApprovalRequest,
    ApprovalScope,
    Subject,
    SubtaskPart,
    SubtaskPlace,
)
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.plan import Step
from shared.domain.verdict import ALLOWED, Verdict
from shared.guard import Guard, PlanGuard, load_site
from shared.secrets.sent import as_sent, rollback_as_sent, variables_in
from shared.settings import ServerSettings
from shared.store.targets import Place

GuardFor = Callable[[str], Guard]
"""The guard of the host of that name."""

POLICY_CMD = NextStep.of("guard rules")


def guards_of(server: ServerSettings, policy: Policy) -> GuardFor:
    """The guards that judge a task's commands, by the name of the host.

    Raises Misconfigured when the site's policy cannot be used.
    """
    site = load_site(server.guard_policy)
    return lambda host: Guard(site.for_host(host, policy.forbidden_commands))


def require_approvable(view: InterventionView) -> None:
    """Raise Rejected unless the intervention waits for a person to approve what would run."""
    if view.closed_at is not None:
        raise too_late(view)
    if view.kind == InterventionKind.BLOCKED:
        raise Rejected(
            f"{view.name} is about a forbidden command, which cannot be approved: {view.reason}; "
            "change the command of the step, or the rule in the policy",
            stage="guard",
            next_step=view.next_step,
        )
    if view.kind == InterventionKind.PLAN_APPROVAL:
        raise Rejected(
            f"{view.name} is about a whole plan: approve it as a whole, or replace it",
            stage="input",
            next_step=view.next_step,
        )
    if not view.approvable:
        raise Rejected(
            f"{view.name} does not say what it would run: it waits because of "
            f"{view.kind.replace('_', ' ')}",
            stage="input",
            next_step=view.next_step,
        )


def too_late(view: InterventionView) -> Rejected:
    """The error for an intervention that is closed, with the answer that it got."""
    what = "is no longer waiting"
    if view.answer:
        by = f" by {view.answered_by}" if view.answered_by else ""
        what = f"has already been answered: {view.answer}{by}"
    return Rejected(
        f"{view.name} {what}",
        stage="input",
        next_step=NextStep.of("intervention show", view.name),
    )


def refuse_forbidden(asked: Iterable[ApprovalRequest], guard_for: GuardFor) -> None:
    """Raise Rejected when the guard now forbids one of the texts: it cannot be approved."""
    for each in asked:
        if each.subject.work is not None:
            continue  # a goal in words, which no shell reads
        verdict = guard_for(each.subject.host.name).judge(each.subject.command)
        if verdict.denied:
            raise _forbidden(each.subject, verdict)


def approvals_of(
    asked: Iterable[ApprovalRequest], scope: ApprovalScope, by: str, expires_at: datetime
) -> tuple[Approval, ...]:
    """A person's approval of each: once where it stands, or wherever the task has the same bytes.

    An approval is valid once it is signed.
    """
    subjects = (each.subject for each in asked)
    wanted = (s if scope is ApprovalScope.ONCE else s.anywhere() for s in subjects)
    digests = dict.fromkeys(subject.digest for subject in wanted)
    return tuple(Approval(digest, scope, by, expires_at) for digest in digests)


def often(given: Iterable[Approval]) -> tuple[Approval, ...]:
    """The same approvals, each valid whenever its place comes up again: in every pass."""
    return tuple(replace(each, scope=ApprovalScope.TASK) for each in given)


@dataclass(frozen=True, slots=True)
class PlacedSteps:
    """Steps of a plan, and the place where they happen."""

    place: Place
    steps: tuple[Step, ...]


def texts_to_approve(
    placed: Iterable[PlacedSteps], task: int, guard_for: GuardFor
) -> tuple[ApprovalRequest, ...]:
    """Everything that a plan would run and a person has to see, at every place.

    That is every command with its rollback, and the checks and preconditions that the guard does
    not allow by itself. Raises Rejected when the plan contains something forbidden.
    """
    listed = [(group.place, tuple(_texts(group.steps))) for group in placed]
    commands: dict[str, list[str]] = {}
    for place, texts in listed:
        run = (
            text
            for each in texts
            if each.work is None
            for text in (each.text, each.rollback)
            if text
        )
        commands.setdefault(place.host.name, []).extend(run)
    found: list[ApprovalRequest] = []
    for place, texts in listed:
        guard = PlanGuard(guard_for(place.host.name), commands[place.host.name], start=place.start)
        for each in texts:
            verdict = ALLOWED if each.work is not None else guard.judge(each.text)
            subject = each.subject(task, place, guard.version)
            undoing = guard.judge(each.rollback) if each.rollback else ALLOWED
            if verdict.denied or undoing.denied:
                raise _forbidden(subject, verdict if verdict.denied else undoing)
            if not verdict.allowed or each.part is SubtaskPart.COMMAND:
                what = "a command" if each.work is None else "the goal of an agent"
                reason = verdict.reason or f"{what} of the plan"
                rule, piece = verdict.rule, verdict.part
                request = ApprovalRequest(each.part, subject, rule, reason, piece, each.rollback)
                found.append(request)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a plan, with its place; with `work` it is the goal of an agent.

    `rollback` undoes a command.
    """

    place: SubtaskPlace
    part: SubtaskPart
    text: str
    work: AgentWork | None
    rollback: str = ""

    def subject(self, task: int, place: Place, policy: str) -> Subject:
        return Subject(
            task,
            self.place,
            self.text,
            place.host,
            policy,
            environment=variables_in(self.text) if self.work is None else (),
            repository=place.repository,
            work=self.work,
        )


def _texts(steps: Iterable[Step]) -> Iterator[_Text]:
    """Every text that the steps send to a host, in the bytes that reach the host."""
    for step in steps:
        for subtask in step.subtasks:
            place = SubtaskPlace(step.ordinal, 0, subtask.ordinal)
            for part, text in as_sent(subtask).texts():
                if part is not SubtaskPart.COMMAND:
                    yield _Text(place, part, text, None)
                    continue
                undo = "" if subtask.rollback is None else rollback_as_sent(subtask).command
                yield _Text(place, part, text, subtask.agent, undo)


def _forbidden(subject: Subject, verdict: Verdict) -> Rejected:
    place = subject.place
    step, subtask = (None, None) if place is None else (place.step, place.subtask)
    ref = Ref(subject.task, step, subtask, target=subject.host.name)
    return Rejected(
        f"{ref} is forbidden and cannot be approved: {verdict.reason} (rule {verdict.rule}); "
        "change the command of the step, or the rule in the policy",
        stage="guard",
        next_step=POLICY_CMD,
    )
