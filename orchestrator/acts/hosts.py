"""What a person may do with hosts: enrol them, check them, label them, remove them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts import host_keys
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done, Note
from orchestrator.acts.host_keys import Ask, Tell
from orchestrator.acts.verbs import act
from orchestrator.probes import hosts as probes
from orchestrator.probes.hosts import HostReport
from orchestrator.views import unknown_passes
from orchestrator.views.unknown_passes import UnknownRecords
from shared.domain.errors import Rejected
from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import Blank, NextStep, ShellCommand
from shared.domain.secret import name_of
from shared.store import hosts

NAME_SHAPE = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
LABEL_SHAPE = rf"{NAME_SHAPE}(?:=[A-Za-z0-9_.-]+)?"


@dataclass(frozen=True, slots=True)
class SshOptions:
    """How to reach a host by SSH; None leaves an option unchanged.

    Passwords and passphrases are references to secrets: `${secret:NAME}`.
    """

    address: str | None = None
    port: int | None = None
    user: str | None = None
    key_path: str | None = None
    workdir: str | None = None
    jump: str | None = None
    password: str | None = None
    passphrase: str | None = None
    sudo: bool | None = None
    sudo_password: str | None = None


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The executor's own machine, without SSH."""

    workdir: str | None = None


@dataclass(frozen=True, slots=True)
class HostCheck:
    """A host and what a worker found there; the report is None where there was no check.

    `unknown` is what the host has recorded and the database does not know.
    """

    name: str
    report: HostReport | None
    unknown: UnknownRecords = field(default_factory=UnknownRecords, kw_only=True)


@dataclass(frozen=True, slots=True)
class Enrolment(HostCheck):
    """The result of enrolling a host; `enrolled` is false when the report says why it failed.

    `fingerprint` is that of the host key, empty for this machine.
    """

    fingerprint: str = ""
    enrolled: bool = True


@dataclass(frozen=True, slots=True)
class NamedHost:
    """A host by its name alone."""

    name: str


@act("host.add")
def add(
    caller: Caller,
    name: str,
    options: SshOptions | LocalOptions,
    *,
    accept: str | None = None,
    ask: Ask | None = None,
    tell: Tell = lambda _host, _fingerprint: None,
    replaced: bool = False,
    check: bool = True,
) -> Done[Enrolment]:
    """Enrol a host; an SSH host is pinned to the key that it shows now.

    The key is accepted when `accept` is its fingerprint or `any`, or when `ask`, called with the
    host and the fingerprint, returns true; see `host_keys.require_acceptance`. Raises Rejected and
    Misconfigured for options that cannot be used, Transient when the host cannot be reached.
    """
    check_name(name)
    if isinstance(options, LocalOptions):
        local = Host(name=name, connection=ConnectionKind.LOCAL, workdir=options.workdir)
        return _enrol(caller, local, "", replaced, check)
    _check_options(options)
    with caller.database.begin() as connection:
        before = hosts.find(connection, name) if replaced else None
        host = hosts.with_route(connection, _describe(name, before, options))
    line, fingerprint = probes.host_key(host)
    host_keys.require_acceptance(host, fingerprint, accept, ask, tell)
    return _enrol(caller, replace(host, host_key=line), fingerprint, replaced, check)


@act("host.check")
def check(caller: Caller, name: str) -> Done[HostCheck]:
    """Log in to a host and look for problems. Raises Rejected and Misconfigured."""
    with caller.database.begin() as connection:
        host = hosts.get(connection, name)
        hosts.require_trusted(host)
        host = hosts.with_route(connection, host)
    report = probes.check(host)
    with caller.database.begin() as connection:
        unknown = unknown_passes.unknown_records(connection, report.passes)
        if report.runs_commands:
            hosts.keep_sudo(connection, name, report.facts.get("sudo"))
            unknown_passes.keep(connection, name, unknown.passes)
        audit.record(
            connection, caller.actor, Act("host.check", name, {"usable": not report.blocking})
        )
    checked = HostCheck(name, replace(report, passes=()), unknown=unknown)
    return Done(checked, notes=(*_notes(report), *_unknown(unknown)))


@act("host.remove")
def remove(caller: Caller, name: str) -> Done[NamedHost]:
    """Remove a host from the inventory. Raises Rejected while something needs it."""
    with caller.database.begin() as connection:
        hosts.remove(connection, name)
        audit.record(connection, caller.actor, Act("host.remove", name))
    return Done(NamedHost(name))


