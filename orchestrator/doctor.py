"""Checking an installation: a list of checks and their findings."""

import os
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from orchestrator import history
from orchestrator.access import audit
from orchestrator.access.approval_key import PRIVATE_KEY, ApprovalKey
from orchestrator.views import stalls, unknown_passes
from orchestrator.views.database_server import database_server
from orchestrator.views.operator_faults import operator_faults
from orchestrator.views.postponed import postponed_checkpoints
from orchestrator.views.referred_bundles import newest_bundle
from orchestrator.views.serving_troubles import serving_troubles
from orchestrator.views.status import Status, status, with_messages
from orchestrator.views.stuck_steps import stuck_places
from orchestrator.views.values import NextStepValue
from orchestrator.words.messages import describe_workers
from orchestrator.words.postponed import describe as describe_postponed
from orchestrator.words.quantities import count_of
from orchestrator.words.serving import cure_of, describe_trouble_of
from orchestrator.words.stuck import describe_trouble, repair_of
from shared.deliveries.store import PatchStore
from shared.domain.errors import ReplanError
from shared.domain.next_step import NextStep, ShellCommand, command_line
from shared.domain.patch_store import Condition
from shared.queue import app as broker
from shared.settings import ServerSettings
from shared.store import hosts
from shared.store.database import Database, require_writable
from shared.store.migrate import require_current

MOST_FAULTS = 20
"""At most this many faults are listed."""

LEAST_ROOM = 500_000_000
"""Bytes that should be free on a disk that replan or its database writes to."""

CLOCKS_APART = 3.0
"""Seconds that the clocks of two machines may differ."""


def room_at(folder: str) -> int | None:
    """The bytes that are free for us on the disk of a folder; None if that cannot be known."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine: its clock, in seconds since 1970, and the room on the disk of a folder."""

    now: Callable[[], float] = time.time
    room: Callable[[str], int | None] = room_at


_THIS_MACHINE = Machine()


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, and the command to type next when it is not `ok`."""

    check: str
    ok: bool
    reason: str
    next_step: NextStepValue = None


def examine(server: ServerSettings, machine: Machine = _THIS_MACHINE) -> Iterator[Finding]:
    """Run every check, yielding findings; never raises for what it finds.

    Checks that need the database are skipped while it cannot be used.
    """
    database: list[Database] = []

    def open_database() -> str:
        found = Database.of(server, pooled=False)
        require_current(found)
        database.append(found)
        require_writable(found)
        return "reached, at this program's version, and writable"

    yield _check("database", open_database)
    yield _check("broker", lambda: _check_broker(server))
    yield _models(server)
    yield _check("approval key", lambda: _check_approval_key(server))
    for found in database:
        yield from _serving(server, found)
        yield _clock(found, machine)
        yield from _disks(server, found, machine)
        yield from _work(found)
        yield from _stuck(found)
        yield from _to_put_right(found)
        yield from _audit(found)
        yield from _hosts(found)
        yield from _age(found)
        yield from _deliveries(server, found)
        yield from _checkpoints(found)
        yield from _history(found)


def _check(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, ok=True, reason=look())
    except ReplanError as error:
        return Finding(name, False, error.reason, error.next_step or NextStep.of("config show"))


def _check_broker(server: ServerSettings) -> str:
    broker.require_writable(server.broker_url)
    return "reached, and takes messages"


def _models(server: ServerSettings) -> Finding:
    """Name who is asked for plans, as it is set here; planners read it where they run."""
    provider, model = server.model_provider, server.model
    if not model:
        told = f"the provider {provider} has no default model, and none is set"
        return Finding("models", False, told, ShellCommand("export REPLAN_MODEL=NAME"))
    told = f"{provider} is asked for {model}, unless a role names another"
    return Finding("models", True, told)


def _to_put_right(database: Database) -> Iterator[Finding]:
    """Check that no task waits for a key, a host or a setting."""
    try:
        with database.begin() as connection:
            found = operator_faults(connection, MOST_FAULTS)
    except ReplanError as error:
        yield Finding("waiting", False, error.reason, error.next_step or NextStep.of("db status"))
        return
    for each in found:
        tasks = f"{count_of(each.tasks, 'task')} wait{'s' * (each.tasks == 1)} for you"
        look = NextStep.of("intervention show", f"I{each.intervention}")
        reason = f"{tasks} (I{each.intervention}): {each.reason}"
        yield Finding("waiting", False, reason, each.next_step or look)


def _check_approval_key(server: ServerSettings) -> str:
    """Say who can sign approvals here; nothing is created."""
    path = server.approval_folder / PRIVATE_KEY
    if not path.exists():
        return f"there is none in {path.parent} yet, or an agent holds it"
    if ApprovalKey(path.parent).protected:
        return "signing takes its passphrase"
    mend = command_line(NextStep.of("intervention key", passphrase=True))
    return f"it has no passphrase: whatever runs as this account can approve ({mend})"


def _serving(server: ServerSettings, database: Database) -> Iterator[Finding]:
    """Check that a coordinator and a worker for every queue are there, all of this version."""
    try:
        with database.reading() as connection:
            found = status(connection)
    except ReplanError as error:
        yield Finding("processes", False, error.reason, error.next_step or NextStep.of("db status"))
        return
    with suppress(ReplanError):  # the check of the broker has said it
        counts = broker.unread_messages(server.broker_url)
        found = replace(found, queues=with_messages(found.queues, counts))
    troubles = serving_findings(found)
    yield from troubles[:MOST_FAULTS]
    if not troubles:
        coordinators = count_of(len(found.coordinators), "coordinator")
        told = f"{coordinators} and {count_of(len(found.workers), 'worker')} are connected"
        hidden = "a pooler before the database hides who is connected"
        yield Finding("processes", True, hidden if found.pooled else told)


def serving_findings(found: Status) -> tuple[Finding, ...]:
    """What is wrong with who serves, as the doctor says it."""
    own = version("replan")
    return tuple(
        Finding("processes", False, describe_trouble_of(each, found.now, own), cure_of(each))
        for each in serving_troubles(found, own)
    )


def _clock(database: Database, machine: Machine) -> Finding:
    """Check that the clocks of this machine and of the database's agree."""
    try:
        with database.begin() as connection:
            before = machine.now()
            theirs = database_server(connection).now
            after = machine.now()
    except ReplanError as error:
        return Finding("clock", False, error.reason, error.next_step or NextStep.of("db status"))
    ahead = theirs - (before + after) / 2
    if abs(ahead) <= CLOCKS_APART + (after - before) / 2:
        return Finding("clock", True, "the database's clock agrees with this machine's")
    how = "ahead of" if ahead > 0 else "behind"
    told = f"the database's clock is {abs(ahead):.0f} s {how} this machine's"
    return Finding("clock", False, told, ShellCommand("timedatectl"))


