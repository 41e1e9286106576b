"""Printing what waits for a person, and what was running at a cancellation."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console

from orchestrator.cli.agent_text import show_agents
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import first_line, in_colour, next_steps, plain

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from orchestrator.acts.offered_rules import GivenRule
    from orchestrator.views.approvals import ApprovalView
    from orchestrator.views.attempts import AttemptLine
    from orchestrator.views.cancellations import InHand
    from orchestrator.views.interventions import InterventionView
    from shared.domain.approval import ApprovalRequest
    from shared.domain.preview import Preview

_EXPLAINED = frozenset({"unknown", "cancelled"})
_ENDINGS = {
    "awaited": "[yellow]is being ended[/]",
    "ended": "[green]ended[/]",
    "left_over": "[red]ended, but not all of it[/]",
    "not_known": "[red]may still run[/]",
}
"""What a person is told of a command that a cancellation met."""


def mark(attempt: "AttemptLine") -> str:
    """What sets an attempt apart from a command as planned: a look, a rollback, a correction."""
    from orchestrator.words.looks import name_look

    if attempt.look:
        return name_look(attempt)
    return "rollback" if attempt.rollback else attempt.correction or ""


def show_reasons(console: Console, attempts: Iterable["AttemptLine"]) -> None:
    """Print the reason of each attempt whose outcome does not explain itself."""
    for attempt in attempts:
        if attempt.outcome in _EXPLAINED and attempt.reason:
            console.print(f"{attempt.ref} {in_colour(attempt.outcome)}: {plain(attempt.reason)}")


def show_waiting(
    console: Console, interventions: Iterable["InterventionView"], *, told: str = ""
) -> None:
    """Print each with its evidence and the commands that answer it.

    A cause that was `told` just before is not told again.
    """
    from orchestrator.words.failures import why_it_waits

    for waits in interventions:
        name = f"{waits.name}, {waits.kind.replace('_', ' ')}"
        why = why_it_waits(waits)
        cause = "" if why == told else f" {plain(why)}"
        console.print(f"\n[yellow]waits for you[/] ({name}){cause}")
        if waits.failure is not None:
            console.print(f"  {plain(waits.reason)}")
        show_evidence(console, waits)
        next_steps(console, waits.next_steps)


def show_evidence(console: Console, waits: "InterventionView") -> None:
    """Print what is known about it: what would run, what ran, or what a host has recorded."""
    from orchestrator.words import (
        approvals,
        causes,
        deliveries,
        spending,
        unknown_outcomes,
        unknown_records,
    )

    for wanted in waits.wanted:
        _show(console, approvals.describe(wanted))
    if waits.evidence is not None:
        _show(console, unknown_outcomes.describe(waits.evidence))
    if waits.unpaid is not None:
        _show(console, spending.describe_unpaid(waits.unpaid))
    _show(console, unknown_records.describe(waits.records))
    _show(console, causes.describe(waits.causes))
    _show(console, deliveries.describe_rejected(waits.rejected))
    if waits.agent is not None:
        show_agents(console, [waits.agent])
    if waits.asker is not None:
        asker = waits.asker
        _show(console, [("asked by", f"{asker.runner}, an agent, in {asker.attempt}")])
        _show(console, zip(waits.options, asker.details, strict=False))


def show_request(console: Console, wanted: "ApprovalView") -> None:
    """Print a text that waits for a person's approval."""
    from orchestrator.words.approvals import describe

    _show(console, describe(wanted))


def show_rest(console: Console, rest: "Sequence[ApprovalRequest]") -> None:
    """Print what else of a plan will ask for a person's approval."""
    if not rest:
        console.print("nothing else of its plan will ask")
        return
    console.print(f"what else of its plan will ask ({len(rest)}):")
    show_asks(console, rest)


def show_asks(console: Console, asks: "Sequence[ApprovalRequest]") -> None:
    """Print texts of a plan that will ask: where, as whom, what, and why."""
    from orchestrator.words.approvals import describe_account

    for each in asks:
        host = each.subject.host
        account = describe_account(host.user, sudo=host.sudo)
        where = f"step {each.subject.place.step}" if each.subject.place else "its plan"
        command = plain(each.subject.command.strip().replace("\n", "\n    "))
        told = f"  {where} on {plain(host.name)} as {plain(account)}: [bold]{command}[/]"
        console.print(told, highlight=False)
        console.print(f"    [dim]{plain(each.reason)}[/]", highlight=False)


def show_preview(console: Console, preview: "Preview | None") -> None:
    """Print what a command would change, if anybody has looked."""
    from orchestrator.words.previews import describe_preview

    if preview is not None:
        _show(console, describe_preview(preview))


def _show(console: Console, parts: Iterable[tuple[str, str]]) -> None:
    for name, text in parts:
        first, *rest = text.split("\n")
        console.print(f"  [dim]{name}:[/] {plain(first)}", highlight=False)
        for line in rest:
            console.print(f"    {plain(line)}", highlight=False)


def show_in_hand(console: Console, ended: Iterable["InHand"]) -> None:
    """Print how each command that was running at a cancellation ended."""
    for each in ended:
        command = f" {first_line(each.command, 60)}" if each.command else ""
        ending = _ENDINGS[each.word.value]
        console.print(f"[bold]{each.ref}[/]{command} {ending}: {plain(each.told)}")


def with_rule(answer: Result, given: "GivenRule | None") -> Result:
    """The answer to an approval with the rule that was given with it."""
    if given is None:
        return answer
    show_answer = answer.show

    def show(console: Console) -> None:
        show_answer(console)
        _show_rule(console, given)

    return replace(answer, show=show)


def _show_rule(console: Console, given: "GivenRule") -> None:
    from orchestrator.words.rules import join_commands, name_scope

    allowed = f"{join_commands(given.commands)} {name_scope(given.scope)}"
    if given.why_not is None:
        where = f", in {given.file}" if given.file else ""
        console.print(f"allows {plain(allowed)} from now on{plain(where)}", highlight=False)
        if given.file:
            console.print("other tasks: once their executors have been restarted", highlight=False)
        return
    console.print(f"[yellow]no rule is written[/]: {plain(given.why_not)}", highlight=False)
    console.print(f"this would allow {plain(allowed)}:\n", highlight=False)
    console.print(plain(given.policy), highlight=False)