@act("host.label")
def label(caller: Caller, name: str, labels: Sequence[str]) -> Done[NamedHost]:
    """Give a host these labels in the place of all that it has. Raises Rejected.

    Hosts with the same labels are one scope: what has worked in one is only a hint in another.
    """
    for each in labels:
        if not re.fullmatch(LABEL_SHAPE, each):
            raise Rejected(
                f"{each!r} is not a valid label: write it as env=production or as one word",
                stage="input",
                next_step=NextStep.of("host label", help=True),
            )
    with caller.database.begin() as connection:
        hosts.label(connection, name, labels)
        audit.record(connection, caller.actor, Act("host.label", name, {"labels": [*labels]}))
    return Done(NamedHost(name))


@act("host.list")
def list_hosts(caller: Caller) -> tuple[Host, ...]:
    """Every enrolled host, by name."""
    with caller.database.begin() as connection:
        return hosts.all_hosts(connection)


def _enrol(
    caller: Caller, host: Host, fingerprint: str, replaced: bool, check: bool
) -> Done[Enrolment]:
    report = replace(probes.check(host), passes=()) if check else None
    if report is not None and report.blocking:
        refused = Enrolment(host.name, report, fingerprint, enrolled=False)
        return Done(refused, notes=_notes(report))
    details = {"address": host.address, "fingerprint": fingerprint, "replaced": replaced}
    with caller.database.begin() as connection:
        hosts.save(connection, host, replace=replaced)
        found = None if report is None else report.facts.get("sudo")
        hosts.keep_sudo(connection, host.name, found)
        audit.record(connection, caller.actor, Act("host.add", host.name, details))
    return Done(Enrolment(host.name, report, fingerprint), notes=_notes(report))


def _unknown(unknown: UnknownRecords) -> Iterator[Note]:
    for each in unknown.passes:
        yield Note(
            f"this database is older than the host, which has run commands of {each.ref} in pass "
            f"{each.pass_no} under revision {each.revision} that it does not know",
            NextStep.of("doctor"),
        )
    if unknown.runs:
        yield Note(
            f"the host has records of {unknown.runs} run{'s' * (unknown.runs > 1)} that this "
            "database does not know: it has lost them, or another installation works there, too",
            NextStep.of("task list"),
        )


def _notes(report: HostReport | None) -> tuple[Note, ...]:
    return () if report is None else tuple(map(Note, report.notices))


def check_name(name: str) -> None:
    """Raise Rejected unless a host can have that name."""
    if not re.fullmatch(NAME_SHAPE, name):
        raise Rejected(
            f"{name!r} is not a valid host name: use letters, digits, '.', '_' and '-'",
            stage="input",
        )


def _check_options(options: SshOptions) -> None:
    for option in ("password", "passphrase", "sudo_password"):
        given = getattr(options, option)
        if given is not None and name_of(given) is None:
            raise Rejected(
                f"--{option.replace('_', '-')} takes the name of a secret, '${{secret:NAME}}' in "
                "single quotes, never the secret itself",
                stage="input",
                next_step=NextStep.of("host add", help=True),
            )
    if options.key_path is not None and not Path(options.key_path).is_file():
        raise Rejected(
            f"there is no key file {options.key_path}",
            stage="input",
            next_step=ShellCommand(f"ssh-keygen -t ed25519 -f {shlex.quote(options.key_path)}"),
        )


def _describe(name: str, before: Host | None, options: SshOptions) -> Host:
    """The host with the given options, the others as they are enrolled; trusted again."""
    known = before if before is not None and before.connection is ConnectionKind.SSH else Host(name)
    said = {field.name: getattr(options, field.name) for field in fields(options)}
    if options.sudo is None and options.sudo_password:
        said["sudo"] = True
    new = {option: value for option, value in said.items() if value is not None}
    host = replace(known, **new, distrusted=None, via=None)
    _require(host.user, "--user", name)
    _require(host.key_path or host.password, "--key", name)
    return host


def _require(value: str | None, option: str, name: str) -> None:
    if value:
        return
    raise Rejected(
        f"{option} is needed to reach {name} by SSH",
        stage="input",
        next_step=NextStep.of(
            "host add", name, address=Blank("ADDRESS"), user=Blank("USER"), key=Blank("FILE")
        ),
    )
