"""A check says what is wrong with a host, and commands run all the same: real shells, real SSH."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.domain.host import LOCALHOST
from shared.domain.preview import NoPreview
from tests.integration.remote.hosts import eventually, ssh_host
from tests.integration.remote.shells import READ_BY, Machine, MachinePool, machine
from tests.services.availability import not_possible_here
from tests.services.sshd import SshServer, SshServers
from workers.shells.ports import Call, PassRecord
from workers.shells.remote.connections import HostConnections
from workers.shells.remote.enrol import HostReport, check_host, look_at
from workers.shells.remote.shell import RunnerShell

OWN_MEMORY = Path(f"/dev/shm/replan-{os.geteuid()}")


def reasons(report: HostReport) -> str:
    """All that is told."""
    return "\n".join(problem.reason for problem in report.problems)


def reasons_but_previews(report: HostReport) -> str:
    """All that is told, but that there are no previews where `setpriv` is missing (busybox)."""
    missing = report.facts.get("previews_missing")
    assert missing in (None, NoPreview.TOOLS)
    told = [problem.reason for problem in report.problems]
    seen_before = [reason for reason in told if not reason.startswith("nobody sees beforehand")]
    assert (len(told) > len(seen_before)) == (missing is not None)
    return "\n".join(seen_before)


@pytest.fixture(params=READ_BY)
def on(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """A machine of each kind."""
    return machine(tmp_path, request.param)


def looked(on: Machine) -> HostReport:
    """The report on a machine."""
    with MachinePool(on) as pool, closing(RunnerShell(LOCALHOST, pool)) as shell:
        return look_at(LOCALHOST, shell)


def replaced(on: Machine, tool: str, text: str) -> None:
    """Put a script of ours in the place of a tool."""
    path = on.sh.parent / tool
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_good_machine_is_told_of_without_a_word(on: Machine) -> None:
    """Where its records lie among the facts; busybox tells the same."""
    report = looked(on)

    assert report.ok
    assert reasons_but_previews(report) == ""
    assert report.facts["records"] == str(on.root)
    assert report.facts["records_fs"]
    assert int(report.facts["home_free_kb"]) > 0
    assert report.facts["clock_off"] == "0"


def test_what_the_records_take_up(on: Machine) -> None:
    """Their size, how many runs they are of, how old the oldest are, and the cap; no looks."""
    with MachinePool(on) as pool:
        for number, run in enumerate(("aa/tok1-1-0-1", "aa/tok1-2-0-1", "bb/tok2-1-0-1")):
            record = PassRecord(run, 1, False, 0.0, lambda: 60.0, lambda: False)
            shell = RunnerShell(LOCALHOST, pool, record)
            assert shell.run(Call("head -c 50000 /dev/zero; exit 0", 20, key=f"k{number}")).ok
            shell.close()
    (log,) = on.root.glob("aa/tok1-1-*.log")
    hour_ago = time.time() - 3600
    os.utime(log, (hour_ago, hour_ago))
    facts = looked(on).facts

    assert int(facts["records_kb"]) >= 150
    assert facts["records_runs"] == "2"
    assert 3600 <= int(facts["records_age"]) < 4000
    assert facts["records_cap_kb"] == "250000"
    assert "take up" not in reasons(looked(on))
    with MachinePool(on) as pool, closing(RunnerShell(LOCALHOST, pool)) as shell:
        assert "take up" in reasons(look_at(LOCALHOST, shell, records_cap=150_000))


def test_no_setsid(tmp_path: Path) -> None:
    """Commands run."""
    on = machine(tmp_path, "busybox")
    (on.sh.parent / "setsid").unlink()
    report = looked(on)

    assert report.ok
    assert "no setsid" in reasons(report)


@pytest.mark.parametrize(("days", "way"), [(1, "24 hours ahead of"), (-3, "3 days behind")])
def test_a_clock_that_is_off(on: Machine, days: int, way: str) -> None:
    """By how much, and which way."""
    real = shutil.which("date")
    replaced(on, "date", f"echo $(($({real} +%s) + {days * 86_400}))")
    report = looked(on)

    assert report.ok
    assert way in reasons(report)


def test_what_logind_does_at_a_logout(on: Machine) -> None:
    """Its answer is among the facts; whether it matters is judged from them."""
    replaced(
        on,
        "loginctl",
        "echo KillUserProcesses=yes; echo KillExcludeUsers=root ci; echo RemoveIPC=no",
    )
    facts = looked(on).facts

    assert (facts["logout_kills"], facts["logout_spares"]) == ("yes", "root ci")
    assert facts["logout_empties_shm"] == "no"


# --- no place at home -----------------------------------------------------------------------------


@dataclass(frozen=True)
class TightHome:
    """A home that is a small file system of its own."""

    path: Path

    def fill(self) -> None:
        """Leave no byte free."""
        with (self.path / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(4096))

    def lock(self) -> None:
        """Let nobody write there, whoever it is."""
        _mount("-o", "remount,ro", str(self.path))


def _mount(*words: str) -> None:
    done = subprocess.run(("mount", *words), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        not_possible_here(f"nothing can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def tight(on: Machine) -> Iterator[TightHome]:
    """The machine's home with 256 kB."""
    if os.geteuid() != 0:
        not_possible_here("only root can mount")
    _mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(on.home))
    try:
        yield TightHome(on.home)
    finally:
        subprocess.run(["umount", "-l", str(on.home)], check=True)


