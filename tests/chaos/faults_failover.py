"""A failover that loses what was committed last: a copy of some seconds ago becomes the primary."""

import os
import random
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import make_url

from orchestrator.embedded.postgres import folder_of_binaries
from orchestrator.embedded.services import start
from tests.chaos.faults import Fault, Injected
from tests.chaos.orders import Order, Place
from tests.chaos.stage import Stage
from tests.services.databases import plain

LOST: Final = 8.0
"""Seconds whose commits the copy lacks."""

SUBMITTED: Final = "SELECT id, idempotency_key AS tag FROM tasks"

ENDED: Final = """
    SELECT r.task_id, a.step, a.revision, a.pass_no, a.subtask, a.try_no
    FROM attempts a JOIN runs r ON r.id = a.run_id WHERE a.ended_at IS NOT NULL
"""


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
    _back_up(stage.services.database_url, copy.folder)

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
    before = _places(stage)
    stage.book.spans.append((copy.begun, time.time()))
    postgres = stage.services._postgres
    assert postgres is not None
    stage.services.supervisor.remove("postgres")
    cluster = copy.folder.with_name("cluster")
    shutil.rmtree(cluster)
    copy.folder.rename(cluster)
    (cluster / "standby.signal").touch()
    start(stage.services.supervisor, postgres)
    with psycopg.connect(plain(stage.services.database_url), autocommit=True) as connection:
        connection.execute("SELECT pg_promote()")
    stage.book.reconcile({row.id: row.tag for row in stage.rows.all(SUBMITTED)}, copy.orders)
    stage.book.ends |= before - _places(stage)
    stage.database_link.pass_on()


def _places(stage: Stage) -> set[Place]:
    """Every attempt that the database knows the end of."""
    return {Place(*row) for row in stage.rows.all(ENDED)}


FAULTS: Final = (Fault("failover without the last 8 s", _failed_over, for_all=True),)
