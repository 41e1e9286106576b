"""`replan step …`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.agent_text import show_notes, show_work
from orchestrator.cli.completion import tasks
from orchestrator.cli.files import read_text
from orchestrator.cli.follow_option import FollowOption, then_follow
from orchestrator.cli.intervention_text import mark, show_reasons, show_waiting
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import place_answer, with_notes
from orchestrator.cli.reply import Result
from orchestrator.cli.revision_text import show_history
from orchestrator.cli.tables import first_line, in_colour, listing, plain, span
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep

group = typer.Typer(name="step", no_args_is_help=True)

RefArgument = Annotated[
    str, typer.Argument(metavar="REF", help="A step: T12.2, or T12.2@web1.", autocompletion=tasks)
]


@add(group, "show", example="replan step show T12.2@web1")
def show_(call: Invocation, ref: RefArgument) -> Result:
    """Show a step: its subtasks, its attempts, and the history of its revisions."""
    from orchestrator.views.steps import step_view
    from orchestrator.words.agents import describe_agent
    from orchestrator.words.failures import reasons

    with call.reading() as connection:
        view = step_view(connection, parse_ref(ref))
    step = view.step

    def show(console: Console) -> None:
        console.print(f"[bold]{step.ref}[/] {in_colour(step.phase)} {plain(step.title)}")
        for line in reasons(step):
            console.print(f"  {plain(line)}", highlight=False)
        console.print(f"  planned by {plain(step.author)}, revision {step.revision}")
        if step.repository:
            console.print(f"  in the repository {plain(step.repository)}")
        if view.question:
            console.print(f"  asked: {plain(view.question)} – {plain(view.answer or 'no answer')}")
        rows = [(s.ref, in_colour(s.status), first_line(s.planned.command)) for s in view.subtasks]
        console.print(listing(("subtask", "status", "command"), rows))
        for each in view.subtasks:
            show_work(console, each.planned.agent, str(each.ref), check=each.planned.check)
        if view.attempts:
            tried = [
                (
                    a.ref,
                    in_colour(a.outcome),
                    plain(mark(a)),
                    span(a.seconds),
                    first_line(a.command, 60),
                )
                for a in view.attempts
            ]
            console.print()
            console.print(listing(("attempt", "outcome", "correction", "took", "command"), tried))
            show_reasons(console, view.attempts)
            for attempt in view.attempts:
                show_notes(console, attempt.notes, f"{attempt.ref} ")
            for a in view.attempts:
                if a.agent is not None:
                    console.print(f"{a.ref}  {plain(describe_agent(a.agent))}", highlight=False)
        show_history(console, view)
        show_waiting(console, view.interventions)

    return Result("step.show", view, show)


@add(group, "revise", example="replan step revise T12.2@web1 --file subtasks.yaml")
def revise(
    call: Invocation,
    ref: RefArgument,
    *,
    file: Annotated[Path | None, typer.Option(help="The new subtasks.")] = None,
    now: Annotated[bool, typer.Option("--now", help="Have its planner revise it now.")] = False,
    note: Annotated[str, typer.Option(help="What the planner should know.")] = "",
    wait: FollowOption = False,
) -> Result:
    """Give a step new subtasks yourself (--file), or have its planner revise it (--now).

    The step keeps its author: later evidence goes to its first planner. A file may name
    subtasks of earlier lists under `rollback`: those that ran are undone first.
    """
    from orchestrator.acts import steps
    from orchestrator.acts.plan_text import PlanText

    if (file is None) is not now:
        raise Rejected(
            "give either --file FILE or --now",
            stage="input",
            next_step=NextStep.of("step show", ref),
        )
    given = None if file is None else PlanText(read_text(file), str(file))
    done = steps.revise(call.caller, parse_ref(ref), given, note)
    answer = with_notes(place_answer("step.revise", done.value, taken=done.taken), done)
    return then_follow(call, answer, done.value.ref.task) if wait else answer


@add(group, "raise", example="replan step raise T12.2@app --cost-budget 0.50")
def raise_(
    call: Invocation,
    ref: RefArgument,
    *,
    cost_budget: Annotated[
        float,
        typer.Option(
            min=0,
            max=100_000,
            metavar="DOLLARS",
            help="What its agents may cost in all; 0 for no budget.",
        ),
    ],
) -> Result:
    """Raise the cost budget that the agents of a step have used up.

    The step goes on from the work that they have left. The caps of the task and of the day
    still hold.
    """
    from orchestrator.acts import budgets

    done = budgets.raise_budget(call.caller, parse_ref(ref), cost_budget)
    return place_answer("step.raise", done.value, taken=done.taken)


@add(group, "abandon", example="replan step abandon T12.2@web1")
def abandon(call: Invocation, ref: RefArgument) -> Result:
    """Abandon a step that waits for you: it ends in error."""
    from orchestrator.acts import steps

    done = steps.abandon(call.caller, parse_ref(ref))
    return place_answer("step.abandon", done.value, taken=done.taken)