@pytest.fixture
def name() -> Iterator[str]:
    """The name of a pass whose records nobody else has; those in memory are removed."""
    first = f"test-{secrets.token_hex(4)}"
    yield f"{first}/1-0-1"
    shutil.rmtree(OWN_MEMORY / first, ignore_errors=True)


@contextmanager
def driving(on: Machine, name: str, fence: int) -> Iterator[RunnerShell]:
    """A worker that drives the pass, and loses its connections at the end."""
    record = PassRecord(name, fence, fence > 1, 1.0, lambda: 600.0, lambda: False)
    with MachinePool(on) as pool:
        yield RunnerShell(LOCALHOST, pool, record)


@pytest.mark.parametrize("why", ["No space left on device", "Read-only file system"])
def test_a_home_that_cannot_be_written(
    on: Machine, tight: TightHome, name: str, tmp_path: Path, why: str
) -> None:
    """The check says so and why; commands run, and are found again, from memory."""
    tight.lock() if why.startswith("Read") else tight.fill()
    report = looked(on)

    assert report.ok
    assert report.facts["records"] == str(OWN_MEMORY)
    assert f"({why})" in reasons(report)

    ledger = tmp_path / "ledger"
    command = f"echo run >>{ledger}; echo out; echo err >&2; exit 3"
    with driving(on, name, 1) as shell:
        assert shell.run(Call(command, 20, key="k1")).exit_code == 3
    with driving(on, name, 2) as shell:
        again = shell.run(Call(command, 20, key="k1"))
    assert (again.exit_code, again.stdout, again.stderr) == (3, b"out\n", b"err\n")
    assert ledger.read_text() == "run\n"


def test_a_folder_for_records_that_is_a_link(on: Machine, tmp_path: Path) -> None:
    """Whoever made the link could read and change what lies behind it."""
    on.root.parent.mkdir()
    on.root.symlink_to(tmp_path)
    report = looked(on)

    assert report.ok
    assert report.facts["records"] == str(OWN_MEMORY)
    assert "it is a link" in reasons(report)
    assert not list(tmp_path.glob(".try*"))


def test_the_kind_of_the_file_system_is_that_of_the_records(on: Machine, tight: TightHome) -> None:
    """Of all that is mounted above them, the nearest."""
    report = looked(on)

    assert report.facts["records"] == str(tight.path / ".replan/jobs")
    assert report.facts["records_fs"] == "tmpfs"
    assert reasons_but_previews(report) == ""


