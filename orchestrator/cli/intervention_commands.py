"""`replan intervention …`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console

from orchestrator.cli.completion import interventions, tasks
from orchestrator.cli.follow_option import FollowOption, then_follow
from orchestrator.cli.intervention_text import show_evidence, show_rest, show_waiting, with_rule
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.posted import post_answer
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import AFTER, moment, next_step, next_steps, plain, tell_rest
from shared.domain.approval import ApprovalRequest, ApprovalScope
from shared.domain.attempt import Answer
from shared.domain.errors import Rejected
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep
from shared.domain.records import RecordsAnswer

if TYPE_CHECKING:  # SQLAlchemy loads only when a command needs the database: `--help` is quick
    from orchestrator.acts.done import Done
    from orchestrator.acts.interventions import Answered

Chosen = TypeVar("Chosen")

group = typer.Typer(name="intervention", no_args_is_help=True)

NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Its name in the list: I7.", autocompletion=interventions),
]


@add(group, "list", example="replan intervention list")
def list_(
    call: Invocation,
    ref: Annotated[
        str | None,
        typer.Argument(metavar="[REF]", help="Only those of this task.", autocompletion=tasks),
    ] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 1000,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
) -> Result:
    """List what waits for a person, and the commands that answer it."""
    from orchestrator.views.interventions import page_of_interventions
    from orchestrator.views.places import require_task
    from orchestrator.words.failures import why_it_waits

    place = None if ref is None else parse_ref(ref)
    with call.reading() as connection:
        task_id = None if place is None else require_task(connection, place)
        page = page_of_interventions(connection, limit=limit, task_id=task_id, after=after)
    found = page.interventions
    everywhere = NextStep.of("intervention list", limit=limit, after=page.next)
    there = NextStep.of("intervention list", ref, limit=limit, after=page.next)
    further = None if page.next is None else there if ref else everywhere

    def show(console: Console) -> None:
        if not found:
            console.print("nothing waits for you")
            return
        for waits in found:
            kind = waits.kind.replace("_", " ")
            console.print(
                f"[yellow]{waits.name}[/] {waits.ref} ({kind}, since {moment(waits.opened_at)})"
            )
            console.print(f"  {plain(why_it_waits(waits))}", highlight=False)
            show_evidence(console, waits)
            every = waits.evidence is not None or bool(
                waits.wanted or waits.options or waits.records or waits.unpaid
            )
            next_steps(console, waits.next_steps if every else waits.next_steps[:1])
        tell_rest(console, further)

    return Result("intervention.list", page, show, items=found, next_step=further)


@add(group, "show", example="replan intervention show I7")
def show_(call: Invocation, name: NameArgument) -> Result:
    """Show an intervention: its evidence, and the commands that answer it."""
    from orchestrator.acts.offered_rules import with_offers
    from orchestrator.acts.whole_plan import rest_of_plan
    from orchestrator.views.interventions import intervention

    with call.reading() as connection:
        view = intervention(connection, name)
    view = with_offers(call.caller, view)
    rest: Sequence[ApprovalRequest] = ()
    if view.approvable:
        with suppress(Rejected):  # the plan has something forbidden, too
            rest = rest_of_plan(call.caller, name)

    def show(console: Console) -> None:
        if view.closed_at is None:
            here = NextStep.of("intervention show", view.name)
            others = tuple(step for step in view.next_steps if step != here)
            show_waiting(console, [replace(view, next_steps=others)])
            if rest:
                show_rest(console, rest)
                next_step(console, NextStep.of("intervention approve", view.name, plan=True))
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
        str | None, typer.Argument(metavar="[ANSWER]", help="For a question: text, or an option.")
    ] = None,
    *,
    ran: Annotated[
        bool, typer.Option("--ran", help="It ran successfully: continue after it.")
    ] = False,
    not_run: Annotated[bool, typer.Option("--not-run", help="It did not run: run it now.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Run it again, whatever happened.")
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="The results on the host are those of the pass.")
    ] = False,
    discard: Annotated[
        bool, typer.Option("--discard", help="They do not count: what is not done runs again.")
    ] = False,
) -> Result:
    """Answer a question, or say how a command with an unknown outcome ended.

    After a failover, say what becomes of the records of a host that the database has forgotten.
    The task or step that asked continues; its errors stay counted.
    """
    from orchestrator.acts import interventions
    from orchestrator.views.interventions import intervention

    outcomes = {Answer.RAN: ran, Answer.NOT_RUN: not_run, Answer.AGAIN: again}
    records = {RecordsAnswer.ADOPT: adopt, RecordsAnswer.DISCARD: discard}
    given: str | Answer | RecordsAnswer | None = reply
    with call.reading() as connection:
        asks = intervention(connection, name).kind
    if asks == "forgotten" or any(records.values()):
        given = _only_one(records, "give one of --adopt and --discard", name)
    elif asks != "question" or any(outcomes.values()):
        given = _only_one(outcomes, "give one of --ran, --not-run and --again", name)
    return _result("intervention.answer", interventions.answer(call.caller, name, given))


@add(group, "approve", example="replan intervention approve I7")
def approve(
    call: Invocation,
    name: NameArgument,
    *,
    for_task: Annotated[
        bool, typer.Option("--for-task", help="Wherever the task has exactly these bytes.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Also what else of its plan will ask, for every pass."),
    ] = False,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="task|group:NAME|host:NAME|site",
            help="Also allow it by a rule from now on, the narrowest: for whom it holds.",
        ),
    ] = None,
    wait: FollowOption = False,
) -> Result:
    """Let a step run what it asks to run, exactly as shown: once, unless you say otherwise.

    The approval covers no other bytes, host, account or policy. Forbidden commands cannot be
    approved. `intervention show` lists what else of its plan will ask, and says which rule would
    have allowed it: for a task it is signed as the approval is, otherwise written to the policy
    file, with the approved text as its test.
    """
    from orchestrator.acts import interventions
    from orchestrator.acts.offered_rules import parse_scope
    from orchestrator.acts.whole_plan import rest_of_plan

    scope = ApprovalScope.TASK if for_task else ApprovalScope.ONCE
    wanted = None if rule is None else parse_scope(rule)
    rest = rest_of_plan(call.caller, name) if plan else ()
    done = interventions.approve(call.caller, name, scope, wanted, rest=rest)
    answer = with_rule(_result("intervention.approve", done), done.value.rule)
    return then_follow(call, answer, done.value.ref.task) if wait else answer


@add(group, "key", example="replan intervention key --passphrase")
def key(
    call: Invocation,
    *,
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Choose another passphrase for it first.")
    ] = False,
) -> Result:
    """Show the public half of the key that signs your approvals; it is created if there is none.

    Executors on other machines accept your approvals once their setting `approval_keys` has it.
    Without a passphrase, whatever runs under your account can sign.
    """
    from orchestrator.acts import interventions

    shown = interventions.signing_key(call.caller, new_passphrase=passphrase)

    def show(console: Console) -> None:
        text = f'approval_keys = ["{shown.public_key}"]'
        console.print(text, highlight=False, markup=False)
        if not shown.protected:
            call.complaints.print("it has no passphrase: whatever runs under your account can sign")
            next_step(call.complaints, NextStep.of("intervention key", passphrase=True))

    return Result("intervention.key", shown, show)


@add(group, "deny", example='replan intervention deny I7 --note "keep the old logs"')
def deny(
    call: Invocation,
    name: NameArgument,
    *,
    note: Annotated[
        str, typer.Option(help="Why, and what to do instead; the planner reads it.")
    ] = "",
) -> Result:
    """Do not let a step run what it asks to run; its planner finds another way."""
    from orchestrator.acts import interventions

    return _result("intervention.deny", interventions.deny(call.caller, name, note))


def _result(kind: str, done: "Done[Answered]") -> Result:
    return post_answer(kind, done.value, taken=done.taken)


def _only_one(given: Mapping[Chosen, bool], otherwise: str, name: str) -> Chosen:
    chosen = [answer for answer, wanted in given.items() if wanted]
    if len(chosen) == 1:
        return chosen[0]
    raise Rejected(
        otherwise,
        stage="input",
        next_step=NextStep.of("intervention show", name),
    )
