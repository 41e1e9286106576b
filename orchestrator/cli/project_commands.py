"""`replan project …`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import task_settings, tasks
from orchestrator.cli.intervention_text import show_waiting
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import unread_answer, with_notes
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import (
    AFTER,
    first_line,
    in_colour,
    listing,
    moment,
    next_step,
    plain,
    show_markdown,
    tell_rest,
)
from shared.domain.config import BACKENDS
from shared.domain.ids import parse_ref
from shared.domain.next_step import Blank, NextStep

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.acts.done import Done
    from orchestrator.views.projects import ProjectView

group = typer.Typer(name="project", no_args_is_help=True)

RefArgument = Annotated[
    str, typer.Argument(metavar="REF", help="A project: T12.", autocompletion=tasks)
]


@add(group, "start", example='replan project start "a report on web logs" --repo logreport')
def start(
    call: Invocation,
    goal: Annotated[str, typer.Argument(help="What is to be reached.")],
    *,
    repo: Annotated[str, typer.Option(help="The repository in which it happens.")],
    planner: Annotated[
        str | None, typer.Option(help=f"The manager: {', '.join(BACKENDS)}.")
    ] = None,
    autonomy: Annotated[
        str | None, typer.Option(help="How much runs without you: ask, auto or plan.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A setting for this project: key=value.", autocompletion=task_settings
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Requests with the same key are one project.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Watch it; the exit code says how it ends.")
    ] = False,
) -> Result:
    """Have a manager plan a goal as development tasks, which are developed and reviewed."""
    from orchestrator.acts import projects
    from orchestrator.cli.follow import follow

    settings = list(set_ or ())
    if planner is not None:
        settings += [f"planner={planner}", f"subtask_planner={planner}"]
    if autonomy is not None:
        settings.append(f"autonomy={autonomy}")
    done = projects.start(call.caller, projects.ProjectRequest(goal, repo, tuple(settings), key))
    ref = done.value.ref
    if wait:
        return with_notes(follow(call, ref), done)

    def show(console: Console) -> None:
        console.print(f"started as [bold]{ref}[/]")
        next_step(console, NextStep.of("project status", ref))

    answer = Result("project.start", done.value, show, next_step=NextStep.of("project status", ref))
    return with_notes(answer, done)


@add(group, "status", example="replan project status T12")
def status(call: Invocation, ref: RefArgument) -> Result:
    """Show a project: what its manager found, and what has become of each task."""
    from orchestrator.views.projects import project_view

    with call.reading() as connection:
        view = project_view(connection, parse_ref(ref))
    return Result("project.status", view, lambda console: _show(console, view))


@add(group, "list", example="replan project list")
def list_(
    call: Invocation,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
) -> Result:
    """List the newest projects."""
    from orchestrator.views.projects import list_projects

    with call.reading() as connection:
        found = list_projects(connection, limit=limit, after=after)
    rest = NextStep.of("project list", limit=limit, after=found.next)
    further = None if found.next is None else rest

    def show(console: Console) -> None:
        if not found.projects:
            console.print("no projects yet")
            next_step(
                console,
                NextStep.of("project start", Blank("GOAL", text=True), repo=Blank("NAME")),
            )
            return
        rows = [
            (
                each.ref,
                each.status,
                f"{each.approved}/{each.tasks}",
                plain(each.repository),
                first_line(each.goal, 60),
            )
            for each in found.projects
        ]
        console.print(listing(("project", "status", "approved", "in", "goal"), rows))
        tell_rest(console, further)

    return Result("project.list", found, show, items=found.projects, next_step=further)


@add(group, "pause", example="replan project pause T12")
def pause(call: Invocation, ref: RefArgument) -> Result:
    """Begin nothing more until it is resumed; what runs goes on to its end."""
    from orchestrator.acts import projects

    return _answer("project.pause", projects.pause(call.caller, parse_ref(ref)))


@add(group, "resume", example="replan project resume T12")
def resume(call: Invocation, ref: RefArgument) -> Result:
    """Go on with a project that is paused, or whose cause to wait was removed."""
    from orchestrator.acts import projects

    return _answer("project.resume", projects.resume(call.caller, parse_ref(ref)))


@add(group, "report", example="replan project report T12 > report.md")
def report(call: Invocation, ref: RefArgument) -> Result:
    """Print what was delivered, reviewed and published (Markdown); the last word at its end."""
    from orchestrator.cli.answers import ProjectReport
    from orchestrator.views.projects import project_view
    from orchestrator.words.projects import completion_report

    with call.reading() as connection:
        view = project_view(connection, parse_ref(ref))
    stored = view.plan.completion_report if view.ended else ""
    told = stored or completion_report(view)

    return Result(
        "project.report",
        ProjectReport(view.ref, view.plan.status, told),
        lambda console: show_markdown(console, told),
    )


def _answer(kind: str, done: "Done[ProjectView]") -> Result:
    view = done.value
    if not done.taken:
        return with_notes(unread_answer(kind, view), done)
    answer = Result(
        kind,
        view,
        lambda console: console.print(f"[bold]{view.ref}[/] is {view.plan.status}"),
        next_step=NextStep.of("project status", view.ref),
    )
    return with_notes(answer, done)


def _show(console: Console, view: "ProjectView") -> None:
    plan = view.plan
    console.print(f"[bold]{view.ref}[/] {plan.status}  {plain(plan.project_goal)}")
    console.print(f"  in {plain(view.repository)}, started {moment(view.created_at)}")
    if view.reason and not view.interventions:
        console.print(f"  [red]{plain(view.reason)}[/]")
    if plan.analysis is None:
        at_work = "its manager waits for you" if view.interventions else "its manager is at work"
        ended = "its manager has not planned it"
        state = ended if view.ended else at_work
        console.print(f"  {state}: the task is {in_colour(view.phase)}")
    else:
        console.print(f"\n{plain(plan.analysis.current_state)}")
        for done in plan.analysis.already_done:
            console.print(f"  [green]done[/]     {plain(done)}")
        for missing in plan.analysis.remaining_work:
            console.print(f"  [yellow]missing[/]  {plain(missing)}")
    rows = [
        (
            task.id,
            task.status,
            f"{task.attempt}/{task.max_attempts}",
            task.review_verdict or "",
            str(len(task.rejection_history) or ""),
            plain(", ".join(task.depends_on)),
            plain(task.title),
        )
        for task in plan.tasks
    ]
    if rows:
        heads = ("task", "status", "attempt", "review", "rejected", "needs", "")
        console.print()
        console.print(listing(heads, rows))
    for task in plan.tasks:
        for number, why in enumerate(task.rejection_history, 1):
            console.print(f"\n{task.id}, rejection {number}: {plain(why)}", highlight=False)
    if view.head is not None:
        console.print(f"\naccepted: {view.accepted}, head {view.head[:12]}", highlight=False)
    found = view.checkpoint
    if found is not None and found.head is not None:
        console.print(f"published: {plain(found.ref)} is {found.head[:12]}", highlight=False)
    show_waiting(console, view.interventions)
