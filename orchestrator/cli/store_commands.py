"""`replan store …`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.files import read_bytes, write_new
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, next_step, plain
from shared.domain.exits import ExitCode
from shared.domain.next_step import Blank, NextStep
from shared.domain.patch_store import LARGEST_BUNDLE, Condition

group = typer.Typer(name="store", no_args_is_help=True)

DAY = 86_400.0
SHOWN = 20
"""The number of bundles that a person is shown of many."""


@add(group, "put", example="replan store put delivery.tar")
def put(
    call: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle.")],
) -> Result:
    """Store a bundle under its SHA-256; storing it again changes nothing."""
    from orchestrator.acts import patch_store

    stored = patch_store.put(call.caller, read_bytes(file, LARGEST_BUNDLE))

    def show(console: Console) -> None:
        console.print(f"stored [bold]{stored.sha256}[/] ({stored.size} bytes)", highlight=False)
        console.print(plain(stored.uri), highlight=False)

    return Result("store.put", stored, show)


@add(group, "get", example="replan store get SHA256 --output delivery.tar")
def get(
    call: Invocation,
    sha256: Annotated[str, typer.Argument(metavar="SHA256", help="The name of a bundle.")],
    *,
    file: Annotated[
        Path | None, typer.Option("--output", help="A new file for the bundle itself.")
    ] = None,
) -> Result:
    """Show what a bundle says, once it is verified. Needs no database.

    The bundle is a tar archive: its `patch.diff` is what git applies.
    """
    from orchestrator.acts import patch_store
    from orchestrator.cli.answers import FetchedBundle

    found = patch_store.get(call.caller, sha256)
    if file is not None:
        write_new(file, found.data)
    name = None if file is None else str(file)

    def show(console: Console) -> None:
        rows = [(plain(key), plain(value)) for key, value in sorted(found.meta.items())]
        rows.append(("patch", f"{found.patch} bytes"))
        rows += [(plain(key), plain(value)) for key, value in (found.stats or {}).items()]
        console.print(listing(("", ""), rows), highlight=False)
        if file is not None:
            console.print(f"wrote {plain(file)}")

    details = FetchedBundle(
        sha256=sha256,
        size=len(found.data),
        file=name,
        meta=found.meta,
        stats=found.stats,
        deliverables=found.deliverables,
    )
    return Result("store.get", details, show)


@add(group, "verify", example="replan store verify")
def verify(
    call: Invocation,
    sha256: Annotated[
        str | None, typer.Argument(metavar="[SHA256]", help="A bundle; all, if left out.")
    ] = None,
) -> Result:
    """Verify a bundle; or all in the store, and that those of all deliveries are there."""
    from orchestrator.acts import patch_store
    from orchestrator.words.quantities import count_of

    done = patch_store.verify(call.caller, sha256)
    faults = done.faults
    advice = NextStep.of("store put", Blank("FILE")) if faults else None

    def show(console: Console) -> None:
        for fault in faults:
            console.print(f"[red]✗[/] {fault.condition}: {plain(fault.uri)}", highlight=False)
        if faults:
            if any(fault.condition is Condition.CHANGED for fault in faults):
                console.print("move away what was changed")
            console.print("store the bundle again from a copy")
            next_step(console, advice)
        else:
            console.print(f"[green]✓[/] {count_of(done.verified, 'bundle')}, unchanged")

    return Result(
        "store.verify",
        done,
        show,
        exit_code=ExitCode.FAILED if faults else ExitCode.DONE,
        stage="store" if faults else None,
        reason=f"{len(faults)} of {done.verified} bundles are absent or changed"
        if faults
        else None,
        next_step=advice,
    )


@add(group, "gc", example="replan store gc --older-than 30 --apply")
def gc(
    call: Invocation,
    *,
    older_than: Annotated[
        int,
        typer.Option(min=1, max=36_500, help="Days for which a bundle of no delivery stays."),
    ] = 30,
    apply: Annotated[
        bool, typer.Option("--apply/--dry-run", help="Remove them; or show what would go.")
    ] = False,
) -> Result:
    """Show the bundles that no delivery refers to, and remove them with `--apply`."""
    from orchestrator.acts import patch_store
    from orchestrator.words.quantities import count_of

    report = patch_store.gc(call.caller, age=older_than * DAY, apply=apply)
    count = len(report.removed)
    advice = None
    if not apply and (count or report.leftovers):
        advice = NextStep.of("store gc", older_than=older_than, apply=True)

    def show(console: Console) -> None:
        for entry in report.removed[:SHOWN]:
            console.print(f"{entry.sha256}  {entry.size} bytes", highlight=False)
        if count > SHOWN:
            console.print(f"[dim]and {count - SHOWN} more[/]")
        how = "removed" if apply else "would remove"
        leftovers = count_of(report.leftovers, "file") + " of writers that died"
        console.print(f"{how} {count_of(count, 'bundle')} ({report.freed} bytes), {leftovers}")
        console.print(f"{report.referred} are of deliveries, {report.young} are too new to go")
        next_step(console, advice)

    doubt = "no delivery refers to anything in this store: is it the right database?"
    warnings = (doubt,) if count and not report.referred else ()
    return Result("store.gc", report, show, next_step=advice, warnings=warnings)
