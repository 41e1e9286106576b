"""`replan host …`."""

import sys
from dataclasses import replace as changed
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.example_plans import example_plan
from orchestrator.cli.invocation import Invocation, add
from orchestrator.cli.reply import Result
from orchestrator.cli.tables import listing, next_step, plain
from orchestrator.envelope import ExitCode
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.host import Connection, Host
from shared.domain.next_step import Blank, NextStep, ShellCommand
from shared.domain.secret import name_of
from shared.wire import to_json

if TYPE_CHECKING:
    from orchestrator.probes.hosts import HostReport

group = typer.Typer(name="host", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The host's name.")]
SECRET = "The secret that holds the {}: ${{secret:NAME}}."  # noqa: S105 - a sentence
NAME_SHAPE = r"[A-Za-z0-9][A-Za-z0-9_.-]*"


@add(group, "add", example="replan host add web1 --address 10.0.0.5 --user deploy --key ~/.ssh/id")
def add_(
    call: Invocation,
    name: NameArgument,
    *,
    address: Annotated[
        str | None, typer.Option(help="Name or IP address; 127.0.0.1 unless said.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="22 unless said.")] = None,
    user: Annotated[str | None, typer.Option(help="Who logs in.")] = None,
    key: Annotated[Path | None, typer.Option(help="Private key file.")] = None,
    workdir: Annotated[str | None, typer.Option(help="Where commands start.")] = None,
    jump: Annotated[
        str | None, typer.Option(help="The enrolled host that it is reached through.")
    ] = None,
    password: Annotated[str | None, typer.Option(help=SECRET.format("password"))] = None,
    passphrase: Annotated[str | None, typer.Option(help=SECRET.format("key's passphrase"))] = None,
    sudo: Annotated[
        bool | None, typer.Option("--sudo/--no-sudo", help="Run commands as root, through sudo.")
    ] = None,
    sudo_password: Annotated[str | None, typer.Option(help=SECRET.format("sudo password"))] = None,
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
            help="Enrol it anew with the key it shows now; what is not said stays as it is.",
        ),
    ] = False,
    check: Annotated[bool, typer.Option(help="Log in and look at it.")] = True,
) -> Result:
    """Enrol a host: its key is shown, pinned, and from then on the only one accepted."""
    from orchestrator.access import audit
    from orchestrator.access.audit import Act
    from orchestrator.probes import hosts as probing
    from shared.store import hosts

    _check_name(name)
    if local:
        host = Host(name=name, connection=Connection.LOCAL, workdir=workdir)
        fingerprint = ""
    else:
        said = {
            "address": address,
            "port": port,
            "user": user,
            "key_path": None if key is None else str(_key(key)),
            "workdir": workdir,
            "jump": jump,
            "password": _reference("--password", password),
            "passphrase": _reference("--passphrase", passphrase),
            "sudo": True if sudo is None and sudo_password else sudo,
            "sudo_password": _reference("--sudo-password", sudo_password),
        }
        with call.caller.database.begin() as connection:
            before = hosts.find(connection, name) if replace else None
            host = hosts.reached(connection, _described(name, before, said))
        line, fingerprint = probing.host_key(host)
        _accept(call, host, fingerprint, accept)
        host = changed(host, host_key=line)
    report = probing.check(host) if check else None
    if report is not None and report.blocking:
        return _checked("host.add", host.name, report)
    with call.caller.database.begin() as connection:
        hosts.save(connection, host, replace=replace)
        told = {"address": host.address, "fingerprint": fingerprint, "replaced": replace}
        audit.record(connection, call.caller.actor, Act("host.add", name, told))

    def show(console: Console) -> None:
        console.print(f"enrolled [bold]{name}[/] {plain(fingerprint)}", highlight=False)
        plan = example_plan("hello.yaml")
        next_step(console, NextStep.of("task submit", plan=plan, host=name, wait=True))

    details = {
        "name": name,
        "fingerprint": fingerprint,
        "report": None if report is None else to_json(report),
    }
    return Result("host.add", details, show, warnings=() if report is None else report.notices)


@add(group, "list", example="replan host list")
def list_(call: Invocation) -> Result:
    """Every enrolled host."""
    from shared.store import hosts

    with call.caller.database.begin() as connection:
        found = hosts.listed(connection)

    def show(console: Console) -> None:
        rows = [
            (h.name, h.connection.value, _where(h), "[red]disabled[/]" if h.distrusted else "")
            for h in found
        ]
        if rows:
            console.print(listing(("host", "by", "where", ""), rows))
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


@add(group, "check", example="replan host check web1")
def check_(call: Invocation, name: NameArgument) -> Result:
    """Log in to a host and say what stands in the way."""
    from orchestrator.probes import hosts as probing
    from shared.store import hosts

    with call.caller.database.begin() as connection:
        host = hosts.named(connection, name)
        hosts.require_trusted(host)
        host = hosts.reached(connection, host)
    return _checked("host.check", name, probing.check(host))


@add(group, "remove", example="replan host remove web1")
def remove(call: Invocation, name: NameArgument) -> Result:
    """Take a host out of the inventory."""
    from orchestrator.access import audit
    from orchestrator.access.audit import Act
    from shared.store import hosts

    with call.caller.database.begin() as connection:
        hosts.remove(connection, name)
        audit.record(connection, call.caller.actor, Act("host.remove", name))
    return Result("host.remove", {"name": name}, lambda c: c.print(f"removed {plain(name)}"))


def _checked(kind: str, name: str, report: "HostReport") -> Result:
    blocking = report.blocking

    def show(console: Console) -> None:
        if not blocking:
            round_trip = report.round_trip_ms or 0.0
            console.print(f"[green]✓[/] {plain(name)} can be used ({round_trip:.1f} ms round trip)")
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
        {"name": name, "report": to_json(report)},
        show,
        exit_code=failed if first else ExitCode.DONE,
        stage=first.stage if first else None,
        reason=first.reason if first else None,
        next_step=first.next_step if first else None,
        warnings=report.notices,
    )


