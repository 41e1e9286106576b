"""Eight plans that set a host up, carried out on a real Debian: `make journey-configure`.

They are those of `tests/cases/guard/plans`, under the profile `configure`, on one host and one
after the other: what a plan leaves there is remembered when the next one is judged. Each may ask
once, and is approved as a person approves: shown, then answered, with the command line. Another
host shows what a person and a rule (`effects`) see of an edit of nginx's configuration.

nginx, PostgreSQL, Python, Node.js, git, cron's folder and logrotate are Debian's own. These stand
in for others: `systemctl` and `journalctl` (`tests/services/debian`), which start, stop and reload
the real daemons; `docker` and `npm` (`tests/journeys/web_host`), which record and answer; and a
package `celery` that only waits, since the host has no network but an archive.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from shared.contracts.origin import Origin
from shared.contracts.planfile import plan_in
from shared.domain.config import Policy
from tests.journeys.celery_wheel import CELERY_AT, celery_wheel
from tests.journeys.on_debian import Journey, debian_journey
from tests.services.availability import only_when_asked
from tests.services.debian_base import Release
from tests.services.debian_host import ARCHIVES
from tests.services.ring import Ring

pytestmark = [
    only_when_asked("REPLAN_JOURNEYS", "debian", "sets a Debian up: `make journey-configure`"),
    pytest.mark.timeout(1800),
]

PLANS: Final = Path(__file__).parents[1] / "cases" / "guard" / "plans"
HOST_FILES: Final = Path(__file__).with_name("web_host")
CONFIGURE: Final = "profiles: [configure]\n"
EFFECTS: Final = "effects:\n  - {run: sed -i, below: [/etc/nginx], then: nginx -t}\n"

# The release whose PostgreSQL the plans name.
RELEASE: Final = Release(
    "bookworm",
    (
        *("openssh-server", "curl", "ca-certificates", "procps", "iproute2", "sudo", "systemd"),
        *("python3-minimal", "libpython3-stdlib", "nodejs", "git", "cron", "logrotate", "lsof"),
    ),
    ("nginx", "postgresql", "postgresql-contrib", "python3-venv"),
)

PREPARED: Final = f"""
printf '[global]\\nindex-url = {ARCHIVES}/simple\\ntrusted-host = archive.test\\n' > /etc/pip.conf

mkdir -p /var/log/shop
head -c 5000000 /dev/zero > /var/log/shop/debug.log
touch -d '40 days ago' /var/log/shop/app.log.7.gz
touch -d '2 days ago' /var/log/shop/app.log.1.gz

mkdir -p /srv/worker
echo 'jobs = ()' > /srv/worker/shop.py
echo 'celery==5.9 --hash=sha256:DIGEST' > /srv/worker/requirements.lock

export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q --bare /var/lib/api.git
git clone -q /var/lib/api.git /srv/api
cd /srv/api
for version in 2.2.4 2.3.0; do
    cat > server.js <<END
require("node:http").createServer((asked, answer) => answer.end("$version\\n"))
    .listen(3000, "127.0.0.1");
END
    cat > package.json <<END
{{
  "name": "api",
  "version": "$version",
  "scripts": {{"build": "mkdir -p dist && cp server.js dist/"}}
}}
END
    echo "{{\\"name\\": \\"api\\", \\"version\\": \\"$version\\", \\"lockfileVersion\\": 3}}" \\
        > package-lock.json
    printf 'dist\\nnode_modules\\n' > .gitignore
    git add -A
    git commit -qm "$version"
    git tag "v$version"
    git push -q --tags origin HEAD
done
git tag -d v2.3.0
git checkout -q v2.2.4
npm run build
systemctl start api
curl -fsS --retry 20 --retry-delay 1 --retry-connrefused http://127.0.0.1:3000/health
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, the most that it may ask, and what holds on the host afterwards."""

    plan: str
    stops: int
    effects: str


# In the order of a host's life: the backup needs the database, and who looks needs a site.
CASES: Final = (
    Case(
        "nginx-site",
        0,
        "curl -fsS -H 'Host: shop.example.com' http://127.0.0.1/ | grep -q Shop",
    ),
    Case(
        "postgres",
        0,
        "test \"$(sudo -u postgres psql -tAc 'SHOW shared_buffers')\" = 1GB"
        " && sudo -u postgres psql -d shop -tAc \"SELECT digest('a', 'sha1')\" | grep -q x86f7",
    ),
    Case(
        "backup-cron",
        0,
        "sudo -u postgres pg_restore --list /srv/backups/shop/first.dump | grep -q pgcrypto"
        " && grep -q nightly.dump /etc/cron.d/shop-backup",
    ),
    Case(
        "slow-web",
        0,
        "nginx -T 2>&1 | grep -q 'worker_connections 4096'"
        " && test $(cat /proc/sys/net/core/somaxconn) = 4096"
        " && curl -fsS -o /dev/null -H 'Host: shop.example.com' http://127.0.0.1/",
    ),
    Case(
        "disk-full",
        0,
        "! test -e /var/log/shop/app.log.7.gz && test -e /var/log/shop/app.log.1.gz"
        " && test ! -s /var/log/shop/debug.log && logrotate -d /etc/logrotate.d/shop",
    ),
    Case("docker-app", 1, "curl -fsS http://127.0.0.1:8080/health | grep -qx ok"),
    Case("node-deploy", 1, "curl -fsS http://127.0.0.1:3000/health | grep -qx 2.3.0"),
    Case("venv", 0, "systemctl is-active worker && pgrep -u worker -f bin/celery"),
)


@pytest.fixture
def journey(ring: Ring, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Journey]:
    """Everything up under a policy."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(request.param)
    ring.extra["REPLAN_GUARD_POLICY"] = str(policy)
    wheel = celery_wheel()
    prepared = PREPARED.replace("DIGEST", hashlib.sha256(wheel).hexdigest())
    served = {CELERY_AT: wheel}
    with debian_journey(ring, RELEASE, prepared, files=HOST_FILES, served=served) as made:
        yield made


