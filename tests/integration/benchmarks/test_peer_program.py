"""A peer's program on real servers: the one whose libraries are ours, too."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import psycopg

from benchmarks import bare
from benchmarks.peers.outside import run, told
from benchmarks.peers.programs.brief import Brief
from benchmarks.peers.takings import Taking
from tests.services.databases import plain
from tests.services.sshd import SshServer


def test_celery_chains_run_every_command(
    sshd: SshServer, empty_database_url: str, broker_url: str, tmp_path: Path
) -> None:
    """Each result is a row, and the answer is one that counts."""
    url = plain(empty_database_url)
    brief = Brief(3, 4, "", (told(sshd),), url, broker_url, str(tmp_path))
    file = tmp_path / "brief.json"
    file.write_text(json.dumps(asdict(brief)))
    taking = Taking.parse(run(Path(sys.executable), "celery", file), expected=12)
    assert taking.rate > 0
    assert rows(url) == [("true", 0)] * (3 + 12)  # 3 warmed up


def test_the_floor_commits_every_result(sshd: SshServer, empty_database_url: str) -> None:
    """With fewer plans than threads, and with more."""
    url = plain(empty_database_url)
    assert bare.fleet_committing([sshd], 1, 3, url) > 0
    assert bare.fleet_committing([sshd], 5, 2, url, threads=2) > 0
    assert rows(url) == [("true", 0)] * 13


def rows(url: str) -> list[tuple[object, ...]]:
    """What was kept."""
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT command, exit_code FROM kept").fetchall()
