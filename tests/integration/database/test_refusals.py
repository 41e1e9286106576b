"""A ring whose database refuses it for a while: it waits for the operator, and loses nothing."""

import json
from pathlib import Path

from sqlalchemy import make_url

from tests.journeys.plans import plan, step
from tests.services.databases import execute
from tests.services.ring import Ring, eventually

END_SESSIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename = {} AND datname = current_database()
"""


def test_a_password_that_was_changed_under_a_ring_is_waited_for(
    database_url: str, broker_url: str, tmp_path: Path
) -> None:
    url = make_url(database_url)
    role = f"service_{url.database}"
    execute(database_url, "CREATE ROLE {} LOGIN SUPERUSER PASSWORD 'right'", role)
    ring = Ring(database_url, broker_url, tmp_path)
    ring.extra.update(
        REPLAN_DATABASE_URL=url.set(username=role, password="right").render_as_string(False),
        REPLAN_POLL="0.5",
    )
    done = tmp_path / "done"
    try:
        ring.coordinator()
        ring.worker("executor")
        commands = [f"echo {n} >> {done}; sleep 0.2" for n in range(12)]
        task = ring.submit(plan(step(commands)), "localhost")
        eventually(lambda: done.exists() and done.read_text().count("\n") >= 2, "the first ones")
        execute(database_url, "ALTER ROLE {} PASSWORD 'wrong'", role)
        end_sessions(database_url, role)
        for name in ring.processes:
            eventually(lambda n=name: refused(ring, n), f"the refusal in {name}")  # type: ignore[misc]
        execute(database_url, "ALTER ROLE {} PASSWORD 'right'", role)
        ring.ends(task)
        assert done.read_text().split() == [str(n) for n in range(12)]
        for name, process in ring.processes.items():
            assert process.poll() is None
            assert "Traceback" not in ring.log(name)
    finally:
        ring.stop()
        end_sessions(database_url, role)
        execute(database_url, "DROP ROLE {}", role)


def end_sessions(url: str, role: str) -> None:
    """End what that role has open."""
    execute(url, END_SESSIONS.replace("{}", f"'{role}'"))


def refused(ring: Ring, name: str) -> bool:
    """Whether a process has said that its login is refused."""
    lines = [json.loads(line) for line in ring.log(name).splitlines() if line.startswith("{")]
    return any("refuses the login" in str(entry.get("reason")) for entry in lines)