def _disks(server: ServerSettings, database: Database, machine: Machine) -> Iterator[Finding]:
    """Check that there is room on the disks that can be seen from here."""
    places = {"the data folder": str(server.data_dir)}
    embedded = server.data_dir / "postgres"
    if embedded.is_dir():
        places["the embedded database"] = str(embedded)
    if Path(server.delivery_place).is_dir():
        places["the store of deliveries"] = server.delivery_place
    with suppress(ReplanError), database.begin() as connection:
        folder = database_server(connection).folder
        if folder is not None:
            places["the database"] = folder
    found = {name: (folder, machine.room(folder)) for name, folder in places.items()}
    known = {name: (at, room) for name, (at, room) in found.items() if room is not None}
    full = {name: each for name, each in known.items() if each[1] < LEAST_ROOM}
    for name, (folder, room) in full.items():
        told = f"the disk of {name} is almost full: {room / 1e6:.0f} MB are free in {folder}"
        yield Finding("disk", False, told, ShellCommand(f"df -h {shlex.quote(folder)}"))
    if known and not full:
        least = min(room for _, room in known.values())
        yield Finding("disk", True, f"{least / 1e9:.1f} GB or more are free for {', '.join(known)}")


def _work(database: Database) -> Iterator[Finding]:
    """Check that jobs and reports are taken; running jobs do not matter."""
    try:
        with database.begin() as connection:
            waiting, reports = stalls.unclaimed_jobs(connection), stalls.unread_reports(connection)
    except ReplanError as error:
        yield Finding("work", False, error.reason, error.next_step or NextStep.of("db status"))
        return
    for each in waiting:
        reason = (
            f"{count_of(each.jobs, 'job')} on queue {each.queue} not taken by any {each.role}, "
            f"the oldest for {each.seconds:.0f} s: "
            f"{describe_workers(each.workers, each.role, each.places, each.full_since)}"
        )
        yield Finding("work", False, reason, NextStep.of("worker start", each.role))
    if reports.reports:
        reason = (
            f"{count_of(reports.reports, 'report')} not read by any coordinator, "
            f"the oldest for {reports.seconds:.0f} s"
        )
        yield Finding("work", False, reason, NextStep.of("coordinator start"))
    if not waiting and not reports.reports:
        yield Finding("work", True, f"nothing has waited longer than {stalls.PATIENCE:.0f} s")