def _accept(call: Invocation, host: Host, fingerprint: str, accept: str | None) -> None:
    """Nobody but a person, or a fingerprint named beforehand, accepts a host key."""
    if accept in {"any", fingerprint}:
        return
    if accept is not None:
        raise Misconfigured(
            f"{host.address}:{host.port} shows the host key {fingerprint}, not {accept}",
            stage="host_key",
            next_step=ShellCommand(f"ssh-keyscan -p {host.port} {host.address} | ssh-keygen -lf -"),
        )
    if call.human and sys.stdin.isatty():
        call.complaints.print(f"host key of {host.address}:{host.port}: [bold]{fingerprint}[/]")
        if typer.confirm("Is this the right host?"):
            return
    elif _loopback(host.address):
        call.complaints.print(f"host key of {host.address}:{host.port}: {fingerprint}")
        return
    raise Rejected(
        f"the host key {fingerprint} of {host.address}:{host.port} was not accepted",
        stage="host_key",
        next_step=_typed(host, fingerprint),
    )


def _loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _typed(host: Host, fingerprint: str) -> NextStep:
    """The same call with the fingerprint accepted."""
    return NextStep.of(
        "host add",
        host.name,
        address=host.address,
        port=host.port,
        user=host.user or None,
        key=host.key_path or None,
        workdir=host.workdir or None,
        jump=host.jump or None,
        password=host.password or None,
        passphrase=host.passphrase or None,
        sudo_password=host.sudo_password or None,
        accept_host_key=fingerprint,
        sudo=bool(host.sudo),
    )


def _check_name(name: str) -> None:
    import re

    if not re.fullmatch(NAME_SHAPE, name):
        raise Rejected(
            f"{name!r} is no name for a host: letters, digits, '.', '_' and '-'", stage="input"
        )


def _needed(value: str | None, option: str, name: str) -> str:
    if value:
        return value
    raise Rejected(
        f"{option} is needed to reach {name} by SSH",
        stage="input",
        next_step=NextStep.of(
            "host add", name, address=Blank("ADDRESS"), user=Blank("USER"), key=Blank("FILE")
        ),
    )


def _described(name: str, before: Host | None, said: dict[str, Any]) -> Host:
    """The host as it is to be: as said, else as it is enrolled; trusted anew."""
    known = before if before is not None and before.connection is Connection.SSH else Host(name)
    new = {field: value for field, value in said.items() if value is not None}
    host = changed(known, **new, distrusted=None, via=None)
    _needed(host.user, "--user", name)
    _needed(host.key_path or host.password, "--key", name)
    return host


def _reference(option: str, given: str | None) -> str | None:
    if given is None or name_of(given) is not None:
        return given
    raise Rejected(
        f"{option} names a secret as ${{secret:NAME}} and never takes the secret itself",
        stage="input",
        next_step=NextStep.of("host add", help=True),
    )


def _where(host: Host) -> str:
    if host.connection is not Connection.SSH:
        return ""
    through = f" through {host.jump}" if host.jump else ""
    return plain(f"{host.user or ''}@{host.address}:{host.port}{through}")


def _key(key: Path) -> Path:
    path = key.expanduser().absolute()
    if not path.is_file():
        raise Rejected(
            f"there is no key file {path}", stage="input", next_step=ShellCommand(f"ls -l {path}")
        )
    return path
