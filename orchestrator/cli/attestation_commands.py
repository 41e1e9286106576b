"""`replan attestation …`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.cli.completion import tasks
from orchestrator.cli.files import read_text, write_new
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import next_step, plain
from shared.domain.ids import parse_ref
from shared.domain.next_step import NextStep

group = typer.Typer(name="attestation", no_args_is_help=True)


@add(group, "create", example="replan attestation create T12 --output T12.intoto.json")
def create(
    call: Invocation,
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="A task that has ended: T12.", autocompletion=tasks)
    ],
    *,
    file: Annotated[
        Path | None, typer.Option("--output", help="A new file; the default is to print.")
    ] = None,
) -> Result:
    """Sign what a task proved: each step, by which check, and when.

    Whoever has the public key (`intervention key`) can verify it without this database: it is an
    in-toto statement (test-result) in a DSSE envelope, signed with Ed25519.
    """
    from orchestrator.acts import attestations
    from orchestrator.cli.answers import SignedAttestation
    from orchestrator.views.report import report

    with call.reading() as connection:
        compiled = report(connection, parse_ref(ref))
    text = attestations.create(call.caller, compiled)
    if file is not None:
        write_new(file, text)
    command = NextStep.of("attestation verify", file or "FILE")

    def show(console: Console) -> None:
        if file is None:
            console.out(text.rstrip(), highlight=False)
            return
        console.print(f"wrote {plain(file)}: what {compiled.task.ref} proved, signed")
        next_step(console, command)

    details = SignedAttestation(compiled.task.ref, None if file is None else str(file), text)
    return Result("attestation.create", details, show, next_step=command)


@add(group, "key", example="replan attestation key")
def key(call: Invocation) -> Result:
    """Show the public key that proves what workers of this machine have checked.

    They sign the tree of each delivery that is accepted. It is created if there is none. Workers on
    other machines believe it once their setting `attestation_keys` has it.
    """
    from orchestrator.acts import attestations
    from orchestrator.cli.answers import PublicKey

    public = attestations.public_key(call.caller)

    def show(console: Console) -> None:
        console.print(f'attestation_keys = ["{public}"]', highlight=False, markup=False)

    return Result("attestation.key", PublicKey(public), show)


@add(group, "verify", example="replan attestation verify T12.intoto.json --key KEY")
def verify(
    call: Invocation,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `create` wrote.")],
    *,
    key: Annotated[
        str | None, typer.Option(help="The public key of the signer; the default is your own.")
    ] = None,
) -> Result:
    """Check who signed an attestation, and show what it says. Needs no database."""
    from orchestrator.acts import attestations
    from orchestrator.words.proofs import attested

    found = attestations.verify(call.caller, read_text(file), key)

    def show(console: Console) -> None:
        console.print(f"[green]✓[/] signed, and unchanged: {plain(found.task)} {found.result}")
        for line in attested(found.steps):
            console.print(plain(line), highlight=False)

    return Result("attestation.verify", found, show)
