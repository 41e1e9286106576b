"""How often everyday commands ask, by the labels beside them: the shares may fall, not grow.

`tests/cases/guard/everyday.jsonl`: what platform engineers type, as `read-only`, `ordinary` (it
changes something, as it should) or `risky` (a person has to see it). Several rows ask rightly: what
shows an environment, gives rights, or cannot be taken back.
"""

import json
from functools import cache
from pathlib import Path

import pytest
import yaml

from shared.guard import Guard, PlanGuard, load_site, looks
from shared.guard.contained_looks import ContainedLooks

CASES = Path(__file__).parents[2] / "cases" / "guard"
PLANS = sorted((CASES / "plans").glob("*.yaml"))
_TEXTS = ("run", "command", "check", "rollback")


@cache
def rows() -> dict[str, list[str]]:
    """The commands of each class."""
    found: dict[str, list[str]] = {}
    for line in (CASES / "everyday.jsonl").read_text().splitlines():
        row = json.loads(line)
        found.setdefault(row["class"], []).append(row["cmd"])
    return found


@cache
def guard(profile: str = "") -> Guard:
    """The guard of a fresh installation, or that of a profile."""
    return Guard(load_site(None).for_host(None, (), (profile,) if profile else ()))


@pytest.mark.parametrize(
    ("profile", "kind", "most"),
    [
        ("", "read-only", 0.08),
        ("configure", "read-only", 0.075),
        ("", "ordinary", 0.74),
        ("configure", "ordinary", 0.34),
    ],
)
def test_no_more_than_a_share_of_everyday_commands_asks(
    profile: str, kind: str, most: float
) -> None:
    """The share by rules alone, without containment and without a plan around the command."""
    commands = rows()[kind]
    asks = [text for text in commands if not guard(profile).judge(text).allowed]
    assert len(commands) > 150
    assert len(asks) / len(commands) <= most, asks


def test_few_looks_ask_where_they_are_contained() -> None:
    """Those of clouds, of what runs in a pod, of code for a database, of what shows secrets do."""
    commands = rows()["read-only"]
    contained = ContainedLooks(guard(), Guard(looks()))
    asks = [text for text in commands if not contained.verdict(text).allowed]
    assert len(commands) > 600
    assert len(asks) / len(commands) <= 0.046, asks


@pytest.mark.parametrize(
    "text",
    [
        "cat /proc/$(pgrep -o nginx)/environ",
        "cat /etc/$(pgrep -o nginx)/shadow",
        "cat /proc/$(pgrep -o nginx)/../../etc/shadow",
        "cat /proc/$(pgrep -a nginx)/limits",
        "pgrep -a nginx | xargs -I{} cat /proc/{}/status",
        "ps -o pid=,args= -C java | xargs -I{} cat /proc/{}/status",
        "ps -C pid= -o args | xargs -I{} cat /proc/{}/status",
        "ps -o pid= o cmd | xargs -I{} cat /proc/{}/status",
        "busctl introspect org.freedesktop.systemd1 /org/freedesktop/systemd1/unit/app_2eservice",
        "docker ps -q | xargs docker rm -f",
        "docker ps -q | xargs docker inspect",
        "docker ps -q --format '{{.Names}}' | xargs docker inspect -f '{{.State.Status}}'",
        "docker ps | awk '{print $1}' | xargs docker inspect -f '{{.State.Status}}'",
        "crontab -l -u $u",
        "crontab -u deploy $u",
        "cat /run/cloud-init/instance-data-sensitive.json",
        "kubectl get --raw /api/v1/secrets",
        "redis-cli config get '*pass*'",
        "hwclock --systohc",
        "passwd -d deploy",
        "auditctl -D",
        "multipath -F",
        "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 x y",
        "hostnamectl set-hostname --static x",
        "make deploy",
        "promtool query instant http://db:9090 up",
        'docker ps <<< "$(docker rm -f web)"',
    ],
)
def test_neighbours_of_plain_questions_ask(text: str) -> None:
    """They change something, or show what may be a secret."""
    assert not ContainedLooks(guard(), Guard(looks())).verdict(text).allowed


@pytest.mark.parametrize("profile", ["", "configure"])
def test_nothing_risky_runs_unseen(profile: str) -> None:
    """Whatever else becomes easier."""
    commands = rows()["risky"]
    assert len(commands) > 80
    assert [text for text in commands if guard(profile).judge(text).allowed] == []


def _texts(plan: Path) -> list[str]:
    steps = yaml.safe_load(plan.read_text())["steps"]
    subtasks = [subtask for step in steps for subtask in step["subtasks"]]
    named = [subtask[name] for subtask in subtasks for name in _TEXTS if name in subtask]
    return named + [text for subtask in subtasks for text in subtask.get("preconditions", ())]


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: str(path.stem))
def test_a_whole_plan_stops_once_at_most_under_configure(plan: Path) -> None:
    """Every command, check, precondition and rollback, judged with all others in sight."""
    texts = _texts(plan)
    judge = PlanGuard(guard("configure"), texts).judge
    stops = {text: verdict.reason for text in texts if not (verdict := judge(text)).allowed}
    assert len(stops) <= 1, stops
