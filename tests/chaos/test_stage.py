"""The stage leaves nothing behind, and its crew is what the command line would have started."""

import contextlib
import os
from pathlib import Path

import pytest

from tests.chaos.crew import Crew
from tests.chaos.faults_clocks import NO_CLOCK
from tests.chaos.faults_disks import NO_DISK
from tests.chaos.ledger import Ledger
from tests.chaos.stage import PACE, Props, staged
from tests.services.accounts import Account
from tests.services.availability import not_possible_here
from tests.services.disks import small_disk
from tests.services.processes import marked, running
from tests.services.ring import eventually
from tests.services.sshd import SshServers


class OnStageError(Exception):
    """Something that goes wrong in the middle."""


def test_nothing_is_left_when_it_ends_in_the_middle(
    tmp_path: Path, sshd_factory: SshServers
) -> None:
    mark = f"REPLAN_RUNBOOK_DIRS={tmp_path / 'runbooks'}"
    servers: list[int | None] = []
    with (
        contextlib.suppress(OnStageError),
        staged(tmp_path, sshd_factory, "jobs: []\n", Ledger(tmp_path / "ledger")) as stage,
    ):
        eventually(lambda: "worker_started" in stage.crew.log_of("executor-1").read_text(), "it")
        servers = [stage.pid_of("postgres"), stage.pid_of("valkey")]
        assert len(marked(mark)) > len(stage.crew.members)
        stage.crew.freeze("executor-2")
        raise OnStageError
    assert None not in servers
    assert not any(running(pid) for pid in servers if pid is not None)
    eventually(lambda: marked(mark) == [], "the end of the crew", 10)


def test_the_clocks_of_workers_and_hosts_are_set_by_files_of_their_own(
    tmp_path: Path, sshd_factory: SshServers, ssh_account: Account
) -> None:
    props, ledger = Props(ssh_account, disks=False, clocks=True), Ledger(tmp_path / "ledger")
    with staged(tmp_path, sshd_factory, "jobs: []\n", ledger, props) as stage:
        if stage.crew_clock is None or stage.hosts_clock is None:
            not_possible_here(NO_CLOCK)
        members = {member.pid for member in stage.crew.members.values()}
        assert members <= set(marked(f"REPLAN_TEST_CLOCK={stage.crew_clock.file}"))
        for host in stage.hosts:
            configuration = (host.server.folder / "sshd_config").read_text()
            assert f'REPLAN_TEST_CLOCK="{stage.hosts_clock.file}"' in configuration


def test_a_full_disk_takes_no_more_and_has_room_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", os.geteuid()) as disk:
        if disk is None:
            not_possible_here(NO_DISK)
        file = disk.folder / "file"
        assert disk.fill()
        with pytest.raises(OSError, match="No space left"):
            file.write_bytes(bytes(1 << 20))
        assert disk.free()
        file.write_bytes(bytes(1 << 20))
    assert not file.exists()


def test_whoever_is_killed_is_replaced_and_whoever_ends_alone_is_told(tmp_path: Path) -> None:
    """The second has no database to come to."""
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    environ = {**PACE, "REPLAN_DATABASE_URL": nowhere, "REPLAN_BROKER_URL": "amqp://nowhere"}
    with Crew(tmp_path, environ) as crew:
        first = crew.start("executor-1", "executor").pid
        crew.kill("executor-1")
        assert crew.members["executor-1"].pid != first
        eventually(lambda: not crew.members["executor-1"].running(), "its own end", 20)
        assert crew.ended_alone == []
        crew.revive()
        assert crew.ended_alone == ["executor-1"]
    assert "broker_url" in (tmp_path / "executor-1.log").read_text()
