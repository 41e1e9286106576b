"""`replan host …`."""

import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.completion import hosts
from orchestrator.cli.example_plans import example_plan
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, next_step, plain
from shared.domain.errors import Rejected
from shared.domain.exits import ExitCode
from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import Blank, NextStep

if TYPE_CHECKING:  # avoids loading SQLAlchemy: `--help` is quick
    from collections.abc import Callable

    from orchestrator.acts.done import Done
    from orchestrator.acts.host_keys import Ask
    from orchestrator.acts.hosts import HostCheck, SshOptions

group = typer.Typer(name="host", no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The host's name.", autocompletion=hosts)
]
SECRET = "The secret that holds the {}: '${{secret:NAME}}'."  # noqa: S105 - a sentence


@add(group, "add", example="replan host add web1 --address 10.0.0.5 --user deploy --key ~/.ssh/id")
def add_(
    call: Invocation,
    name: NameArgument,
    *,
    address: Annotated[
        str | None, typer.Option(help="Name or IP address; default 127.0.0.1.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Default 22.")] = None,
    user: Annotated[str | None, typer.Option(help="The account to log in as.")] = None,
    key: Annotated[Path | None, typer.Option(help="Private key file.")] = None,
    workdir: Annotated[str | None, typer.Option(help="The folder in which commands start.")] = None,
    jump: Annotated[str | None, typer.Option(help="The enrolled host to connect through.")] = None,
    password: Annotated[str | None, typer.Option(help=SECRET.format("password"))] = None,
    passphrase: Annotated[str | None, typer.Option(help=SECRET.format("key's passphrase"))] = None,
    sudo: Annotated[
        bool | None, typer.Option("--sudo/--no-sudo", help="Run commands as root, through sudo.")
    ] = None,
    sudo_password: Annotated[str | None, typer.Option(help=SECRET.format("sudo password"))] = None,
    ssh_config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take what is not given from this file, as ssh does: ~/.ssh/config.",
        ),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="The executor's own machine, without SSH.")
    ] = False,
    accept: Annotated[
        str | None,
        typer.Option("--accept-host-key", help="The fingerprint to accept, or 'any'."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace-host-key",
            help="Enrol it again with the key it shows now; other options stay unless given.",
        ),
    ] = False,
    check: Annotated[bool, typer.Option(help="Log in and check the host.")] = True,
) -> Result:
    """Enrol a host: its key is shown and pinned, and no other key is accepted from then on."""
    from orchestrator.acts import hosts
    from orchestrator.acts.hosts import LocalOptions, SshOptions
    from orchestrator.acts.ssh_config import with_ssh_config

    said = SshOptions(
        address=address,
        port=port,
        user=user,
        key_path=None if key is None else str(key.expanduser().absolute()),
        workdir=workdir,
        jump=jump,
        password=password,
        passphrase=passphrase,
        sudo=sudo,
        sudo_password=sudo_password,
    )
    if local:
        _refuse_ssh_options(said, ssh_config)
    elif ssh_config is not None:
        said = with_ssh_config(name, ssh_config.expanduser().absolute(), said)
    done = hosts.add(
        call.caller,
        name,
        LocalOptions(workdir) if local else said,
        accept=accept,
        ask=_key_question(call),
        tell=_key_notice(call),
        replaced=replace,
        check=check,
    )
    enrolled = done.value
    if not enrolled.enrolled:
        return _check_answer("host.add", done)

    def show(console: Console) -> None:
        console.print(f"enrolled [bold]{name}[/] {plain(enrolled.fingerprint)}", highlight=False)
        plan = example_plan("hello.yaml")
        next_step(console, NextStep.of("task submit", plan=plan, host=name, wait=True))

    return Result("host.add", enrolled, show, warnings=_reasons(done))


def _refuse_ssh_options(said: "SshOptions", ssh_config: Path | None) -> None:
    given = [each.name for each in fields(said) if getattr(said, each.name) not in {None, False}]
    given += [] if ssh_config is None else ["ssh_config"]
    refused = [f"--{name.removesuffix('_path').replace('_', '-')}" for name in given]
    refused = [option for option in refused if option != "--workdir"]
    if refused:
        raise Rejected(
            f"--local is the executor's own machine, without SSH: leave out {', '.join(refused)}",
            stage="input",
            next_step=NextStep.of("host add", help=True),
        )


