"""What a person may do with a task: submit it, cancel it, resume it, change its limits."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.check_warnings import CheckWarning, notes, warnings_on_plan
from orchestrator.acts.done import Done, Note
from orchestrator.acts.plan_text import PlanText, TasksText
from orchestrator.acts.plan_verdicts import TextVerdict, stop_notes, stops_of_steps
from orchestrator.acts.post import post
from orchestrator.acts.resumption import resume_task
from orchestrator.acts.rights_warnings import RightsWarning, rights_notes, warnings_on_rights
from orchestrator.acts.runbook_choice import ChosenRunbook, choose_planner
from orchestrator.acts.secret_grants import named_secrets, refuse_out_of_scope, with_secrets
from orchestrator.acts.secret_warnings import SecretWarning, secret_notes, warnings_on_secrets
from orchestrator.acts.submission import Submission, settle_plan, submit_typed
from orchestrator.acts.unused_settings import refuse_unused
from orchestrator.acts.verbs import act
from orchestrator.acts.watch import wait_until
from orchestrator.views.cancellations import Word
from orchestrator.views.tasks import TaskView, task_view
from orchestrator.views.values import RefValue
from shared.contracts.agent_tasks import AgentTasks, load_tasks
from shared.contracts.planfile import load_plan
from shared.domain.config import ASK, CHANGEABLE, Policy, Value
from shared.domain.errors import Rejected
from shared.domain.facts import CancelRequested, PolicyChanged
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.settings import Settings


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A task that a person asks for.

    `settings` are overrides of the `agent` scope (`key=value`). Without a prompt, the plan's
    summary or name stands for it. Two requests with the same `key` are one task. `plan` may be a
    file of tasks for agents. `secrets` are those that its planner may use.
    """

    prompt: str | None
    targets: tuple[str, ...]
    settings: tuple[str, ...] = ()
    plan: PlanText | None = None
    key: str | None = None
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submitted:
    """The new task, its targets, and what is to be known of a plan given by hand.

    `warnings` are about its checks, `stops` are its texts that wait for approval, `rights` says
    where it needs root and cannot have it. `secrets` are those it names that cannot be read here.
    `runbook` is the one that plans the task, if one was looked for (`planner=auto`) and fits.
    """

    ref: RefValue
    targets: tuple[str, ...]
    warnings: tuple[CheckWarning, ...] = ()
    stops: tuple[TextVerdict, ...] = ()
    rights: tuple[RightsWarning, ...] = ()
    secrets: tuple[SecretWarning, ...] = ()
    runbook: ChosenRunbook | None = None
    autonomy: str = ASK
    dry_run: bool = False


@act("task.submit")
def submit(caller: Caller, request: TaskRequest) -> Done[Submitted]:
    """Submit a task; everything is checked before anything is written.

    Raises what `submission.submit` raises, Misconfigured for a setting, and Rejected for a plan.
    """
    choice = choose_planner(
        caller.settings, request.settings, request.prompt, planned=request.plan is not None
    )
    given, told = _submission(caller.settings, replace(request, settings=choice.settings))
    given = with_secrets(given, request.secrets)
    refuse_out_of_scope(caller.database, given)
    submission = settle_plan(caller.database, given)
    warnings: tuple[CheckWarning, ...] = ()
    stops: tuple[TextVerdict, ...] = ()
    rights: tuple[RightsWarning, ...] = ()
    if submission.plan is not None:
        steps, policy = submission.plan.steps, submission.policy
        stops = stops_of_steps(caller, steps, submission.targets, policy)
        warnings = warnings_on_plan(submission.plan)
        rights = warnings_on_rights(caller, steps, submission.targets)
    secrets = warnings_on_secrets(caller.settings.server, os.environ, named_secrets(submission))
    number = submit_typed(caller, submission)
    value = Submitted(
        Ref(number),
        request.targets,
        warnings,
        stops,
        rights,
        secrets,
        choice.runbook,
        autonomy=submission.policy.autonomy,
        dry_run=submission.policy.dry_run_mode,
    )
    of_plan = (
        *notes(warnings),
        *rights_notes(rights),
        *secret_notes(secrets),
        *stop_notes(stops),
    )
    return Done(value, notes=(*choice.notes, *told, *of_plan))


