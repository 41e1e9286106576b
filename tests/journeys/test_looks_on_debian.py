"""Two failures on a real Debian over real SSH whose cause only a look tells: `make journey-looks`.

The commands that fail name neither the port nor the unit, so that the evidence cannot ask about
them: it is switched on, and does not help. A scripted model knows only what stands in the question,
as any model does: with looks it finds the cause in a round or two, without it can but try again.
"""

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.plans.archives import release
from shared.contracts.origin import Origin
from shared.contracts.planfile import plan_in
from shared.domain.config import Policy
from shared.store import hosts
from tests.fakes.model_server import Asked, Decides, ModelServer, Says, Turn, model_server
from tests.services.availability import UnavailableError, give_up, only_when_asked
from tests.services.debian_base import DebianBase, base, own_suite
from tests.services.debian_host import DebianHost
from tests.services.ring import Ring
from tests.unit.planning.given import revision_answer, subtask_answer

pytestmark = [
    only_when_asked("REPLAN_JOURNEYS", "debian", "breaks a Debian: `make journey-looks`"),
    pytest.mark.timeout(900),
]

PORT_TAKEN: Final = """
set -e
mkdir -p /etc/shop
echo port=8081 > /etc/shop/shop.conf
cat > /usr/local/bin/shop-start <<'END'
#!/bin/sh
port=$(sed -n s/^port=//p /etc/shop/shop.conf)
nohup python3 -c "
import http.server
http.server.HTTPServer(('127.0.0.1', $port), http.server.SimpleHTTPRequestHandler).serve_forever()
" > /srv/shop.out 2>&1 &
pid=$!
sleep 1
kill -0 $pid 2>/dev/null || { echo 'shop-start: the shop is not ready' >&2; exit 1; }
echo $pid > /srv/shop.pid
END
chmod +x /usr/local/bin/shop-start
printf '[Service]\\nExecStart=/usr/bin/python3 -m http.server 8081\\n' \
    > /etc/systemd/system/oldshop.service
systemctl start oldshop
"""

UNIT_FAILED: Final = """
set -e
cat > /srv/render.py <<'END'
import pathlib, time
settings = pathlib.Path('/etc/render.conf').read_text()
if 'workers=' not in settings:
    raise SystemExit('render: /etc/render.conf: the setting workers is missing')
pathlib.Path('/srv/rendering').write_text('yes')
time.sleep(3600)
END
echo cache=/srv > /etc/render.conf
printf '[Service]\\nExecStart=/usr/bin/python3 /srv/render.py\\n' \
    > /etc/systemd/system/render.service
systemctl start render || true
cat > /usr/local/bin/publish <<'END'
#!/bin/sh
test -s /srv/rendering && { echo published > /srv/published; exit; }
echo 'publish: the pages did not come in time' >&2
exit 1
END
chmod +x /usr/local/bin/publish
"""


def _looks(*commands: str) -> Turn:
    listed = [{"command": each, "why": "to see the cause", "host": ""} for each in commands]
    return Says(revision_answer() | {"looks": listed})


def _tries_again(command: str, check: str) -> Turn:
    return Says(revision_answer(subtask_answer("again", f"sleep 1; {command}", check=check)))


def _owner_of_the_port(asked: Asked) -> Turn:
    """Reads the port, then who listens there, then its unit; stops it."""
    text = asked.said[-1]
    unit = re.search(r"● (\S+\.service)", text)
    listening = re.search(r"127\.0\.0\.1:8081|0\.0\.0\.0:8081.*pid=(\d+)", text)
    if unit is not None:
        return Says(
            revision_answer(
                subtask_answer("stop", f"systemctl stop {unit[1]}"),
                subtask_answer("start", "shop-start", check="test -s /srv/shop.pid"),
            )
        )
    if "Rounds of looks left" not in text:
        return _tries_again("shop-start", "test -s /srv/shop.pid")
    if listening is not None and listening[1]:
        return _looks(f"systemctl status --no-pager -n 0 {listening[1]}")
    return _looks("cat /etc/shop/shop.conf", "ss -ltnp")


