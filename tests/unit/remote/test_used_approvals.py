"""The host's own note of which attempt has used an approval."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from shared.domain.attempt import CommandResult
from shared.domain.errors import Misconfigured
from workers.shells.ports import Call, Shell
from workers.shells.remote.used_approvals import first_use

ONE, OTHER = "a" * 64, "b" * 64
AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Host:
    """A host whose runner keeps its records in a folder."""

    records: Path

    def run(self, call: Call) -> CommandResult:
        """As a look of the runner."""
        done = subprocess.run(
            ("/bin/sh", "-c", call.command),
            env={**os.environ, "REPLAN_ATTEMPT": f"{self.records}/looks/x/1"},
            capture_output=True,
            check=False,
        )
        return CommandResult(call.command, done.returncode, done.stdout, done.stderr, AT, AT)


def use(host: Host, approval: str, key: str) -> bool:
    return first_use(cast("Shell", host), "web1", approval, key)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """One whose folder would break careless shell."""
    folder = tmp_path / "a $home; x"
    folder.mkdir()
    return Host(folder)


def test_an_approval_is_for_the_attempt_that_used_it_first(host: Host) -> None:
    assert use(host, ONE, "7-1-0-1.1.1")
    assert use(host, ONE, "7-1-0-1.1.1")
    assert not use(host, ONE, "7-1-0-1.2.1")
    assert use(host, OTHER, "7-1-0-1.2.1")
    assert {path.name for path in (host.records / ".approvals").iterdir()} == {ONE, OTHER}
    assert (host.records / ".approvals" / ONE).stat().st_mode & 0o077 == 0


def test_of_many_at_once_one_is_first(host: Host) -> None:
    keys = [f"7-1-0-1.{number}.1" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(lambda key: use(host, ONE, key), keys)) == 1


def test_a_week_later_it_has_expired_and_is_forgotten(host: Host) -> None:
    assert use(host, ONE, "1")
    old = host.records / ".approvals" / ONE
    os.utime(old, (0, 0))
    assert use(host, OTHER, "2")
    assert not old.exists()


@pytest.mark.parametrize("obstacle", ["a file", "a link"])
def test_where_it_cannot_be_noted_nothing_is_approved(
    host: Host, tmp_path: Path, obstacle: str
) -> None:
    place = host.records / ".approvals"
    if obstacle == "a file":
        place.write_text("")
    else:
        place.symlink_to(tmp_path)
    with pytest.raises(Misconfigured, match="no place to note"):
        use(host, ONE, "1")
