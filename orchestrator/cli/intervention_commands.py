"""`replan intervention …`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from orchestrator.cli.intervention_text import show_evidence, show_waiting
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, moment, next_step, plain
from orchestrator.cli.task_commands import outcome
from orchestrator.core.decisions import InterventionKind
from shared.domain.attempt import Answer
from shared.domain.errors import Rejected
from shared.domain.facts import ApprovalDenied, CommandsApproved, OutcomeTold
from shared.domain.ids import parse_ref

if TYPE_CHECKING:  # SQLAlchemy loads when a command asks for the database: `--help` is quick
    from orchestrator.views.interventions import InterventionView
    from orchestrator.views.steps import StepLine

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
            every = waits.evidence is not None or bool(waits.wanted or waits.options)
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
        by = f" by {plain(view.answered_by)}" if view.answered_by else ""
        said = f", answered: {view.answer.replace('_', ' ')}{by}" if view.answer else ""
        console.print(f"  waited from {moment(view.opened_at)} to {moment(view.closed_at)}{said}")

    return Result("intervention.show", view, show)


@add(group, "answer", example="replan intervention answer I7 --not-run")
def answer(
    call: Invocation,
    name: NameArgument,
    reply: Annotated[
        str | None, typer.Argument(metavar="[ANSWER]", help="To a question: text, or an option.")
    ] = None,
    *,
    ran: Annotated[bool, typer.Option("--ran", help="It ran, and well: go on after it.")] = False,
    not_run: Annotated[
        bool, typer.Option("--not-run", help="It did not run: it is to be run now.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Whatever became of it: run it again.")
    ] = False,
) -> Result:
    """Answer a question, or say how a command ended that nobody else can tell of.

    The task or step that asked goes on from there; the errors of a step stay counted.
    """
    from orchestrator.access.audit import Act
    from orchestrator.acts.posting import post
    from orchestrator.views.interventions import intervention
    from orchestrator.views.places import require_step
    from orchestrator.views.steps import step_view

    flags = {Answer.RAN: ran, Answer.NOT_RUN: not_run, Answer.AGAIN: again}
    with call.database.begin() as connection:
        asked = intervention(connection, name)
    if asked.kind == InterventionKind.QUESTION and not any(flags.values()):
        from orchestrator.cli.answering import answer_question

        return answer_question(call, asked, reply)
    said = _said(flags, name)
    with call.database.begin() as connection:
        _refuse_unasked(asked)
        place, _ = require_step(connection, asked.ref)
        step = step_view(connection, asked.ref).step
    fact = OutcomeTold(step.ordinal, step.revision, step.pass_no, said)
    act = Act(
        "intervention.answer", str(step.ref), {"intervention": asked.name, "answer": said.value}
    )
    taken = post(call.database, [(place.task_id, place.run_id, fact)], call.actor, act)
    with call.database.begin() as connection:
        after = intervention(connection, name)
        step = step_view(connection, asked.ref).step
    if taken and after.answer != said:
        raise _too_late(after)
    details = {
        "ref": str(step.ref),
        "phase": step.phase,
        "intervention": after.name,
        "answer": said,
    }
    return outcome("intervention.answer", details, taken=taken)


@add(group, "approve", example="replan intervention approve I7")
def approve(
    call: Invocation,
    name: NameArgument,
    *,
    for_task: Annotated[
        bool, typer.Option("--for-task", help="As often as the task has exactly these bytes.")
    ] = False,
) -> Result:
    """Let run what a step asks to run, exactly as it is shown: once, unless you say otherwise.

    It serves for no other bytes, host, account or policy. What is forbidden cannot be approved.
    """
    from orchestrator.acts.signing import Signer
    from orchestrator.cli import approving
    from orchestrator.views.approvals import in_seconds
    from orchestrator.views.interventions import asked_of, intervention
    from orchestrator.views.tasks import task_view
    from shared.domain.approval import Scope

    scope = Scope.TASK if for_task else Scope.ONCE
    with call.database.begin() as connection:
        view = intervention(connection, name)
        approving.refuse_unless_asked(view)
        asked = asked_of(connection, name)
        policy = task_view(connection, view.ref).policy
        until = in_seconds(connection, policy.approval_ttl)
    approving.refuse_forbidden(asked, approving.guards_of(call.settings.server, policy))
    signer = Signer(call.settings.server.data_dir)
    words = approving.approvals_of(asked, scope, call.actor.name, until)
    task = view.ref.task
    given = tuple(signer.sign(task, word) for word in words)
    return _post_word(
        call,
        "intervention.approve",
        view,
        lambda at: CommandsApproved(at.ordinal, at.revision, at.pass_no, view.id, given),
    )


@add(group, "key", example="replan intervention key")
def key(call: Invocation) -> Result:
    """The public half of the key that signs what you approve; it is made when there is none.

    Executors on other machines believe you once it stands in their setting `approval_keys`.
    """
    from orchestrator.acts.signing import Signer

    public = Signer(call.settings.server.data_dir).public

    def show(console: Console) -> None:
        console.print(f'approval_keys = ["{public}"]', highlight=False, markup=False)

    return Result("intervention.key", {"public_key": public}, show)


@add(group, "deny", example='replan intervention deny I7 --note "keep the old logs"')
def deny(
    call: Invocation,
    name: NameArgument,
    *,
    note: Annotated[str, typer.Option(help="Why, and what instead: its planner reads it.")] = "",
) -> Result:
    """Do not let run what a step asks to run; its planner is asked for another way."""
    from orchestrator.cli import approving
    from orchestrator.views.interventions import intervention

    with call.database.begin() as connection:
        view = intervention(connection, name)
        approving.refuse_unless_asked(view)
    actor = call.actor.name
    return _post_word(
        call,
        "intervention.deny",
        view,
        lambda at: ApprovalDenied(at.ordinal, at.revision, at.pass_no, view.id, actor, note),
    )


def _post_word(
    call: Invocation,
    kind: str,
    asked: "InterventionView",
    fact_at: "Callable[[StepLine], CommandsApproved | ApprovalDenied]",
) -> Result:
    """Post a person's word for or against what a step would run. Raises Rejected when too late."""
    from orchestrator.access.audit import Act
    from orchestrator.acts.posting import post
    from orchestrator.cli.approving import too_late
    from orchestrator.views.interventions import intervention
    from orchestrator.views.places import require_step
    from orchestrator.views.steps import step_view

    ref = asked.ref
    with call.database.begin() as connection:
        place, _ = require_step(connection, ref)
        step = step_view(connection, ref).step
    fact = fact_at(step)
    word = "approved" if isinstance(fact, CommandsApproved) else "denied"
    act = Act(kind, str(step.ref), {"intervention": asked.name, "answer": word})
    taken = post(call.database, [(place.task_id, place.run_id, fact)], call.actor, act)
    with call.database.begin() as connection:
        after = intervention(connection, asked.name)
        step = step_view(connection, ref).step
    if taken and after.answer != word:
        raise too_late(after)
    details = {
        "ref": str(step.ref),
        "phase": step.phase,
        "intervention": asked.name,
        "answer": word,
    }
    return outcome(kind, details, taken=taken)


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
