"""`replan audit …`."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import AFTER, listing, moment, next_step, plain, tell_rest
from shared.domain.exits import ExitCode
from shared.domain.next_step import NextStep

if TYPE_CHECKING:  # `--help` is quick
    from orchestrator.access.chain import AuditEntry
    from orchestrator.cli.answers import AuditLine

group = typer.Typer(name="audit", no_args_is_help=True)


@add(group, "list", example="replan audit list --ref T12")
def list_(
    call: Invocation,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    actor: Annotated[str | None, typer.Option(help="Only what this person did.")] = None,
    ref: Annotated[str | None, typer.Option(help="Only what was done to this: T12, web1.")] = None,
    around: Annotated[int | None, typer.Option(min=1, help="The entries around this one.")] = None,
    after: Annotated[int | None, typer.Option(min=1, help=AFTER)] = None,
) -> Result:
    """List what people did, newest first: who did what, to what, and when."""
    from orchestrator.acts import audit_trail
    from orchestrator.cli.answers import AuditPage

    found = audit_trail.entries(
        call.caller, limit=limit, actor=actor, ref=ref, around=around, after=after
    )
    rest = NextStep.of(
        "audit list", limit=limit, actor=actor, ref=ref, around=around, after=found.next
    )
    further = None if found.next is None else rest

    def show(console: Console) -> None:
        rows = [
            (str(e.seq), moment(e.at), plain(e.actor), e.verb, plain(e.ref), plain(_brief(e)))
            for e in found.links
        ]
        heads = ("entry", "when", "who", "what", "to what", "")
        console.print(listing(heads, rows) if rows else "nobody has done anything yet")
        tell_rest(console, further)

    page = AuditPage(tuple(map(_line, found.links)), found.next)
    return Result("audit.list", page, show, items=page.entries, next_step=further)


@add(group, "verify", example="replan audit verify --anchor 42:5f0c…")
def verify(
    call: Invocation,
    *,
    anchor: Annotated[
        str | None, typer.Option(help="The anchor that an earlier check printed.")
    ] = None,
) -> Result:
    """Check that no entry of the audit was changed, removed or moved.

    The anchor of the last check is kept in the data folder, and counts in the next one. Keep the
    printed one where the database's owner cannot write: only an anchor reveals that somebody has
    rewritten the chain, or cut its end.
    """
    from orchestrator.acts import audit_trail
    from orchestrator.cli.answers import AuditVerification

    verified = audit_trail.verify(call.caller, anchor)
    end, faults = verified.head, verified.faults

    def show(console: Console) -> None:
        for fault in faults:
            console.print(f"[red]✗[/] entry {fault.seq}: {fault.reason}")
        if not faults:
            console.print(f"[green]✓[/] the chain is intact; entries: {end.seq}")
            console.out(f"  anchor: {end}", highlight=False)
        else:
            next_step(console, NextStep.of("audit list", around=faults[0].seq))
            if verified.kept is not None:
                text = "this database was restored or made anew? then remove the anchor kept in"
                console.print(f"{text} {plain(verified.kept)}")

    first = faults[0] if faults else None
    return Result(
        "audit.verify",
        AuditVerification(str(end), end.seq, faults),
        show,
        exit_code=ExitCode.FAILED if first else ExitCode.DONE,
        stage="audit" if first else None,
        reason=f"entry {first.seq}: {first.reason}" if first else None,
        next_step=NextStep.of("audit list", around=first.seq) if first else None,
    )


def _brief(entry: "AuditEntry") -> str:
    return ", ".join(f"{name}={value}" for name, value in _details(entry).items())


def _details(entry: "AuditEntry") -> dict[str, Any]:
    """The details as written; those of a tampered entry are shown as they are now."""
    try:
        details = json.loads(entry.details)
    except ValueError:
        return {"unreadable": entry.details}
    return details if isinstance(details, dict) else {"unreadable": entry.details}


def _line(entry: "AuditEntry") -> "AuditLine":
    from orchestrator.cli.answers import AuditLine

    return AuditLine(
        seq=entry.seq,
        at=entry.at.isoformat(),
        actor=entry.actor,
        verb=entry.verb,
        ref=entry.ref,
        details=_details(entry),
        previous=entry.previous.hex(),
        hash=entry.hash.hex(),
    )