@pytest.mark.parametrize("journey", [CONFIGURE], indirect=True)
def test_plans_that_set_a_host_up_stop_once_at_most(journey: Journey) -> None:
    """Each is done, its checks are green, and what it was for holds on the host."""
    for case in CASES:
        journey.ring.replan(
            "task", "submit", "--plan", str(PLANS / f"{case.plan}.yaml"), "--host", "web1"
        )
        questions = journey.carried_out(journey.newest(), case.stops)
        print(f"{case.plan}: {len(questions)} stops")
        journey.comes_to_hold(case.effects, f"what {case.plan} is for")
    assert journey.failures() == []


CONFIGURATION: Final = "/etc/nginx/nginx.conf"
EDIT: Final = f"sed -i 's/worker_connections 768/worker_connections 4096/' {CONFIGURATION}"
SMUGGLED: Final = "/etc/cron.d/extra"


def _submitted(journey: Journey, command: str, **more: object) -> int:
    """A task of one command on the host."""
    step = {"title": "Raise the limit", "subtasks": [{"run": command, **more}]}
    plan = plan_in({"steps": [step]}, policy=Policy(), origin=Origin("journey", "plan"))
    return journey.ring.submit(plan, "web1")


def _question_about(journey: Journey, command: str, **more: object) -> str:
    """What a person sees who is asked about a command; then it is given up."""
    task = _submitted(journey, command, **more)
    assert journey.next_state(task) == "waiting"
    question = journey.shown(task)
    journey.ring.replan("task", "cancel", f"T{task}")
    return question


@pytest.mark.parametrize("journey", [EFFECTS], indirect=True)
def test_an_edit_is_seen_before_it_is_allowed(journey: Journey) -> None:
    """By a person, who sees what it would change, and by a rule about its effects."""
    ring, host = journey.ring, journey.host
    installed = host.run("apt-get -q install -y nginx && nginx -t", timeout=300)
    assert installed.returncode == 0, installed.stderr
    before = host.run(f"cat {CONFIGURATION}").stdout
    diff = (r"-\tworker_connections 768;", r"+\tworker_connections 4096;")

    seen = ring.replan("guard", "preview", EDIT, "--host", "web1").stdout
    alone = _question_about(journey, EDIT, critical=True)
    for text in (seen, alone):
        assert f"changed {CONFIGURATION}" in text, text
        assert all(line in text for line in diff), text
        assert "not seen" not in text, text

    smuggling = f"{EDIT}; echo '* * * * * root /tmp/x' > {SMUGGLED}"
    behind = f"sed -i 's/worker_connections 768/&/w {SMUGGLED}' {CONFIGURATION}"
    for command in (smuggling, behind):
        question = _question_about(journey, command)
        assert f"changed {CONFIGURATION}" in question, question
        assert f"created {SMUGGLED}" in question, question

    unseen = _question_about(journey, f"{EDIT} && systemctl reload nginx && curl http://db1/")
    assert f"changed {CONFIGURATION}" in unseen
    assert "not seen: what it does over the network" in unseen, unseen
    assert "what services do for it" in unseen, unseen

    broken = _question_about(journey, f"sed -i 's/worker_connections/workers/' {CONFIGURATION}")
    assert r"+\tworkers 768;" in broken, broken
    assert host.run(f"cat {CONFIGURATION}; ls {SMUGGLED}").stdout == before

    task = _submitted(journey, EDIT)
    ring.ends(task)
    (ran,) = ring.rows("SELECT outcome, rule FROM attempts WHERE rule LIKE 'effects%'")
    assert tuple(ran) == ("ok", "effects: sed -i")
    shown = ring.replan("attempt", "show", f"T{task}.1.1#1@web1").stdout
    assert "let run by the rule effects: sed -i" in shown
    assert f"changed {CONFIGURATION}" in shown
    assert host.run(f"grep -c 'worker_connections 4096' {CONFIGURATION}; nginx -t").returncode == 0
    assert ring.scalar("SELECT count(*) FROM approvals") == 0
