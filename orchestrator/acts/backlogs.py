"""Building the steps of a session from a backlog (S2.55)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.access.audit import Act
from orchestrator.acts.agents import settle_agents
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.post import post
from orchestrator.acts.submission import Submission, settle_plan, submit_typed
from orchestrator.acts.verbs import act
from orchestrator.views import built_plans
from orchestrator.views.built_plans import Choice
from orchestrator.views.remaining import RemainingSteps, remaining_steps
from orchestrator.views.tasks import task_view
from orchestrator.views.values import RefValue
from shared.contracts.backlog import IssueDocument, load_backlog, select, steps_of
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.facts import StepsReplaced
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.plan import Plan, Step, check_subtasks
from shared.domain.task import StepPhase
from shared.secrets.sent import check_plan_secrets
from shared.store import repositories


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What a person chooses of a backlog, for a session that is open or for a new one.

    `allow` lists ids, `assign` names runners by id. One of `session` and `repository` is given;
    `settings` (`key=value`) are for a new session.
    """

    backlog: PlanText
    allow: tuple[str, ...]
    assign: Mapping[str, str]
    session: Ref | None = None
    repository: str | None = None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltStep:
    """An issue as a step; `number` is that of the step in its session."""

    issue: str
    number: int
    title: str
    runner: str | None
    depends_on: tuple[str, ...]
    check: str | None


@dataclass(frozen=True, slots=True)
class BuiltPlan:
    """The steps of a session that were chosen from a backlog.

    `ref` is None for a new session that has not been made; `applied` says whether anything was
    written.
    """

    ref: RefValue | None
    repository: str
    steps: tuple[BuiltStep, ...]
    applied: bool


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What is to be written, once everything is checked."""

    repository: str
    choice: Choice
    issues: tuple[IssueDocument, ...]
    steps: tuple[Step, ...]
    policy: Policy
    left: RemainingSteps | None = None

    def built(self, ref: Ref | None, *, applied: bool) -> BuiltPlan:
        first = 0 if self.left is None else self.left.known
        lines = (
            BuiltStep(
                issue.id,
                first + step.ordinal,
                issue.title,
                issue.runner,
                tuple(issue.depends_on),
                step.subtasks[0].check,
            )
            for issue, step in zip(self.issues, self.steps, strict=True)
        )
        return BuiltPlan(ref, self.repository, tuple(lines), applied=applied)


def preview(caller: Caller, request: BuildRequest) -> BuiltPlan:
    """What `build` would write. Raises the same errors."""
    caller.may("plan.build")
    prepared = _prepare(caller, request)
    return prepared.built(None if prepared.left is None else prepared.left.place.ref, applied=False)


@act("plan.build")
def build(caller: Caller, request: BuildRequest) -> Done[BuiltPlan]:
    """Add the chosen issues to a session as steps, or begin a new session with them.

    Everything is checked before anything is written. Raises Rejected for a backlog that is not
    valid, a choice that it does not have, an issue that the session has already or whose needs it
    lacks, and for a task that is not an open session.
    """
    prepared = _prepare(caller, request)
    if prepared.left is not None:
        return _add(caller, prepared, prepared.left)
    ref = Ref(_submit(caller, request, prepared), target=prepared.repository)
    return Done(prepared.built(ref, applied=True))


def _prepare(caller: Caller, request: BuildRequest) -> _Prepared:
    source = request.backlog.source
    issues = select(
        load_backlog(request.backlog.text, source=source), request.allow, request.assign
    )
    choice = Choice(request.backlog.name, tuple(request.allow), dict(request.assign))
    if request.session is None:
        repository = request.repository or ""
        with caller.database.begin() as connection:
            repositories.get(connection, repository)
        policy = caller.settings.with_agent([*request.settings, "deliver=true"]).agent
        return _Prepared(
            repository,
            choice,
            issues,
            _settled(caller, steps_of(issues, {}), repository),
            policy,
        )
    with caller.database.begin() as connection:
        left = remaining_steps(connection, request.session)
        task = task_view(connection, request.session)
    _require_open_session(left, task.policy)
    there = {
        step.key: step.ordinal
        for step in left.planned
        if left.state.steps[step.ordinal].phase is not StepPhase.REPLACED
    }
    _refuse_known(issues, there, left)
    steps = steps_of(issues, there, left.known)
    settled = _settled(caller, steps, left.place.target)
    return _Prepared(left.place.target, choice, issues, settled, task.policy, left)


def _settled(caller: Caller, steps: tuple[Step, ...], repository: str) -> tuple[Step, ...]:
    plan = Plan(settle_agents(caller.database, steps, [repository]))
    for step in plan.steps:
        check_subtasks(step.subtasks, where=step.key)
    check_plan_secrets(plan)
    return plan.steps


def _require_open_session(left: RemainingSteps, policy: Policy) -> None:
    place = left.place.ref
    if not policy.deliver:
        reason = f"{place} is not a session: its work does not end as deliveries"
    elif not left.state.held_open:
        reason = f"the session {place} takes no more issues: it is not open"
    else:
        return
    again = NextStep.of("plan build", help=True)
    raise Rejected(reason, stage="input", next_step=again)


def _refuse_known(
    issues: tuple[IssueDocument, ...], there: Mapping[str, int], left: RemainingSteps
) -> None:
    for issue in issues:
        if issue.id in there:
            step = left.place.step(there[issue.id])
            raise Rejected(
                f"{issue.id} is in the session already: it is {step}",
                stage="backlog",
                next_step=NextStep.of("step show", step),
            )


def _add(caller: Caller, prepared: _Prepared, left: RemainingSteps) -> Done[BuiltPlan]:
    place, written = left.place, []
    fact = StepsReplaced(left.known, (), prepared.steps, caller.actor.name)
    choice = prepared.choice
    details = {"file": choice.source, "allow": list(choice.selector), "assign": choice.assigns}
    taken = post(
        caller,
        Act("plan.build", str(place.ref), details),
        [(place.task_id, place.run_id, fact)],
        also=lambda connection: written.append(built_plans.save(connection, place.run_id, choice)),
    )
    with caller.database.begin() as connection:
        known = remaining_steps(connection, place.ref).known
        if taken and known == left.known:
            for number in written:
                built_plans.remove(connection, number)
    if taken and known == left.known:
        raise Rejected(
            f"the steps of {place.ref} have changed meanwhile: look at them, and try again",
            stage="plan",
            next_step=NextStep.of("task show", place.ref),
        )
    return Done(prepared.built(place.ref, applied=True), taken)


def _submit(caller: Caller, request: BuildRequest, prepared: _Prepared) -> int:
    prompt = f"{len(prepared.issues)} issues of {request.backlog.stem}"
    submission = Submission(
        prompt,
        (prepared.repository,),
        prepared.policy,
        Plan(prepared.steps),
        choice=prepared.choice,
    )
    settled = settle_plan(caller.database, submission)
    return submit_typed(caller, replace(settled, choice=prepared.choice))
