"""`replan plan …`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.intervention_text import show_wanted
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import coloured, first_line, listing, plain, span
from orchestrator.cli.task_commands import outcome, read_text, resumed
from orchestrator.core.decisions import InterventionKind
from shared.domain.config import PLAN
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref

if TYPE_CHECKING:  # the views bring SQLAlchemy along: `--help` is quick
    from orchestrator.views.tasks import TaskView

group = typer.Typer(name="plan", no_args_is_help=True)

RefArgument = Annotated[str, typer.Argument(metavar="REF", help="A task: T12.")]


@add(group, "show", example="replan plan show T12")
def show_(call: Invocation, ref: RefArgument) -> Result:
    """The plan of a task as it was first, and the steps by which its planner has changed it.

    Revisions are shown by `step show`.
    """
    from orchestrator.views.plans import plan_view
    from orchestrator.views.values import author_name

    with call.database.begin() as connection:
        view = plan_view(connection, parse_ref(ref))

    def show(console: Console) -> None:
        console.print(f"[bold]{view.ref}[/] {plain(view.summary)}")
        for step in (*view.steps, *view.added):
            after = f" after {', '.join(step.depends_on)}" if step.depends_on else ""
            by = author_name(step.author)
            console.print(f"\n[bold]{step.ref}[/] {plain(step.title)} [dim]({plain(by)}{after})[/]")
            for subtask in step.subtasks:
                console.print(f"  {subtask.ordinal}. {first_line(subtask.command, 100)}")
                if subtask.check:
                    console.print(f"     [dim]check: {first_line(subtask.check, 100)}[/]")
            if not step.subtasks:
                console.print("  [yellow]its subtasks are still to be planned[/]")

    return Result("plan.show", view, show)


@add(group, "approve", example="replan plan approve T12")
def approve(
    call: Invocation,
    ref: RefArgument,
    *,
    list_only: Annotated[
        bool, typer.Option("--list", help="Only list what would be approved.")
    ] = False,
) -> Result:
    """Let a plan begin that waits for you: exactly the commands that are listed, on each host.

    What a revision changes is asked about anew. What is forbidden cannot be approved.
    """
    from orchestrator.access.audit import Act
    from orchestrator.acts.posting import post
    from orchestrator.acts.signing import Signer
    from orchestrator.cli import approving
    from orchestrator.views.approvals import in_seconds, wanted
    from orchestrator.views.places import runs_at
    from orchestrator.views.plans import stored_plan
    from orchestrator.views.tasks import task_view
    from shared.domain.approval import Scope, plan_digest
    from shared.domain.facts import PlanApproved
    from shared.store import hosts

    place = parse_ref(ref).of_task()
    with call.database.begin() as connection:
        view = task_view(connection, place)
        _refuse_unless_plan_waits(view)
        plan = stored_plan(connection, place)
        targets = [run.target for run in runs_at(connection, place)]
        named = (hosts.named(connection, target) for target in targets)
        places = [hosts.reached(connection, host) for host in named]
        policy = view.policy
        until = in_seconds(connection, policy.approval_ttl)
    guard_for = approving.guards_of(call.settings.server, policy)
    asked = approving.asked_by_plan(plan, place.task, places, guard_for)
    details = {
        "ref": str(view.ref),
        "phase": view.phase,
        "wanted": [wanted(each) for each in asked],
    }

    def show(console: Console) -> None:
        for each in asked:
            show_wanted(console, wanted(each))

    if list_only:
        command = f"replan plan approve {view.ref}"
        return Result("plan.approve", details | {"approved": False}, show, next_step_cmd=command)
    actor = call.actor.name
    given = approving.approvals_of(asked, Scope.ONCE, actor, until)
    signer = Signer(call.settings.server.data_dir)
    often = tuple(signer.sign(place.task, replace(each, scope=Scope.TASK)) for each in given)
    fact = PlanApproved(plan_digest(plan), actor, often)
    act = Act("plan.approve", str(view.ref), {"plan": fact.plan_digest})
    taken = post(call.database, [(place.task, None, fact)], call.actor, act)
    with call.database.begin() as connection:
        after = task_view(connection, place)
    if taken and any(waits.kind == InterventionKind.PLAN_APPROVAL for waits in after.interventions):
        raise Rejected(
            f"the plan of {after.ref} is another one by now: look at it again",
            stage="plan",
            next_step_cmd=f"replan plan approve {after.ref} --list",
        )
    return outcome("plan.approve", details | {"phase": after.phase, "approved": taken}, taken=taken)


def _refuse_unless_plan_waits(task: "TaskView") -> None:
    if any(waits.kind == InterventionKind.PLAN_APPROVAL for waits in task.interventions):
        return
    how = "approved already" if task.policy.autonomy == PLAN else "not to be approved first"
    raise Rejected(
        f"the plan of {task.ref} does not wait for an approval: the task is {task.phase}"
        + (f", and its plan {how}" if task.steps_planned else ""),
        stage="plan",
        next_step_cmd=f"replan task show {task.ref}",
    )


@add(group, "resume", example="replan plan resume T12")
def resume(call: Invocation, ref: RefArgument) -> Result:
    """Go on with a plan after the cause was removed: the same as `task resume`."""
    from orchestrator.acts.resuming import resume_plan

    done = resume_plan(call.database, ref, call.actor)
    return resumed("plan.resume", done, dict(done.body))


@add(group, "provide", example="replan plan provide T12 --file plan.yaml")
def provide(
    call: Invocation,
    ref: RefArgument,
    *,
    file: Annotated[Path, typer.Option(help="The plan.")],
) -> Result:
    """Give the plan of a task that waits for a person to plan it."""
    from orchestrator.access.audit import Act
    from orchestrator.acts.posting import post
    from orchestrator.acts.secret_names import check_plan
    from orchestrator.views.tasks import task_view
    from shared.contracts.planfile import load_plan
    from shared.domain.facts import PlanDrafted

    place = parse_ref(ref)
    with call.database.begin() as connection:
        view = task_view(connection, place)
    policy = view.policy
    plan = load_plan(read_text(file), policy=policy, source=str(file))
    check_plan(plan)
    if plan.autonomy not in {None, policy.autonomy}:
        raise Rejected(
            f"{file} wants autonomy {plan.autonomy}, and {view.ref} was submitted with "
            f"{policy.autonomy}, which stays: leave it out",
            stage="plan",
            next_step_cmd=f"replan task show {view.ref}",
        )
    if view.phase != "waiting" or any(run.phase != "not_started" for run in view.runs):
        raise Rejected(
            f"{view.ref} does not wait for a plan: it is {view.phase}",
            stage="input",
            next_step_cmd=f"replan task show {view.ref}",
        )
    act = Act("plan.provide", str(view.ref), {"file": file.name})
    taken = post(call.database, [(place.task, None, PlanDrafted(plan))], call.actor, act)
    with call.database.begin() as connection:
        after = task_view(connection, place)
    return outcome("plan.provide", {"ref": str(after.ref), "phase": after.phase}, taken=taken)


@add(group, "calls", example="replan plan calls T12")
def calls(
    call: Invocation, ref: Annotated[str, typer.Argument(metavar="REF", help="T12, or T12.2.")]
) -> Result:
    """What models were asked for a task or a step: tokens, cost, and how each call ended."""
    from orchestrator.views.spending import calls_of

    with call.database.begin() as connection:
        found = calls_of(connection, parse_ref(ref))

    def show(console: Console) -> None:
        rows = [
            (
                str(c.id),
                c.ref,
                plain(c.role),
                plain(c.model),
                str(c.input_tokens + c.cache_read_tokens + c.cache_written_tokens),
                str(c.output_tokens),
                "?" if c.cost is None else f"${c.cost:.4f}",
                span(c.seconds),
                coloured(plain(c.error or c.stop_reason or ("at it" if not c.ended_at else ""))),
                first_line(c.reason, 60),
            )
            for c in found.calls
        ]
        heads = ("call", "for", "role", "model", "in", "out", "cost", "took", "ended", "")
        console.print(listing(heads, rows) if rows else "no model was asked")

    return Result("plan.calls", found, show, items=found.calls)


@add(group, "replay", example="replan plan replay T12 --step 2 --model claude-opus-5-5")
def replay(
    call: Invocation,
    ref: RefArgument,
    *,
    model: Annotated[str, typer.Option(help="The model that is asked now.")],
    step: Annotated[
        int | None, typer.Option(min=1, help="What was asked last for that step.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--call", min=1, help="One call, as `plan calls` numbers them.")
    ] = None,
) -> Result:
    """Ask another model what was asked for a task, and see both answers; nothing follows from it.

    The kept question is asked as it was; the call is paid for, and counts towards the caps.
    """
    from orchestrator.probes.models import replayed
    from orchestrator.views.spending import to_replay

    place = replace(parse_ref(ref).of_task(), step=step)
    with call.database.begin() as connection:
        chosen = to_replay(connection, place, number)
    answers = replayed(chosen, model, call.config_file)

    def show(console: Console) -> None:
        for name in ("kept", "replayed"):
            console.print(f"\n[bold]{plain(answers[name]['model'])}[/] ({name})")
            console.print(plain(readable(answers[name]["answer"])), highlight=False)
        if answers["replayed"]["fault"]:
            console.print(f"[yellow]{plain(answers['replayed']['fault'])}[/]")
        used = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in usage.items())
        console.print(f"\n{used}", highlight=False)

    usage = answers["usage"]
    return Result("plan.replay", {"ref": str(place), **answers}, show)


def readable(answer: str) -> str:
    """An answer with one thing a line, where it is JSON."""
    try:
        return json.dumps(json.loads(answer), indent=2, ensure_ascii=False)
    except ValueError:
        return answer
