"""`replan task …`."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.acts.plan_text import PlanText, TasksText
from orchestrator.cli.agent_text import show_agents
from orchestrator.cli.completion import hosts, planners, task_settings, tasks
from orchestrator.cli.files import beside, read_text
from orchestrator.cli.follow_option import FollowOption, then_follow
from orchestrator.cli.intervention_text import show_in_hand, show_waiting
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import post_answer, resume_answer, tell_notes, with_notes
from orchestrator.cli.reply import Result
from orchestrator.cli.submit_options import settings_of
from orchestrator.cli.tables import (
    AFTER,
    first_line,
    in_colour,
    listing,
    minute,
    moment,
    next_step,
    plain,
    show_markdown,
    span,
    tell_rest,
)
from orchestrator.cli.task_logs import register as register_logs
from shared.domain.config import BACKENDS
from shared.domain.errors import Rejected
from shared.domain.host import LOCALHOST
from shared.domain.ids import Ref, parse_ref
from shared.domain.next_step import Blank, NextStep

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.views.tasks import RunView

group = typer.Typer(name="task", no_args_is_help=True)

RefArgument = Annotated[
    str, typer.Argument(metavar="REF", help="A task: T12, or T12@web1.", autocompletion=tasks)
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until workers report how it ended.")]
TimeoutOption = Annotated[
    float, typer.Option(min=0.1, max=86_400, help="Seconds to wait with --wait.")
]


@add(
    group,
    "submit",
    example='replan task submit "install nginx" --local --planner runbook --dry-run',
)
def submit(
    call: Invocation,
    prompt: Annotated[str | None, typer.Argument(help="What you want to achieve.")] = None,
    *,
    host: Annotated[
        list[str] | None, typer.Option(help="A target host; repeatable.", autocompletion=hosts)
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="On the executor's own machine.")] = False,
    plan: Annotated[Path | None, typer.Option(help="A plan file.")] = None,
    tasks: Annotated[
        Path | None, typer.Option(help="A file of tasks for coding agents, as the plan.")
    ] = None,
    planner: Annotated[
        str | None,
        typer.Option(
            help=f"The planner: {', '.join(BACKENDS)}; auto: a runbook that fits, or the set one.",
            autocompletion=planners,
        ),
    ] = None,
    autonomy: Annotated[
        str | None,
        typer.Option(help="How much runs without you: ask, auto or plan."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A setting for this task: key=value.", autocompletion=task_settings
        ),
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option(help="A secret that its planner may use; repeatable.")
    ] = None,
    taskmaster: Annotated[
        bool | None,
        typer.Option("--taskmaster/--no-taskmaster", help="Improve the prompt first."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; predict each subtask.")
    ] = False,
    key: Annotated[
        str | None, typer.Option(help="Submissions with the same key are one task.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Watch the task; the exit code says how it ends.")
    ] = False,
) -> Result:
    """Submit a task. Everything is checked before anything is written."""
    from orchestrator.acts.tasks import TaskRequest
    from orchestrator.acts.tasks import submit as submit_task
    from orchestrator.cli.follow import follow, offered_notes

    request = TaskRequest(
        prompt,
        targets=(*(host or ()), *((LOCALHOST.name,) if local else ())),
        settings=settings_of(set_, planner, autonomy, taskmaster=taskmaster, dry_run=dry_run),
        plan=_plan_of(plan, tasks),
        key=key,
        secrets=tuple(secret or ()),
    )
    done = submit_task(call.caller, request)
    submitted = done.value
    ref = submitted.ref
    if wait and call.human:
        tell_notes(call.complaints, done, but=offered_notes(call, submitted))
        return follow(call, ref, ahead=request.plan is not None)
    if wait:
        return with_notes(follow(call, ref), done)
    answer = Result(
        "task.submit",
        submitted,
        lambda console: _show_submission(console, ref),
        next_step=NextStep.of("task watch", ref),
    )
    return with_notes(answer, done)


@add(group, "list", example="replan task list --phase waiting")
def list_(
    call: Invocation,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    phase: Annotated[str | None, typer.Option(help="Only tasks in this phase.")] = None,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of this repository or host.")
    ] = None,
) -> Result:
    """List the newest tasks."""
    from orchestrator.views.task_lists import list_tasks
    from orchestrator.words.failures import why_listed
    from orchestrator.words.spending import amount
    from shared.domain.task import TaskPhase

    known = [each.value for each in TaskPhase]
    if phase is not None and phase not in known:
        reason = f"{phase!r} is not a valid phase; use one of {', '.join(known)}"
        raise Rejected(reason, stage="input", next_step=NextStep.of("task list"))
    with call.reading() as connection:
        found = list_tasks(
            connection,
            limit=limit,
            phase=None if phase is None else TaskPhase(phase),
            after=after,
            target=project,
        )
    rest = NextStep.of("task list", limit=limit, phase=phase, after=found.next, project=project)
    further = None if found.next is None else rest

    def show(console: Console) -> None:
        if not found.tasks:
            console.print("no tasks yet")
            next_step(console, NextStep.of("task submit", Blank("…", text=True), local=True))
            return
        costs = ("cost",) if any(t.tokens for t in found.tasks) else ()
        rows = [
            (
                t.ref,
                in_colour(t.phase) + _mark(dry_run=t.dry_run),
                ", ".join(map(plain, t.targets)),
                minute(t.created_at),
                span(t.seconds),
                *((amount(t.cost) if t.tokens else "",) if costs else ()),
                first_line(t.prompt, 60)
                + (f"\n[dim]{plain(why)}[/]" if (why := why_listed(t)) else ""),
            )
            for t in found.tasks
        ]
        console.print(listing(("task", "phase", "on", "submitted", "took", *costs, "prompt"), rows))
        tell_rest(console, further)

    return Result("task.list", found, show, items=found.tasks, next_step=further)


def _mark(*, dry_run: bool) -> str:
    return ", dry run" if dry_run else ""


@add(group, "show", example="replan task show T12")
def show_(call: Invocation, ref: RefArgument) -> Result:
    """Show a task: its runs, its steps, and what waits for you."""
    from orchestrator.views.stalls import untaken_work
    from orchestrator.views.tasks import task_view
    from orchestrator.words.failures import why_it_stops
    from orchestrator.words.messages import message_of
    from orchestrator.words.postponed import describe as describe_postponed
    from orchestrator.words.spending import summary_lines

    with call.reading() as connection:
        view = task_view(connection, parse_ref(ref))
        untaken = [] if view.ended else [*untaken_work(connection, view.ref.task)]

    explained = {str(each.ref) for each in view.interventions}

    def show(console: Console) -> None:
        phase = in_colour(view.phase) + _mark(dry_run=view.policy.dry_run_mode)
        console.print(f"[bold]{view.ref}[/] {phase}  {plain(view.prompt)}")
        if why := why_it_stops(view):
            console.print(f"  [red]{plain(why)}[/]", highlight=False)
        if view.improved_prompt:
            console.print(f"  improved: {plain(view.improved_prompt)}")
        for reply in view.replies:
            console.print(f"  asked: {plain(reply.question)} – {plain(reply.answer)}")
        if view.context.error_info is not None:
            console.print(f"  [red]{plain(view.context.error_info.message)}[/]")
        ended = f"  ended {moment(view.ended_at)}" if view.ended_at else ""
        console.print(f"  submitted {moment(view.created_at)}{ended}")
        for run in view.runs:
            console.print(f"\n[bold]{run.ref}[/] {in_colour(run.phase)} {plain(run.reason)}")
            _show_steps(console, run, explained)
        if view.agents:
            console.print("\n[bold]agents[/]")
            show_agents(console, view.agents)
        for line in (
            *(f"{ref} its planner looks at a host" for ref in view.looking),
            *(f"{each.ref} {describe_postponed(each)}" for each in view.put_off),
            *summary_lines(view.spending),
        ):
            console.print(plain(line), highlight=False)
        for message in filter(None, map(message_of, untaken)):
            console.print(f"[yellow]{plain(message.text)}[/]", highlight=False)
        show_in_hand(console, view.in_hand)
        show_waiting(console, view.interventions)

    return Result("task.show", view, show)


def _show_steps(console: Console, run: "RunView", explained: Collection[str]) -> None:
    """The steps of a run, then why each stands still, but for those that are explained below."""
    from orchestrator.words.failures import why_it_stands

    rows = [
        (
            step.ref,
            in_colour(step.phase),
            "to detail" if step.bare else f"{step.done}/{step.subtasks}",
            f"{step.errors}/{step.threshold}",
            str(step.revision),
            plain(step.author),
            plain(step.title) + (f" (in {plain(step.repository)})" if step.repository else ""),
        )
        for step in run.steps
    ]
    console.print(listing(("step", "phase", "done", "errors", "revision", "planned by", ""), rows))
    for step in run.steps:
        if (why := why_it_stands(step)) and str(step.ref) not in explained:
            console.print(f"  {step.ref}: {plain(why)}", highlight=False)


@add(group, "watch", example="replan task watch T12")
def watch(call: Invocation, ref: RefArgument) -> Result:
    """Follow a task until it has ended or waits for you; the exit code says which."""
    from orchestrator.cli.follow import follow

    return follow(call, parse_ref(ref))


@add(group, "cancel", example="replan task cancel T12 --wait")
def cancel(
    call: Invocation, ref: RefArgument, *, wait: WaitOption = False, timeout: TimeoutOption = 30.0
) -> Result:
    """Stop a task: running commands are ended, and nothing new begins.

    With --wait it reports how each command ended and exits with 1 if one may still be running.
    """
    from orchestrator.acts.tasks import cancel as cancel_task
    from orchestrator.cli.await_cancel import await_task, cancel_answer

    place = parse_ref(ref)
    done = cancel_task(call.caller, place)
    return await_task(call, place, timeout) if wait and done.taken else cancel_answer(done)


@add(group, "resume", example="replan task resume T12")
def resume(
    call: Invocation,
    ref: RefArgument,
    *,
    cost_cap: Annotated[
        float | None,
        typer.Option(
            min=0, max=100_000, help="What models may cost for it, in dollars; 0 means no cap."
        ),
    ] = None,
    wait: FollowOption = False,
) -> Result:
    """Resume after the cause was removed: counters are cleared, and what failed runs again.

    With --cost-cap a task may cost more from now on, in any phase; a task that waits for that
    continues from where it was.
    """
    from orchestrator.acts.tasks import resume as resume_task
    from orchestrator.cli.answers import Place

    done = resume_task(call.caller, parse_ref(ref), cost_cap=cost_cap)
    answer = resume_answer("task.resume", Place(done.value.ref, done.value.phase), done)
    return then_follow(call, answer, done.value.ref.task) if wait else answer


@add(group, "limit", example="replan task limit T12 max_retry_count=5")
def limit(
    call: Invocation,
    ref: RefArgument,
    changes: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="The limits.")],
) -> Result:
    """Change limits of a task under way; they apply to what it does next.

    This runs nothing: use `task resume` to continue what already waits.
    """
    from orchestrator.acts.tasks import limit as limit_task
    from orchestrator.cli.answers import Limits

    done = limit_task(call.caller, parse_ref(ref), changes)
    now = {
        name: getattr(done.value.policy, name)
        for name in (c.partition("=")[0].strip() for c in changes)
    }
    details = Limits(done.value.ref, done.value.phase, now)
    return post_answer("task.limit", details, taken=done.taken)


@add(group, "report", example="replan task report T12 > report.md")
def report(call: Invocation, ref: RefArgument) -> Result:
    """Print what was done, which errors occurred and what was decided (Markdown)."""
    from orchestrator.views.report import report as compile_report
    from orchestrator.words.report import markdown

    with call.reading() as connection:
        compiled = compile_report(connection, parse_ref(ref))

    def show(console: Console) -> None:
        show_markdown(console, markdown(compiled))

    signed = NextStep.of("attestation create", compiled.task.ref)
    return Result("task.report", compiled, show, next_step=signed if compiled.task.ended else None)


@add(group, "export", example="replan task export T12 --as runbook --output runbooks/site.yaml")
def export(
    call: Invocation,
    ref: RefArgument,
    *,
    form: Annotated[str, typer.Option("--as", help="The format: runbook.")] = "runbook",
    file: Annotated[
        Path | None, typer.Option("--output", help="A new file; the default is to print.")
    ] = None,
) -> Result:
    """Turn a finished task into a runbook that does the same job without a model."""
    from orchestrator.cli.export_file import export_task

    return export_task(call, parse_ref(ref), form, file)


register_logs(group)


def _plan_of(plan: Path | None, tasks: Path | None) -> PlanText | None:
    """The plan in one of the two files."""
    if plan is not None and tasks is not None:
        raise Rejected(
            "--plan and --tasks both give the plan of a task: leave one of them out",
            stage="input",
            next_step=NextStep.of("task submit", tasks=tasks, host=Blank("NAME")),
        )
    if tasks is not None:
        return TasksText(read_text(tasks), str(tasks), beside(tasks))
    return None if plan is None else PlanText(read_text(plan), str(plan))


def _show_submission(console: Console, ref: Ref) -> None:
    console.print(f"submitted as [bold]{ref}[/]")
    next_step(console, NextStep.of("task watch", ref))
