"""Hosts on which looks cannot run contained: each says why, and nothing runs contained there."""

from contextlib import closing
from pathlib import Path

import pytest

from shared.domain.containment import Hidden, Missing
from shared.domain.errors import Defect
from shared.domain.host import LOCALHOST
from workers.shells.ports import Call
from workers.shells.remote.connections import HostConnections
from workers.shells.remote.enrol import look_at

REFUSES = 'echo "unshare failed: Operation not permitted" >&2; exit 1'
NO_TMPFS = 'case "$*" in *tmpfs*) exit 32 ;; esac; exec /bin/mount "$@"'
NO_REMOUNT = 'case "$*" in *remount,bind*,nosuid,nodev\\ /) exit 32 ;; esac; exec /bin/mount "$@"'
NO_TABLE = 'case "$*" in *-a*) exit 32 ;; esac; exec /bin/mount "$@"'
SECOND = 'case "$*" in "-U -p"*) exit 1 ;; esac; exec /usr/bin/unshare "$@"'
LONELY = 'case "$*" in *make-rprivate*) exit 1 ;; esac; exec /bin/mount "$@"'


@pytest.mark.parametrize(
    ("program", "does", "missing"),
    [
        ("unshare", REFUSES, Missing.NAMESPACES),
        ("unshare", SECOND, Missing.IDS),
        ("mount", LONELY, Missing.PROPAGATION),
        ("mount", NO_TMPFS, Missing.TMPFS),
        ("mount", NO_TABLE, Missing.DEVICES),
        ("mount", NO_REMOUNT, Missing.READONLY),
        ("mkfifo", "exit 1", Missing.RECORDS),
    ],
)
def test_a_host_without_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, does: str, missing: Missing
) -> None:
    """As a value; `host check` says it in words, and a contained call does not run."""
    (tmp_path / program).write_text(f"#!/bin/sh\n{does}\n")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with closing(HostConnections()) as connections:
        shell = connections.shell(LOCALHOST)
        found = shell.containment(Hidden())
        assert found.missing is missing, found
        assert not found.is_there
        report = look_at(LOCALHOST, connections.shell(LOCALHOST))
        assert report.facts["containment"] == "none"
        assert any("looks do not run contained" in each.reason for each in report.problems)
        with pytest.raises(Defect):
            shell.run(Call(f"touch {tmp_path}/ran", 10, contained=True))
        assert not (tmp_path / "ran").exists()
        assert shell.run(Call("echo outside", 10)).stdout == b"outside\n"
