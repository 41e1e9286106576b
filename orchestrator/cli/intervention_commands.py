"""`replan intervention …`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, moment, next_step, plain
from orchestrator.cli.task_commands import outcome
from orchestrator.cli.waiting import show_evidence, show_waiting
from orchestrator.core.decisions import InterventionKind
from shared.domain.attempt import Answer
from shared.domain.errors import Rejected
from shared.domain.facts import OutcomeTold
from shared.domain.ids import parse_ref

if TYPE_CHECKING:  # SQLAlchemy loads when a command asks for the database: `--help` is quick
    from orchestrator.views.interventions import InterventionView

group = typer.Typer(name="intervention", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="As the list shows it: I7.")]


@add(group, "list", example="replan intervention list")
def list_(
    call: Invocation,
    ref: Annotated[str | None, typer.Argument(metavar="[REF]", help="Only of that task.")] = None,
) -> Result:
    """What waits for a person, and what can be typed about it."""
    from orchestrator.views.interventions import list_interventions
    from orchestrator.views.places import require_task

    place = None if ref is None else parse_ref(ref)
    with call.database.begin() as connection:
        task_id = None if place is None else require_task(connection, place)
        found = list_interventions(connection, task_id=task_id)

    def show(console: Console) -> None:
        if not found:
            console.print("nothing waits for you")
            return
        rows = [(i.name, i.ref, i.kind, moment(i.opened_at), plain(i.reason)) for i in found]
        console.print(listing(("", "where", "why", "since", ""), rows))
        for waits in found:
            show_evidence(console, waits)
            every = waits.evidence is not None
            for command in waits.commands if every else waits.commands[:1]:
                next_step(console, command)

    return Result("intervention.list", {"interventions": list(found)}, show, items=found)


@add(group, "show", example="replan intervention show I7")
def show_(call: Invocation, name: NameArgument) -> Result:
    """One thing that waits for a person, or did: the evidence, and what can be typed about it."""
    from orchestrator.views.interventions import intervention

    with call.database.begin() as connection:
        view = intervention(connection, name)

    def show(console: Console) -> None:
        if view.closed_at is None:
            show_waiting(console, [view])
            return
        kind = view.kind.replace("_", " ")
        console.print(f"[bold]{view.name}[/] {view.ref} ({kind}) {plain(view.reason)}")
        show_evidence(console, view)
        said = f", answered: {view.answer.replace('_', ' ')}" if view.answer else ""
        console.print(f"  waited from {moment(view.opened_at)} to {moment(view.closed_at)}{said}")

    return Result("intervention.show", view, show)


@add(group, "answer", example="replan intervention answer I7 --not-run")
def answer(
    call: Invocation,
    name: NameArgument,
    *,
    ran: Annotated[bool, typer.Option("--ran", help="It ran, and well: go on after it.")] = False,
    not_run: Annotated[
        bool, typer.Option("--not-run", help="It did not run: it is to be run now.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Whatever became of it: run it again.")
    ] = False,
) -> Result:
    """Say how a command ended that nobody else can tell of; its step goes on from there.

    The errors of the step stay counted.
    """
    from orchestrator.access.audit import Act
    from orchestrator.posting import post
    from orchestrator.views.interventions import intervention
    from orchestrator.views.places import require_step
    from orchestrator.views.steps import step_view

    said = _said({Answer.RAN: ran, Answer.NOT_RUN: not_run, Answer.AGAIN: again}, name)
    with call.database.begin() as connection:
        asked = intervention(connection, name)
        _refuse_unasked(asked)
        place, _ = require_step(connection, parse_ref(asked.ref))
        step = step_view(connection, parse_ref(asked.ref)).step
    fact = OutcomeTold(step.ordinal, step.revision, step.pass_no, said)
    act = Act("intervention.answer", step.ref, {"intervention": asked.name, "answer": said.value})
    taken = post(call.database, [(place.task_id, place.run_id, fact)], call.actor, act)
    with call.database.begin() as connection:
        after = intervention(connection, name)
        step = step_view(connection, parse_ref(asked.ref)).step
    if taken and after.answer != said:
        raise _too_late(after)
    details = {"ref": step.ref, "phase": step.phase, "intervention": after.name, "answer": said}
    return outcome("intervention.answer", details, taken=taken)


def _said(given: dict[Answer, bool], name: str) -> Answer:
    chosen = [answer for answer, wanted in given.items() if wanted]
    if len(chosen) == 1:
        return chosen[0]
    raise Rejected(
        "say one of --ran, --not-run and --again",
        stage="input",
        next_step_cmd=f"replan intervention show {name}",
    )


def _refuse_unasked(asked: "InterventionView") -> None:
    if asked.closed_at is not None:
        raise _too_late(asked)
    if asked.kind != InterventionKind.UNKNOWN:
        raise Rejected(
            f"{asked.name} does not ask how a command ended: it waits because of "
            f"{asked.kind.replace('_', ' ')}",
            stage="input",
            next_step_cmd=asked.next_step_cmd,
        )


def _too_late(asked: "InterventionView") -> Rejected:
    if asked.answer is not None:
        what = f"was answered already: {asked.answer.replace('_', ' ')}"
    else:
        what = "waits for nobody any more"
    return Rejected(
        f"{asked.name} {what}",
        stage="input",
        next_step_cmd=f"replan intervention show {asked.name}",
    )
