"""Every shipped job has an answer to an error that programs are known to print."""

from dataclasses import replace
from typing import Final

import pytest

from shared.domain.config import Policy
from shared.runbook.library import read_library
from tests.unit.planning.given import attempt, bundle
from tests.unit.planning.runbook_prompts import PROMPTS
from workers.planning import PlanRequest, ReviseRequest
from workers.runbook.backend import RunbookBackend

NGINX: Final = "nginx: [emerg] bind() to 0.0.0.0:443 failed (98: Address already in use)"

KNOWN: Final = [
    (
        "install-postgresql",
        "install",
        "E: Unable to locate package postgresql-16",
        "postgresql.org",
    ),
    (
        "postgresql-database",
        "database",
        'createdb: error: database creation failed: ERROR:  source database "template1" is being'
        " accessed by other users",
        "createdb -T template0 -O clerk shop",
    ),
    (
        "postgresql-database",
        "database",
        'createdb: error: database creation failed: ERROR:  template database "template1" has a'
        " collation version mismatch",
        "createdb -T template0 -O clerk shop",
    ),
    ("install-nginx", "install", NGINX, "ss -ltnp"),
    (
        "install-redis",
        "install",
        "Could not create server TCP listening socket 127.0.0.1:6379: bind: Address already in use",
        "ss -ltnp",
    ),
    (
        "install-docker",
        "install",
        "docker.io : Depends: containerd (>= 1.2.6)\ncontainerd.io : Conflicts: containerd",
        "docker",
    ),
    (
        "install-nodejs",
        "install",
        "npm : Depends: node-cacache but it is not going to be installed",
        "nodejs",
    ),
    (
        "systemd-service",
        "service",
        "tick.service: Main process exited, code=exited, status=203/EXEC",
        "/srv/tick/run",
    ),
    (
        "python-app",
        "environment",
        "The virtual environment was not created successfully because ensurepip is not available.",
        "python3",
    ),
    (
        "user-with-key",
        "account",
        "useradd: group dana exists - if you want to add this user to that group, use -g.",
        "--gid dana dana",
    ),
    (
        "user-with-key",
        "account",
        "install: invalid group \u2018dana\u2019",
        "id -gn dana",
    ),
    (
        "firewall",
        "rules",
        "iptables v1.8.2 (nf_tables): Failed to initialize nft: Protocol not supported",
        "/usr/sbin/iptables-legacy",
    ),
    (
        "firewall",
        "rules",
        "iptables v1.8.9 (legacy): can't initialize iptables table `filter': Table does not exist"
        " (do you need to insmod?)",
        "/usr/sbin/iptables-nft",
    ),
    ("swap", "swap", "swapon: /swapfile: swapon failed: Invalid argument", "2G"),
    (
        "time-sync",
        "install",
        "E: Unable to locate package chrony",
        "systemd-timesyncd",
    ),
    (
        "unattended-upgrades",
        "enable",
        "apt-daily-upgrade.timer is not enabled",
        "systemctl enable --now apt-daily.timer apt-daily-upgrade.timer",
    ),
    (
        "log-rotation",
        "rotation",
        'error: skipping "/var/log/shop/app.log" because parent directory has insecure permissions',
        "chmod 755 /var/log/shop",
    ),
    (
        "backup",
        "first",
        "tar: ./orders.db: file changed as we read it",
        "tar -czf /srv/backups/nightly/first.tar.gz",
    ),
    ("disk-cleanup", "free", "sh: 1: journalctl: not found", "-mtime +30"),
    (
        "web-server",
        "site",
        NGINX,
        "listen '8443' ssl",
    ),
    (
        "web-server-letsencrypt",
        "site",
        NGINX,
        "ss -ltnp",
    ),
    (
        "status-service",
        "start",
        "OSError: [Errno 98] Address already in use",
        "8080",
    ),
]
"""A job, the step of it that fails, what a program prints, and what is done about it."""


@pytest.mark.parametrize(
    ("job", "step", "printed", "answer"),
    [pytest.param(*row, id=f"{row[0]}-{number}") for number, row in enumerate(KNOWN)],
)
def test_a_known_error_brings_its_alternative(
    job: str, step: str, printed: str, answer: str
) -> None:
    prompt = PROMPTS[job]
    library = RunbookBackend()
    plan = library.plan(PlanRequest(prompt, ("web1",), Policy()))
    failed = next(each for each in plan.steps if each.key == step)
    shown = replace(bundle(prompt=prompt), attempts=(attempt(stderr=f"{printed}\n"),))
    revised = library.revise(ReviseRequest(shown, Policy(), failed, failed.subtasks))
    assert any(answer in subtask.command for subtask in revised.subtasks)
    assert {s.command for s in revised.subtasks} != {s.command for s in failed.subtasks}


def test_every_shipped_job_has_one() -> None:
    assert {job for job, *_ in KNOWN} == {job.id for job in read_library().jobs}