def _journal_of_the_unit(asked: Asked) -> Turn:
    """Reads the journal of the unit that has failed; sets what is missing there."""
    text = asked.said[-1]
    missing = re.search(r"render: (\S+): the setting (\w+) is missing", text)
    failed = re.search(r"(\S+\.service) +loaded +failed", text)
    if missing is not None:
        return Says(
            revision_answer(
                subtask_answer("set", f"echo {missing[2]}=2 >> {missing[1]}"),
                subtask_answer("restart", "systemctl restart render"),
                subtask_answer("publish", "publish", check="test -s /srv/published"),
            )
        )
    if "Rounds of looks left" not in text:
        return _tries_again("publish", "test -s /srv/published")
    if failed is not None:
        return _looks(f"journalctl --no-pager -u {failed[1]} -n 20")
    return _looks("systemctl list-units --no-legend --plain --state=failed")


@dataclass(frozen=True, slots=True)
class Case:
    """How a host is broken, what is to run there, and how a model finds out."""

    broken: str
    command: str
    check: str
    solved: str
    decides: Callable[[Asked], Turn]


CASES: Final = {
    "port": Case(
        PORT_TAKEN,
        "shop-start",
        "test -s /srv/shop.pid",
        "kill -0 $(cat /srv/shop.pid) && ! systemctl is-active oldshop",
        _owner_of_the_port,
    ),
    "journal": Case(
        UNIT_FAILED,
        "publish",
        "test -s /srv/published",
        "grep -q published /srv/published && systemctl is-active render",
        _journal_of_the_unit,
    ),
}


@dataclass
class Journey:
    """A ring on a scripted model, and what hosts are made of."""

    ring: Ring
    model: ModelServer
    base: DebianBase
    folder: Path


@pytest.fixture
def journey(ring: Ring) -> Iterator[Journey]:
    """Everything up."""
    with tempfile.TemporaryDirectory(prefix="replan-looks-") as scratch, model_server() as model:
        folder = Path(scratch)
        folder.chmod(0o755)
        try:
            made = base(release(own_suite()))
        except UnavailableError as reason:
            give_up(reason)
        ring.extra |= model.environ
        ring.coordinator()
        ring.worker("planner", "subtask_planner", "escalation")
        ring.worker("executor")
        yield Journey(ring, model, made, folder)
        ring.stop()


def _is_mended(journey: Journey, case: Case, name: str, *, rounds: int, phase: str) -> bool:
    """Whether a new host that is broken so is mended once the task has come to that phase."""
    policy = Policy(
        look_rounds=rounds,
        auto_correction_enabled=False,
        error_threshold_per_step=1,
        human_escalation_threshold=1,
    )
    step = {
        "title": "Start it",
        "subtasks": [{"run": case.command, "check": case.check}],
    }
    document: dict[str, Any] = {"planner": "anthropic", "steps": [step]}
    plan = plan_in(document, policy=policy, origin=Origin("journey", "plan"))
    with DebianHost(journey.base, journey.folder / name, name) as host:
        done = host.run(case.broken)
        assert done.returncode == 0, done.stderr
        with journey.ring.database.begin() as connection:
            hosts.save(connection, host.described())
        task = journey.ring.submit(plan, name, policy=policy)
        journey.ring.ends(task, phase, patience=240.0)
        return host.run(case.solved).returncode == 0


def test_only_a_look_tells_the_cause(journey: Journey) -> None:
    """In one revision with looks, and not without them."""
    for name, case in CASES.items():
        journey.model.will(Decides(case.decides), wanted="RevisionAnswer", about=f"on {name}-")
        assert not _is_mended(journey, case, f"{name}-blind", rounds=0, phase="waiting")
        assert _is_mended(journey, case, f"{name}-looks", rounds=2, phase="done")
    ran = journey.ring.rows(
        "SELECT r.target, max(a.revision), count(*) FILTER (WHERE a.look) FROM attempts a"
        " JOIN runs r ON r.id = a.run_id GROUP BY r.target ORDER BY r.target"
    )
    assert [tuple(row) for row in ran] == [
        ("journal-blind", 1, 0),
        ("journal-looks", 1, 1),
        ("port-blind", 1, 0),
        ("port-looks", 1, 3),
    ]