def _submission(settings: Settings, request: TaskRequest) -> tuple[Submission, tuple[Note, ...]]:
    """The request with the settings that apply to it, and what a person should know of its plan."""
    policy = settings.with_agent(request.settings).agent
    if request.plan is None:
        plain = Submission(request.prompt or "", request.targets, policy, key=request.key)
        return plain, ()
    loaded = _load(request.plan, policy)
    plan = loaded.plan
    if plan.autonomy is not None:  # the plan's choice, unless the request overrides it
        wanted = [f"autonomy={plan.autonomy}", *request.settings]
        policy = settings.with_agent(wanted).agent
    refuse_unused(request.settings, plan, policy, request.plan.submission)
    prompt = request.prompt or plan.summary or request.plan.stem
    by_tasks = isinstance(request.plan, TasksText)
    submission = Submission(
        prompt, request.targets, policy, plan, request.key, needs_checks=not by_tasks
    )
    return submission, tuple(map(Note, loaded.notes))


def _load(given: PlanText, policy: Policy) -> AgentTasks:
    if isinstance(given, TasksText):
        return load_tasks(given.text, read=given.read, source=given.source)
    return AgentTasks(load_plan(given.text, policy=policy, source=given.source))


@act("task.cancel")
def cancel(caller: Caller, ref: Ref) -> Done[TaskView]:
    """Stop a task: running commands are ended, and nothing new begins.

    Raises Rejected when there is no such task, or when it has ended.
    """
    before = _task(caller, ref)
    if before.ended:
        raise Rejected(
            f"{before.ref} has already ended: it is {before.phase}",
            stage="input",
            next_step=NextStep.of("task report", before.ref),
        )
    taken = post(caller, Act("task.cancel", str(before.ref)), [(ref.task, None, CancelRequested())])
    return Done(_task(caller, ref), taken)


def await_cancellation(
    caller: Caller, ref: Ref, timeout: float, tell: Callable[[TaskView, float], None]
) -> TaskView:
    """Wait up to `timeout` seconds until every worker has reported how its command ended."""
    return wait_until(
        lambda: _task(caller, ref),
        lambda seen: seen.ended and all(each.word is not Word.AWAITED for each in seen.in_hand),
        timeout=timeout,
        tell=tell,
    )


@act("task.resume")
def resume(caller: Caller, ref: Ref, *, cost_cap: float | None = None) -> Done[TaskView]:
    """Resume after the cause was removed: counters are cleared, and what failed runs again.

    Raises what `resume_task` raises.
    """
    return resume_task(caller, "task.resume", ref, cost_cap=cost_cap)


@act("task.limit")
def limit(caller: Caller, ref: Ref, changes: Sequence[str]) -> Done[TaskView]:
    """Change limits (`key=value`) of a task under way; they apply to what it does next.

    Raises Rejected when it has ended for good, and for a setting that cannot be changed;
    Misconfigured for a value that is not valid.
    """
    before = _task(caller, ref)
    if before.phase in {"done", "cancelled"}:
        raise Rejected(
            f"{before.ref} is {before.phase}: its limits no longer matter",
            stage="input",
            next_step=NextStep.of("task report", before.ref),
        )
    limits = _limits(caller, changes, before.ref)
    entry = Act("task.limit", str(before.ref), dict(limits))
    taken = post(caller, entry, [(ref.task, None, PolicyChanged(limits))])
    return Done(_task(caller, ref), taken)


def _limits(caller: Caller, changes: Sequence[str], ref: Ref) -> dict[str, Value]:
    """The changes, each checked as a setting."""
    names = [change.partition("=")[0].strip() for change in changes]
    foreign = [name for name in names if name not in CHANGEABLE]
    if foreign:
        raise Rejected(
            f"{', '.join(foreign)} cannot be changed for a task under way; "
            f"these can: {', '.join(sorted(CHANGEABLE))}",
            stage="input",
            next_step=NextStep.of("task show", ref),
        )
    policy = caller.settings.with_agent(changes).agent
    return {name: getattr(policy, name) for name in names}


def _task(caller: Caller, ref: Ref) -> TaskView:
    with caller.database.begin() as connection:
        return task_view(connection, ref)
