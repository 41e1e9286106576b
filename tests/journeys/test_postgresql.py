"""S0.89-S0.93 on a real Debian over real SSH: `make journey-postgres`, some minutes the first time.

The host is set up with an archive that has a newer postgresql-13, as a security archive has, and
nothing that it depends on. The archive that has all of it, with a signing key of its own, is only
there for whoever adds it. What stands in for the real ones: the two archives, which are made of
Debian's own packages, and systemctl, since no systemd runs in a namespace.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from shared.domain.config import Policy
from shared.store import hosts
from tests.fakes.model_server import ModelServer, Says, model_server
from tests.journeys.plans import postgresql_as_planned
from tests.services.availability import UnavailableError, give_up, only_when_asked
from tests.services.debian_base import Release, base
from tests.services.debian_host import ARCHIVES, DebianHost
from tests.services.debian_repository import Signer, named, repository
from tests.services.ring import Ring
from tests.unit.planning.given import (
    revision_answer,
    subtask_answer,
)

pytestmark = [
    only_when_asked(
        "REPLAN_JOURNEYS",
        "debian",
        "installs a Debian and PostgreSQL in it: `make journey-postgres`",
    ),
    pytest.mark.timeout(1800),
]

# The last release that has the version of the text, postgresql-13.
RELEASE: Final = Release(
    "bullseye",
    (
        *("openssh-server", "curl", "ca-certificates", "procps", "iproute2"),
        *("python3-minimal", "libpython3-stdlib"),
    ),
    ("postgresql-13", "postgresql"),
)
SECURITY: Final = f"""\
set -e
curl -sfo /etc/apt/trusted.gpg.d/security.asc {ARCHIVES}/security.asc
echo 'deb {ARCHIVES} security main' > /etc/apt/sources.list
"""
KEY: Final = "/usr/share/keyrings/pgdg.asc"
LIST: Final = "/etc/apt/sources.list.d/pgdg.list"
STORY: Final = """
    SELECT revision, subtask, number, outcome, exit_code, round(extract(epoch FROM ended_at
        - started_at), 1), command, right(rtrim(stderr, E'\\n'), 300)
    FROM attempts ORDER BY id
"""
ANSWERS: Final = "runuser -u postgres -- psql -Atc 'SELECT 6 * 7'"


@dataclass
class Journey:
    """A ring on a scripted model, and the host."""

    ring: Ring
    model: ModelServer
    host: DebianHost


@pytest.fixture
def journey(ring: Ring) -> Iterator[Journey]:
    """Everything up; the host is gone afterwards."""
    # Not below tmp_path: what a host's layer is made of has to be reached by its own root.
    with tempfile.TemporaryDirectory(prefix="replan-debian-") as scratch, model_server() as model:
        folder = Path(scratch)
        folder.chmod(0o755)
        try:
            made = base(RELEASE)
            archives = folder / "archives"
            archives.mkdir()
            newer = named(made.packages, "postgresql-13")
            for name, packages in (("security", newer), ("pgdg", made.packages)):
                signer = Signer(folder / f"signer-{name}")
                repository(archives, name, packages, signer)
                signer.close()
            host = DebianHost(made, folder / "db1", "db1", archives=archives)
            host.start()
        except UnavailableError as reason:
            give_up(reason)
        try:
            assert host.run(SECURITY).returncode == 0
            with ring.database.begin() as connection:
                hosts.save(connection, host.described())
            ring.extra |= model.environ
            ring.coordinator()
            ring.worker("taskmaster", "planner", "subtask_planner", "escalation")
            ring.worker("executor")
            yield Journey(ring, model, host)
            ring.stop()
        finally:
            host.close()


def test_postgresql_is_installed_once_the_missing_repository_was_added(journey: Journey) -> None:
    """Four errors as in the text, the evidence, a revision by the step's author, success."""
    ring, model, host = journey.ring, journey.model, journey.host
    model.will(
        *postgresql_as_planned(),
        Says(
            revision_answer(
                subtask_answer(
                    "key", f"curl -fsSo {KEY} {ARCHIVES}/pgdg.asc", check=f"test -s {KEY}"
                ),
                subtask_answer(
                    "repository",
                    f"echo 'deb [signed-by={KEY}] {ARCHIVES} pgdg main' > {LIST}",
                    check=f"test -s {LIST}",
                    needs=["key"],
                ),
                subtask_answer("update", "apt update", needs=["repository"]),
                subtask_answer(
                    "install",
                    "apt install -y postgresql-13",
                    needs=["update"],
                    check="dpkg -s postgresql-13",
                    timeout_seconds=600,
                ),
                subtask_answer(
                    "enable",
                    "systemctl enable postgresql",
                    needs=["install"],
                    check="systemctl is-enabled postgresql",
                ),
                subtask_answer(
                    "start",
                    "systemctl start postgresql",
                    needs=["enable"],
                    check="systemctl is-active postgresql",
                ),
            )
        ),
    )
    assert host.run(ANSWERS).returncode != 0
    task = ring.submit(None, "db1", policy=Policy(), prompt="Install PostgreSQL")
    try:
        ring.ends(task, patience=900.0)
    finally:  # the story, whatever its end
        for row in ring.rows(STORY):
            print(*row, sep=" | ")

    first = ring.rows(
        "SELECT subtask, number, outcome, correction, exit_code, counted FROM attempts"
        " WHERE revision = 0 ORDER BY id"
    )
    assert [tuple(row) for row in first] == [
        (1, 1, "ok", None, 0, False),
        (2, 1, "failed", None, 100, True),
        (2, 2, "failed", "apt_update_fix_missing", 100, True),
        (2, 3, "failed", "apt_other_package", 100, True),
        (3, 1, "failed", None, 1, True),
    ]
    (bundle,) = ring.rows("SELECT revision, body FROM bundles")
    assert bundle.revision == 0
    assert [entry["exit_code"] for entry in bundle.body["attempts"]] == [0, 100, 100, 100, 1]
    (asked,) = model.of("RevisionAnswer")
    assert "E: Unable to locate package postgresql" in asked.said[0]
    assert "Depends: postgresql-client-13" in asked.said[0]
    assert "Unit file postgresql.service does not exist" in asked.said[0]

    second = ring.rows(
        "SELECT subtask, outcome, counted FROM attempts WHERE revision = 1 ORDER BY id"
    )
    # Debian enables the service when it is installed: what is green already is not run.
    ended = ["ok", "ok", "ok", "ok", "satisfied", "ok"]
    assert [tuple(row) for row in second] == [
        (number, outcome, False) for number, outcome in enumerate(ended, start=1)
    ]
    assert ring.rows("SELECT phase, revision, errors FROM run_steps") == [("done", 1, 0)]
    assert ring.scalar("SELECT count(*) FROM interventions") == 0
    assert model.unused() == 0
    answered = host.run(ANSWERS)
    assert (answered.returncode, answered.stdout) == (0, "42\n"), answered.stderr