@add(group, "list", example="replan host list")
def list_(call: Invocation) -> Result:
    """List every enrolled host."""
    from orchestrator.acts import hosts

    found = hosts.list_hosts(call.caller)

    def show(console: Console) -> None:
        rows = [
            (
                h.name,
                h.connection.value,
                _where(h),
                plain(", ".join(h.labels)),
                "[red]disabled[/]" if h.distrusted else "",
            )
            for h in found
        ]
        if rows:
            console.print(listing(("host", "by", "where", "labels", ""), rows))
        else:
            console.print("no host is enrolled yet; --local works without one")
            next_step(
                console,
                NextStep.of(
                    "host add",
                    Blank("NAME"),
                    address=Blank("ADDRESS"),
                    user=Blank("USER"),
                    key=Blank("FILE"),
                ),
            )

    return Result("host.list", {"hosts": list(found)}, show, items=found)


@add(group, "show", example="replan host show web1")
def show_(call: Invocation, name: NameArgument) -> Result:
    """Show a host: the way to it, its key, and as whom commands run there."""
    from orchestrator.views.host_details import host_details
    from orchestrator.words.hosts import describe

    with call.reading() as connection:
        found = host_details(connection, name)

    def show(console: Console) -> None:
        for what, told in describe(found):
            console.print(f"[bold]{what}[/]: {plain(told)}", highlight=False)
        next_step(console, NextStep.of("host check", name))

    return Result("host.show", found, show)


@add(group, "check", example="replan host check web1")
def check_(call: Invocation, name: NameArgument) -> Result:
    """Log in to a host and report any problems."""
    from orchestrator.acts import hosts

    return _check_answer("host.check", hosts.check(call.caller, name))


@add(group, "remove", example="replan host remove web1")
def remove(call: Invocation, name: NameArgument) -> Result:
    """Remove a host from the inventory."""
    from orchestrator.acts import hosts

    removed = hosts.remove(call.caller, name).value
    return Result("host.remove", removed, lambda c: c.print(f"removed {plain(name)}"))


@add(group, "label", example="replan host label web1 env=production role=web")
def label(
    call: Invocation,
    name: NameArgument,
    labels: Annotated[
        list[str] | None, typer.Argument(metavar="[LABEL]…", help="All its labels; none: remove.")
    ] = None,
) -> Result:
    """Label a host: what has worked on hosts with the same labels may be tried there first."""
    from orchestrator.acts import hosts

    labelled = hosts.label(call.caller, name, labels or []).value
    said = ", ".join(labels or []) or "no labels"
    return Result("host.label", labelled, lambda c: c.print(f"{plain(name)}: {plain(said)}"))


def _check_answer(kind: str, done: "Done[HostCheck]") -> Result:
    """The answer about a host: its problems, or that it can be used."""
    checked = done.value
    report = checked.report
    blocking = () if report is None else report.blocking

    def show(console: Console) -> None:
        if report is not None and not blocking:
            round_trip = report.round_trip_ms or 0.0
            name = plain(checked.name)
            console.print(f"[green]✓[/] {name} can be used ({round_trip:.1f} ms round trip)")
            console.print(
                listing(("", ""), [(plain(k), plain(v)) for k, v in report.facts.items()])
            )
        for problem in blocking:
            console.print(f"[red]✗[/] {plain(problem.reason)}", highlight=False)
            console.print(f"  at stage: {problem.stage}")
            next_step(console, problem.next_step)

    first = blocking[0] if blocking else None
    transient = first is not None and first.family == "transient"
    failed = ExitCode.UNREACHABLE if transient else ExitCode.REFUSED
    return Result(
        kind,
        checked,
        show,
        exit_code=failed if first else ExitCode.DONE,
        stage=first.stage if first else None,
        reason=first.reason if first else None,
        next_step=first.next_step if first else None,
        warnings=_reasons(done),
    )


def _reasons(done: "Done[Any]") -> tuple[str, ...]:
    return tuple(note.reason for note in done.notes)


def _key_question(call: Invocation) -> "Ask | None":
    """Asks the person at the terminal whether a key is right; None where nobody is there."""
    if not (call.human and sys.stdin.isatty()):
        return None

    def ask(host: Host, fingerprint: str) -> bool:
        call.complaints.print(_key_of(host, f"[bold]{plain(fingerprint)}[/]"))
        compare = "on the host itself: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"
        call.complaints.print(f"[dim]{compare}[/]", highlight=False)
        return typer.confirm("Is this the right host?")

    return ask


def _key_notice(call: Invocation) -> "Callable[[Host, str], None]":
    """Reports a key that is accepted without asking."""
    return lambda host, fingerprint: call.complaints.print(_key_of(host, plain(fingerprint)))


def _key_of(host: Host, fingerprint: str) -> str:
    return f"host key of {plain(host.address)}:{host.port}: {fingerprint}"


def _where(host: Host) -> str:
    from orchestrator.words.hosts import describe_way

    if host.connection is not ConnectionKind.SSH:
        return ""
    sudo = ", as root by sudo" if host.sudo else ""
    return plain(f"{describe_way(host)}{sudo}")