def test_a_home_that_fills_up_on_the_way(
    on: Machine, tight: TightHome, name: str, tmp_path: Path
) -> None:
    """What has records at home and what has them in memory are both found again."""
    ledger = tmp_path / "ledger"
    with driving(on, name, 1) as shell:
        assert shell.run(Call(f"echo 1 >>{ledger}", 20, key="k1")).ok
        tight.fill()
        # What is recorded of it no longer fits beside the record before it.
        long = f"echo 2 >>{ledger}; exit 4 # {'x' * 8192}"
        assert shell.run(Call(long, 20, key="k2")).exit_code == 4
    with driving(on, name, 2) as shell:
        assert shell.run(Call("exit 9", 20, key="k1")).exit_code == 0
        assert shell.run(Call("exit 9", 20, key="k2")).exit_code == 4
        assert shell.run(Call(f"echo 3 >>{ledger}", 20, key="k3")).ok
    assert ledger.read_text().split() == ["1", "2", "3"]


@pytest.fixture
def shut_home(sshd: SshServer) -> Iterator[Path]:
    """Where an account's records lie that may not write in its home and has none from before."""
    memory = Path(f"/dev/shm/replan-{sshd.account.uid}")
    if not sshd.account.exclusive:
        not_possible_here("the account may have records of its own")
    sshd.end_commands()
    shutil.rmtree(sshd.home / ".replan", ignore_errors=True)
    sshd.home.chmod(0o500)
    try:
        yield memory
    finally:
        sshd.end_commands()
        sshd.home.chmod(0o700)
        shutil.rmtree(memory, ignore_errors=True)
        memory.unlink(missing_ok=True)


def test_an_account_that_may_not_write_in_its_home(sshd: SshServer, shut_home: Path) -> None:
    """Over SSH: a notice, and commands that run."""
    report = check_host(ssh_host(sshd))

    assert report.ok
    assert report.facts["records"] == str(shut_home)
    assert "(Permission denied)" in reasons(report)
    with closing(HostConnections()) as connections:
        assert connections.shell(ssh_host(sshd)).run(Call("echo ran", 20)).stdout == b"ran\n"


def test_an_account_without_any_place_for_records(sshd: SshServer, shut_home: Path) -> None:
    """Nothing runs, and the operator is told where place is to be made."""
    shut_home.write_text("in the way")
    report = check_host(ssh_host(sshd))

    (problem,) = report.problems
    assert not report.ok
    assert (problem.blocking, problem.family) == (True, "misconfigured")
    assert "neither ~/.replan/jobs nor /dev/shm is writable" in problem.reason


# --- how it is reached ----------------------------------------------------------------------------


def test_start_up_files_that_print_do_not_disturb_a_check(sshd_factory: SshServers) -> None:
    """Even what looks like a fact."""
    server = sshd_factory()
    profile = server.home / ".bashrc"
    profile.write_text("echo user=nobody; echo os=none >&2; printf 'home=/nowhere'\n")
    try:
        report = check_host(ssh_host(server))
    finally:
        profile.unlink()

    assert report.ok
    assert (report.facts["user"], report.facts["home"]) == (server.user, str(server.home))


@pytest.mark.parametrize(("allowed", "given"), [("MaxSessions 1", "1"), ("MaxSessions 10", "2")])
def test_one_session_on_a_connection_is_a_notice(
    sshd_factory: SshServers, allowed: str, given: str
) -> None:
    """Commands run, each on a connection of its own."""
    report = check_host(ssh_host(sshd_factory(allowed)))

    assert report.ok
    assert report.facts["sessions"] == given
    assert ("MaxSessions 1)" in reasons(report)) == (given == "1")


@contextmanager
def the_only_place(server: SshServer) -> Iterator[None]:
    """Hold a connection on which nobody logs in, once the server has room for it."""
    held: list[socket.socket] = []

    def greeted() -> bool:
        connection = socket.create_connection((server.host, server.port))
        if connection.recv(4) == b"SSH-":
            held.append(connection)
            return True
        connection.close()
        return False

    assert eventually(greeted)
    with held[0]:
        yield


def test_a_host_where_too_many_log_in_is_transient(sshd_factory: SshServers) -> None:
    """The sentence names the setting, and the host is well as soon as there is room."""
    server = sshd_factory("MaxStartups 1")
    with the_only_place(server):
        report = check_host(ssh_host(server))

    (problem,) = report.problems
    assert (problem.blocking, problem.family, problem.stage) == (True, "transient", "connect")
    assert "raise MaxStartups" in problem.reason
    assert "MaxStartups" in server.log.read_text()
    assert eventually(lambda: check_host(ssh_host(server)).ok)
