"""`replan plan …`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.agent_text import show_goal
from orchestrator.cli.completion import task_settings, tasks
from orchestrator.cli.files import read_text
from orchestrator.cli.intervention_text import show_request
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import (
    place_answer,
    post_answer,
    resume_answer,
    unread_answer,
    with_notes,
)
from orchestrator.cli.reply import Result
from orchestrator.cli.session_options import ApplyOption
from orchestrator.cli.tables import first_line, next_step, plain
from orchestrator.words.quantities import count_of
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # SQLAlchemy loads when the database is needed
    from orchestrator.acts.backlogs import BuildRequest

group = typer.Typer(name="plan", no_args_is_help=True)

RefArgument = Annotated[
    str, typer.Argument(metavar="REF", help="A task: T12.", autocompletion=tasks)
]


@add(group, "show", example="replan plan show T12")
def show_(
    call: Invocation,
    ref: RefArgument,
    *,
    remaining: Annotated[
        bool, typer.Option("--remaining", help="Print the steps that remain as a plan file.")
    ] = False,
) -> Result:
    """Show the first plan of a task, and the steps that were added since.

    `step show` shows revisions.
    """
    from orchestrator.views.plans import plan_view
    from orchestrator.views.remaining import remaining_steps

    with call.reading() as connection:
        view = plan_view(connection, parse_ref(ref))
        left = remaining_steps(connection, parse_ref(ref)) if remaining else None

    def show(console: Console) -> None:
        if left is not None:
            from shared.contracts.plandump import dump_plan

            console.out(dump_plan(left.plan).rstrip(), highlight=False)
            return
        console.print(f"[bold]{view.ref}[/] {plain(view.summary)}")
        for step in (*view.steps, *view.added, *view.detailed):
            after = f" after {', '.join(step.depends_on)}" if step.depends_on else ""
            by = str(step.author) + (f", in {step.repository}" if step.repository else "")
            console.print(f"\n[bold]{step.ref}[/] {plain(step.title)} [dim]({plain(by)}{after})[/]")
            for subtask in step.subtasks:
                show_goal(console, subtask)
                if subtask.agent is not None:
                    continue
                console.print(f"  {subtask.ordinal}. {first_line(subtask.command, 100)}")
                if subtask.check:
                    console.print(f"     [dim]check: {first_line(subtask.check, 100)}[/]")
            if not step.subtasks:
                in_turn = any(each.key == step.key for each in view.detailed)
                later = "planned on each target in its turn" if in_turn else "not planned yet"
                console.print(f"  [yellow]its subtasks are {later}[/]")

    return Result("plan.show", view, show)


@add(group, "approve", example="replan plan approve T12")
def approve(
    call: Invocation,
    ref: RefArgument,
    *,
    list_only: Annotated[
        bool, typer.Option("--list", help="Only list what you would approve.")
    ] = False,
) -> Result:
    """Let a waiting plan begin: exactly the listed commands, on each host.

    Changes by a revision need a new approval. Forbidden commands cannot be approved.
    """
    from orchestrator.acts import plans
    from orchestrator.cli.answers import PlanApproval

    place = parse_ref(ref)
    done = None if list_only else plans.approve(call.caller, place)
    found = plans.preview_approval(call.caller, place) if done is None else done.value
    approved = done is not None and done.taken
    details = PlanApproval(found.task.ref, found.task.phase, found.wanted, approved)
    if done is not None:
        return post_answer("plan.approve", details, taken=done.taken)

    def show(console: Console) -> None:
        for each in found.wanted:
            show_request(console, each)

    command = NextStep.of("plan approve", found.task.ref)
    return Result("plan.approve", details, show, next_step=command)


@add(group, "resume", example="replan plan resume T12")
def resume(call: Invocation, ref: RefArgument) -> Result:
    """Resume a plan after the cause was removed: the same as `task resume`."""
    from orchestrator.acts import plans
    from orchestrator.cli.answers import ResumedPlan

    done = plans.resume(call.caller, ref)
    details = ResumedPlan(done.value.ref, done.value.phase, plans.RESUMED)
    return resume_answer("plan.resume", details, done)


@add(group, "provide", example="replan plan provide T12 --file plan.yaml")
def provide(
    call: Invocation,
    ref: RefArgument,
    *,
    file: Annotated[Path, typer.Option(help="The plan.")],
) -> Result:
    """Provide the plan of a task that waits for a person to plan it."""
    from orchestrator.acts import plans
    from orchestrator.acts.plan_text import PlanText

    given = PlanText(read_text(file), str(file))
    done = plans.provide(call.caller, parse_ref(ref), given)
    return with_notes(place_answer("plan.provide", done.value, taken=done.taken), done)


@add(group, "revise", example="replan plan revise T12@web1 --file remaining.yaml")
def revise(
    call: Invocation,
    ref: Annotated[
        str,
        typer.Argument(metavar="REF", help="A task on one target: T12@web1.", autocompletion=tasks),
    ],
    *,
    file: Annotated[Path, typer.Option(help="The steps that are to be done instead.")],
    steps: Annotated[
        str, typer.Option(help="Replace only these, such as 3,4; otherwise all that remain.")
    ] = "",
) -> Result:
    """Replace the steps that remain on a target; what is done or at work stays.

    `plan show --remaining` prints them as a file to edit.
    """
    from orchestrator.acts import plans
    from orchestrator.acts.plan_text import PlanText

    given = PlanText(read_text(file), str(file))
    done = plans.revise(call.caller, parse_ref(ref), given, _numbers(steps))
    return place_answer("plan.revise", done.value, taken=done.taken)


@add(
    group,
    "build",
    example="replan plan build backlog.yaml --session T12@app --allow L-000101 --assign "
    "L-000101=codex --apply",
)
def build(
    call: Invocation,
    backlog: Annotated[
        Path, typer.Argument(metavar="BACKLOG", help="Issues in YAML, JSON or Markdown.")
    ],
    *,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="The issues that are to be done: L-000101,L-000102; repeatable."),
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(help="Who does them: L-000101=codex,L-000102=claude-code; repeatable."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="REF", help="Add them to this open session: T12@app.")
    ] = None,
    repo: Annotated[
        str | None, typer.Option("--repo", "--project", help="Begin a session here with them.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A setting for a new session: key=value.", autocompletion=task_settings
        ),
    ] = None,
    apply: ApplyOption = False,
) -> Result:
    """Make steps of the allowed issues of a backlog, in a session.

    Without --apply it shows the steps and writes nothing. `schema show backlog` has the format.
    """
    from orchestrator.acts import backlogs

    request = _build_request(backlog, allow, assign, session, repo, set_)
    done = backlogs.build(call.caller, request) if apply else None
    built = backlogs.preview(call.caller, request) if done is None else done.value
    if done is not None and not done.taken:
        return unread_answer("plan.build", built)

    def show(console: Console) -> None:
        where = built.repository if built.ref is None else str(built.ref)
        for each in built.steps:
            after = f" after {', '.join(each.depends_on)}" if each.depends_on else ""
            by = f"{each.runner or 'any agent'}{after}"
            console.print(f"[bold]{each.issue}[/] {plain(each.title)} [dim]({plain(by)})[/]")
        verb = "is" if len(built.steps) == 1 else "are"
        told = f"{verb} in" if built.applied else "would be added to"
        if built.ref is None:
            told = "would begin a session in"
        console.print(f"{count_of(len(built.steps), 'issue')} {told} {plain(where)}")
        next_step(console, following)

    following = _again(backlog, request) if done is None else NextStep.of("task watch", built.ref)
    return Result("plan.build", built, show, next_step=following)


def _build_request(  # noqa: PLR0917 - the options of one command
    backlog: Path,
    allow: list[str] | None,
    assign: list[str] | None,
    session: str | None,
    repo: str | None,
    settings: list[str] | None,
) -> "BuildRequest":
    from orchestrator.acts.backlogs import BuildRequest
    from orchestrator.acts.plan_text import PlanText

    if (session is None) is (repo is None):
        raise _build_refusal("say where: either --session REF or --repo NAME")
    if session is not None and settings:
        raise _build_refusal("--set is for a new session: an open one has its settings")
    assigns: dict[str, str] = {}
    for pair in _listed(assign):
        issue, sign, runner = pair.partition("=")
        if not (sign and issue and runner):
            raise _build_refusal(f"{pair!r} is not an assignment; write it as L-000101=codex")
        if issue in assigns:
            raise _build_refusal(f"{issue} is assigned twice")
        assigns[issue] = runner
    return BuildRequest(
        PlanText(read_text(backlog), str(backlog)),
        tuple(_listed(allow)),
        assigns,
        session=None if session is None else parse_ref(session),
        repository=repo,
        settings=tuple(settings or ()),
    )


def _again(backlog: Path, request: "BuildRequest") -> NextStep:
    return NextStep.of(
        "plan build",
        backlog,
        session=request.session,
        repo=request.repository,
        allow=",".join(request.allow),
        assign=",".join(f"{issue}={runner}" for issue, runner in request.assign.items()) or None,
        set=next(iter(request.settings), None),
        apply=True,
    )


def _listed(given: list[str] | None) -> list[str]:
    return [word.strip() for each in given or () for word in each.split(",") if word.strip()]


def _build_refusal(reason: str) -> Rejected:
    return Rejected(reason, stage="input", next_step=NextStep.of("plan build", help=True))


def _numbers(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if wrong := [word for word in words if not word.isdecimal()]:
        raise Rejected(f"{wrong[0]!r} is not a valid number of a step", stage="input")
    return tuple(map(int, words))


@add(group, "calls", example="replan plan calls T12")
def calls(
    call: Invocation,
    ref: Annotated[str, typer.Argument(metavar="REF", help="T12, or T12.2.", autocompletion=tasks)],
) -> Result:
    """List the model calls of a task or a step: tokens, cost, and how each call ended."""
    from orchestrator.cli.calls_table import show_calls
    from orchestrator.views.spending import calls_of

    with call.reading() as connection:
        found = calls_of(connection, parse_ref(ref))

    return Result("plan.calls", found, lambda c: show_calls(c, found), items=found.calls)


@add(group, "replay", example="replan plan replay T12 --step 2 --model claude-opus-5-5")
def replay(
    call: Invocation,
    ref: RefArgument,
    *,
    model: Annotated[str, typer.Option(help="The model to ask now.")],
    step: Annotated[
        int | None, typer.Option(min=1, help="Replay the last question of this step.")
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("--call", min=1, help="Replay this call; `plan calls` shows the numbers."),
    ] = None,
) -> Result:
    """Ask another model a stored question of a task and compare both answers; nothing follows.

    The question is asked unchanged. The call costs money and counts towards the caps.
    """
    from orchestrator.acts import plans

    place = replace(parse_ref(ref).of_task(), step=step)
    answers = plans.replay(call.caller, place, model, call=number).value

    def show(console: Console) -> None:
        for name in ("kept", "replayed"):
            console.print(f"\n[bold]{plain(answers[name]['model'])}[/] ({name})")
            console.print(plain(readable(answers[name]["answer"])), highlight=False)
        if answers["replayed"]["fault"]:
            console.print(f"[yellow]{plain(answers['replayed']['fault'])}[/]")
        if answers["replayed"]["refused"]:
            told = f"this answer would be refused: {answers['replayed']['refused']}"
            console.print(f"[yellow]{plain(told)}[/]")
        used = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in usage.items())
        console.print(f"\n{used}", highlight=False)

    usage = answers["usage"]
    return Result("plan.replay", {"ref": str(place), **answers}, show)


def readable(answer: str) -> str:
    """An answer, indented if it is JSON."""
    try:
        return json.dumps(json.loads(answer), indent=2, ensure_ascii=False)
    except ValueError:
        return answer