def _stuck(database: Database) -> Iterator[Finding]:
    """Check that no step is stuck, as far as the database knows."""
    try:
        with database.begin() as connection:
            found = stuck_places(connection, stalls.PATIENCE)
    except ReplanError as error:
        yield Finding("stuck", False, error.reason, error.next_step or NextStep.of("db status"))
        return
    for each in found[:MOST_FAULTS]:
        reason = f"{each.ref}: {describe_trouble(each)}"
        yield Finding("stuck", False, reason, repair_of(each))
    if not found:
        yield Finding("stuck", True, "every step at work has a worker that is heard of")


def _audit(database: Database) -> Iterator[Finding]:
    try:
        end, faults = audit.verify(database)
    except ReplanError as error:
        yield Finding("audit", False, error.reason, error.next_step or NextStep.of("audit verify"))
        return
    for fault in faults[:MOST_FAULTS]:
        reason = f"entry {fault.seq}: {fault.reason}"
        yield Finding("audit", False, reason, NextStep.of("audit list", around=fault.seq))
    if not faults:
        yield Finding("audit", True, f"the chain is intact; entries: {end.seq}")


def _history(database: Database) -> Iterator[Finding]:
    try:
        found = history.compare(database)
    except ReplanError as error:
        yield Finding("history", False, error.reason, error.next_step or NextStep.of("db status"))
        return
    for each in found.divergences[:MOST_FAULTS]:
        command = NextStep.of("task report", f"T{each.task_id}")
        yield Finding("history", False, f"{each.place}: {each.reason}", command)
    if not found.divergences:
        older = f"; {found.older} from older rules were skipped" if found.older else ""
        told = f"the events of {count_of(found.folded, 'task')} match their rows{older}"
        yield Finding("history", True, told)


def _deliveries(server: ServerSettings, database: Database) -> Iterator[Finding]:
    """Check that the store that is set here has the newest bundle of a delivery, if there is one.

    `store verify` looks at all of them.
    """
    command = NextStep.of("store verify")
    try:
        with database.begin() as connection:
            newest = newest_bundle(connection)
        if newest is None:
            return
        found = PatchStore.open(server.delivery_place).verify(newest)
    except ReplanError as error:
        yield Finding("deliveries", False, error.reason, error.next_step or command)
        return
    good = found.condition is Condition.GOOD
    told = "is in the store, unchanged" if good else f"is {found.condition}: {found.uri}"
    yield Finding("deliveries", good, f"the newest bundle {told}", None if good else command)


def _checkpoints(database: Database) -> Iterator[Finding]:
    """Check that no checkpoint waits for a remote, or for anything else that is away."""
    try:
        with database.begin() as connection:
            found = postponed_checkpoints(connection)
    except ReplanError as error:
        reason, command = error.reason, error.next_step or NextStep.of("db status")
        yield Finding("checkpoints", False, reason, command)
        return
    for each in found[:MOST_FAULTS]:
        reason = f"{each.ref}: {describe_postponed(each)}"
        yield Finding("checkpoints", False, reason, NextStep.of("session status", each.ref))


def _age(database: Database) -> Iterator[Finding]:
    """Check that no host has recorded what the database does not know."""
    try:
        with database.begin() as connection:
            older = unknown_passes.older_than_hosts(connection)
    except ReplanError as error:
        yield Finding("age", False, error.reason, error.next_step or NextStep.of("db status"))
        return
    for number in older.asked[:MOST_FAULTS]:
        reason = f"this database is older than its hosts: I{number} waits for your word about it"
        yield Finding("age", False, reason, NextStep.of("intervention show", f"I{number}"))
    for host, each in older.found[:MOST_FAULTS]:
        reason = (
            f"this database is older than its hosts: {host} has run commands of {each.ref} in pass "
            f"{each.pass_no} that it does not know"
        )
        yield Finding("age", False, reason, NextStep.of("task show", each.ref.of_task()))
    if not older.asked and not older.found:
        yield Finding("age", True, "no host is known to have recorded more than this database")


def _hosts(database: Database) -> Iterator[Finding]:
    try:
        with database.begin() as connection:
            enrolled = hosts.all_hosts(connection)
    except ReplanError as error:
        yield Finding("hosts", False, error.reason, error.next_step or NextStep.of("host list"))
        return
    distrusted = [host for host in enrolled if host.distrusted]
    for host in distrusted:
        command = NextStep.of("host add", host.name, replace_host_key=True)
        yield Finding("hosts", False, f"{host.name} is disabled: {host.distrusted}", command)
    if not distrusted:
        yield Finding("hosts", True, f"{len(enrolled)} enrolled, none disabled")
