"""What is asked of a host before work is given to it."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from shared.domain.errors import Transient
from shared.domain.host import LOCALHOST
from shared.domain.next_step import command_line
from tests.integration.remote.hosts import ssh_host
from tests.services.sshd import SshServer, SshServers
from workers.shells.remote.enrol import check_host, fetch_host_key


def test_a_host_key_can_be_fetched_without_logging_in(sshd_factory: SshServers) -> None:
    """It is what the connection will pin later, with the fingerprint people compare."""
    server = sshd_factory()
    key = fetch_host_key(server.host, server.port, timeout=5)

    assert key.line == server.host_public_key
    assert key.key_type == "ssh-ed25519"
    assert key.fingerprint.startswith("SHA256:")
    assert "Accepted" not in server.log.read_text()


def test_a_key_of_a_host_that_is_not_there(sshd_factory: SshServers) -> None:
    """One sentence, and the stage."""
    server = sshd_factory()
    server.stop()

    with pytest.raises(Transient) as caught:
        fetch_host_key(server.host, server.port, timeout=1)
    assert caught.value.stage == "connect"


def test_a_good_host_is_described(sshd: SshServer) -> None:
    """What it is, how far away it is, and nothing in the way."""
    report = check_host(ssh_host(sshd))

    assert report.ok
    assert (report.reachable, report.authenticated, report.runs_commands) == (True, True, True)
    assert report.facts["user"] == sshd.user
    assert report.facts["home"] == report.facts["workdir"] == str(sshd.home)
    assert {"os", "kernel", "arch", "login_shell", "cpus", "sudo"} <= set(report.facts)
    assert report.round_trip_ms is not None
    assert 0 < report.round_trip_ms < 5000
    assert report.host_key is not None
    assert json.loads(json.dumps(asdict(report)))["host"] == "web1"


def test_this_machine_is_described_too() -> None:
    """The same report without a connection."""
    report = check_host(LOCALHOST)

    assert report.ok
    assert report.host_key is None


@pytest.mark.parametrize(
    ("changes", "stage", "reached"),
    [
        ({"port": 1}, "connect", (False, False, False)),
        ({"host_key": None}, "host_key", (True, False, False)),
        ({"key_path": "/nowhere/key"}, "authenticate", (True, False, False)),
        ({"workdir": "/nowhere"}, "execute", (True, True, False)),
    ],
)
def test_each_problem_says_where_and_what_to_do(
    sshd: SshServer, changes: dict[str, object], stage: str, reached: tuple[bool, ...]
) -> None:
    """The stage, a sentence that names the host, and a command."""
    report = check_host(ssh_host(sshd, **changes))

    (problem,) = report.problems
    assert not report.ok
    assert problem.blocking
    assert problem.stage == stage
    assert "web1" in problem.reason
    assert problem.next_step
    assert (report.reachable, report.authenticated, report.runs_commands) == reached


def test_a_key_file_that_others_can_read_is_a_notice(sshd: SshServer, tmp_path: Path) -> None:
    """It does not stop the work."""
    key = tmp_path / "key"
    key.write_bytes(sshd.key_path.read_bytes())
    key.chmod(0o644)

    report = check_host(ssh_host(sshd, key_path=str(key)))

    assert report.ok
    assert f"chmod 600 {key}" in [command_line(problem.next_step) for problem in report.problems]
