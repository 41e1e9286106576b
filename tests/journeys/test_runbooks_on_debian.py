"""The runbooks that ship, carried out on a real Debian: `make journey-runbooks`.

All of them on one host, asked for in words, under the profile `configure`. What asks is approved as
a person does it. Each is done, then asked for again: what is there already is left as it is. Not
here are Docker, swap and the clock, which would change the machine below, and Let's Encrypt, which
needs a name that the world knows.

The packages are Debian's own. `systemctl` and `journalctl` stand in for systemd
(`tests/services/debian`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.journeys.on_debian import Journey, debian_journey
from tests.services.availability import only_when_asked
from tests.services.debian_base import Release
from tests.services.ring import Ring

pytestmark = [
    only_when_asked("REPLAN_JOURNEYS", "debian", "carries runbooks out: `make journey-runbooks`"),
    pytest.mark.timeout(1800),
]

RELEASE: Final = Release(
    "bookworm",
    (
        *("openssh-server", "curl", "ca-certificates", "procps", "iproute2", "sudo", "systemd"),
        *("python3-minimal", "libpython3-stdlib", "cron", "lsof"),
    ),
    (
        *("nginx", "openssl", "postgresql", "redis-server", "python3-venv", "nodejs", "npm"),
        *("logrotate", "chrony", "unattended-upgrades", "ufw", "rsync", "systemd-timesyncd"),
    ),
)

PREPARED: Final = """
mkdir -p /srv/shop /srv/tick /var/log/shop
printf '#!/bin/sh\\nexec sleep 3600\\n' > /srv/tick/run
chmod 755 /srv/tick/run
echo > /srv/shop/requirements.txt
echo 'import signal; signal.pause()' > /srv/shop/app.py
head -c 100000 /dev/urandom > /srv/shop/data
touch -d '40 days ago' /var/log/shop/app.log.7.gz
groupadd eva
"""

KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGdXb2Z0aGlzaXNub3RhcmVhbGtleWJ1dGxvbmc0"


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked for, the most that it may ask, and what holds on the host afterwards."""

    prompt: str
    stops: int
    effects: str


CASES: Final = (
    Case("install nginx", 0, "curl -fsS -o /dev/null http://127.0.0.1/"),
    Case(
        "set up a web server for shop.test with a certificate",
        1,
        "curl -fsS --cacert /etc/nginx/tls/shop.test.pem --resolve shop.test:443:127.0.0.1"
        " https://shop.test/ | grep -q shop.test",
    ),
    Case("install PostgreSQL 15", 0, "pg_isready"),
    Case(
        "create the database shop in postgresql for clerk",
        0,
        "sudo -u postgres psql -lqtA | grep -q '^shop|clerk|'",
    ),
    Case(
        "install redis with 64mb of memory",
        0,
        "redis-cli config get maxmemory | grep -qx 67108864",
    ),
    Case(
        "run /srv/tick/run as a service called tick",
        0,
        "systemctl is-active tick && pgrep -u tick",
    ),
    Case(
        f"create the user dana with the key {KEY} dana@laptop",
        1,
        "grep -q AAAAC3 /home/dana/.ssh/authorized_keys"
        " && test $(stat -c %a-%U /home/dana/.ssh/authorized_keys) = 600-dana",
    ),
    Case(
        "set up log rotation for shop and keep 7 days",
        0,
        "logrotate -d /etc/logrotate.d/shop 2>&1 | grep -q '7 rotations'",
    ),
    Case(
        "back up /srv/shop as shop every night",
        0,
        "tar -tzf /srv/backups/shop/first.tar.gz | grep -q data && test -f /etc/cron.d/backup-shop",
    ),
    Case(
        "enable automatic security updates",
        1,
        "apt-config dump APT::Periodic::Unattended-Upgrade | grep -q '\"1\"'",
    ),
    Case("install Node.js and npm", 0, "node -e 0 && npm --version"),
    Case("run the python app in /srv/shop as shopd", 2, "systemctl is-active shopd"),
    Case("clean up the disk", 0, "! test -e /var/log/shop/app.log.7.gz"),
    Case(
        "set up a firewall for the ports 80,443",
        1,
        "ufw status | grep -q '^Status: active' && ufw status | grep -q '^80,443/tcp'",
    ),
)


@pytest.fixture
def journey(ring: Ring, tmp_path: Path) -> Iterator[Journey]:
    """Everything up under the profile."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("profiles: [configure]\n")
    ring.extra["REPLAN_GUARD_POLICY"] = str(policy)
    roles = ("taskmaster", "planner", "subtask_planner")
    with debian_journey(ring, RELEASE, PREPARED, roles=roles) as made:
        yield made


def test_what_ships_is_carried_out_and_leaves_what_is_there(journey: Journey) -> None:
    for case in CASES:
        for _ in range(2):
            journey.ring.replan(
                "task", "submit", case.prompt, "--host", "web1", "--planner", "runbook"
            )
            questions = journey.carried_out(journey.newest(), case.stops)
            print(f"{case.prompt}: {len(questions)} questions")
            journey.comes_to_hold(case.effects, f"what {case.prompt!r} is for")
    assert journey.failures() == []
    _answer_a_known_error(journey)


def _answer_a_known_error(journey: Journey) -> None:
    """`useradd` fails where a group of that name is there; the alternative asks, too."""
    journey.ring.replan(
        *("task", "submit", f"create the user eva with the key {KEY}"),
        *("--host", "web1", "--planner", "runbook"),
    )
    journey.carried_out(journey.newest(), 2)
    journey.comes_to_hold("grep -q AAAAC3 /home/eva/.ssh/authorized_keys", "the account of eva")
    assert {outcome for _, outcome in journey.failures()} == {"failed"}
