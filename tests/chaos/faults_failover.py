"""A failover that loses what was committed last: a copy of some seconds ago becomes the primary."""

import contextlib
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import make_url

from orchestrator.embedded.postgres import folder_of_binaries
from orchestrator.embedded.services import start
from tests.chaos.faults import Fault, Injected
from tests.chaos.orders import Order, PassOnHost
from tests.chaos.stage import Stage
from tests.services.databases import plain

LOST: Final = 8.0
"""Seconds whose commits the copy lacks."""

LEASE: Final = 4.0
"""Seconds within which a worker whose claim was lost starts nothing more, at the latest."""

SUBMITTED: Final = "SELECT id, idempotency_key AS tag FROM tasks"

CLAIMS: Final = "SELECT unnest(tokens) AS claim FROM jobs"

RUNS: Final = "SELECT token FROM runs"

STEM: Final = re.compile(
    r"(?P<run>\w+)-(?P<step>\d+)-(?P<revision>\d+)-(?P<pass>\d+)\.\d+\.\d+_(?P<claim>\w+)"
)
STARTED: Final = re.compile(rb"^@@[0-9a-f]+ s R", re.MULTILINE)
"""How a host names the records of a pass, and what it writes when a command of it starts."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A base backup: its folder, when it was begun, and the orders committed before that."""

    folder: Path
    orders: dict[int, Order]
    begun: float


def _failed_over(stage: Stage, _chance: random.Random) -> Injected | None:
    if "database" in stage.afflicted or stage.pid_of("postgres") is None:
        return None
    stage.afflicted.add("database")
    folder = stage.services.data_dir / "postgres" / "standby"
    copy = Copy(folder, dict(stage.book.orders), time.time())
    _back_up(stage.services.admin_url, copy.folder)

    def undo() -> None:
        _promote(stage, copy)
        stage.afflicted.discard("database")

    return Injected(undo, LOST)


def _back_up(url: str, folder: Path) -> None:
    """Have Postgres copy itself; what is committed until this returns may be in the copy."""
    at = make_url(url)
    program = folder_of_binaries() / "pg_basebackup"
    words = ("--host", at.host, "--port", str(at.port), "--username", at.username)
    options = ("--checkpoint=fast", "--wal-method=stream", "--no-sync", "--no-password")
    subprocess.run(
        (str(program), *map(str, words), *options, "--pgdata", str(folder)),
        env={**os.environ, "PGPASSWORD": str(at.password)},
        check=True,
        capture_output=True,
        timeout=60,
    )


def _promote(stage: Stage, copy: Copy) -> None:
    """Put the copy in the primary's place, at the same address, while nobody can reach either."""
    stage.database_link.black_hole()
    stage.database_link.cut()
    before = _claims(stage)
    postgres = stage.services._postgres
    assert postgres is not None
    stage.services.supervisor.remove("postgres")
    cluster = copy.folder.with_name("cluster")
    shutil.rmtree(cluster)
    copy.folder.rename(cluster)
    (cluster / "standby.signal").touch()
    start(stage.services.supervisor, postgres)
    with psycopg.connect(plain(stage.services.admin_url), autocommit=True) as connection:
        connection.execute("SELECT pg_promote()")
    stage.book.reconcile({row.id: row.tag for row in stage.rows.all(SUBMITTED)}, copy.orders)
    stage.book.claims |= before - _claims(stage)
    runs = {row.token for row in stage.rows.all(RUNS)}
    begun = passes_on(stage.hosts[0].server.home)
    stage.book.passes |= {
        each for each, claim in begun if claim in stage.book.claims and each.run in runs
    }
    stage.database_link.pass_on()
    stage.book.spans.append((copy.begun, time.time() + LEASE))


def _claims(stage: Stage) -> set[str]:
    """The claims that the database knows."""
    return {row.claim for row in stage.rows.all(CLAIMS)}


def passes_on(home: Path) -> Iterator[tuple[PassOnHost, str]]:
    """The passes under which hosts with that home have started commands, each with its claim."""
    for log in (home / ".replan" / "jobs").glob("*/*.log"):
        stem = STEM.fullmatch(log.stem)
        with contextlib.suppress(FileNotFoundError):  # the records of a run are removed at its end
            if stem and STARTED.search(log.read_bytes()):
                place = (int(stem["step"]), int(stem["revision"]), int(stem["pass"]))
                yield PassOnHost(stem["run"], *place), stem["claim"]


FAULTS: Final = (Fault("failover without the last 8 s", _failed_over, for_all=True),)
