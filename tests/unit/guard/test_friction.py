"""How often everyday commands ask, by the labels beside them: the shares may fall, not grow.

`tests/cases/guard/everyday.jsonl`: what platform engineers type, as `read-only`, `ordinary` (it
changes something, as it should) or `risky` (a person has to see it). Several rows ask rightly: what
shows an environment, gives rights, or cannot be taken back.
"""

import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.guard import Guard, PlanGuard, load_site, looks
from shared.guard.contained_looks import ContainedLooks

CASES = Path(__file__).parents[2] / "cases" / "guard"
PLANS = sorted((CASES / "plans").glob("*.yaml"))
SMALL = "everyday_sixth.jsonl"
"""A set of 320 commands; all others are larger."""

_TEXTS = ("run", "command", "check", "rollback")


@cache
def rows(name: str = "everyday.jsonl") -> dict[str, list[str]]:
    """The commands of each class."""
    found: dict[str, list[str]] = {}
    for line in (CASES / name).read_text().splitlines():
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
        ("", "read-only", 0.052),
        ("configure", "read-only", 0.05),
        ("", "ordinary", 0.715),
        ("configure", "ordinary", 0.24),
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
    assert len(asks) / len(commands) <= 0.02, asks


@pytest.mark.parametrize(
    ("name", "profile", "kind", "most"),
    [
        ("everyday_second.jsonl", "", "read-only", 0.175),
        ("everyday_second.jsonl", "", "ordinary", 0.8),
        ("everyday_second.jsonl", "configure", "ordinary", 0.435),
        ("everyday_third.jsonl", "", "read-only", 0.05),
        ("everyday_third.jsonl", "", "ordinary", 0.775),
        ("everyday_third.jsonl", "configure", "ordinary", 0.34),
        ("everyday_fourth.jsonl", "", "read-only", 0.09),
        ("everyday_fourth.jsonl", "", "ordinary", 0.73),
        ("everyday_fourth.jsonl", "configure", "ordinary", 0.34),
        ("everyday_fifth.jsonl", "", "read-only", 0.07),
        ("everyday_fifth.jsonl", "", "ordinary", 0.815),
        ("everyday_fifth.jsonl", "configure", "ordinary", 0.41),
        ("everyday_sixth.jsonl", "", "read-only", 0.09),
        ("everyday_sixth.jsonl", "", "ordinary", 0.8),
        ("everyday_sixth.jsonl", "configure", "ordinary", 0.31),
    ],
)
def test_no_more_than_a_share_of_what_other_authors_type_asks(
    name: str, profile: str, kind: str, most: float
) -> None:
    """Written without a look at the rules: one joins lines as people do, one types them singly."""
    commands = rows(name)[kind]
    asks = [text for text in commands if not guard(profile).judge(text).allowed]
    assert len(commands) > (120 if name == SMALL else 200)
    assert len(asks) / len(commands) <= most, asks


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("everyday_second.jsonl", 0.045),
        ("everyday_third.jsonl", 0.021),
        ("everyday_fourth.jsonl", 0.031),
        ("everyday_fifth.jsonl", 0.02),
        ("everyday_sixth.jsonl", 0.017),
    ],
)
def test_few_contained_looks_of_other_authors_ask(name: str, most: float) -> None:
    """Those that listen to the network, leave the host, never end, or show what may be a secret."""
    commands = rows(name)["read-only"]
    contained = ContainedLooks(guard(), Guard(looks()))
    asks = [text for text in commands if not contained.verdict(text).allowed]
    assert len(commands) > (150 if name == SMALL else 300)
    assert len(asks) / len(commands) <= most, asks


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
    names = [path.name for path in CASES.glob("everyday*.jsonl")]
    commands = [text for name in names for text in rows(name)["risky"]]
    assert len(commands) > 250
    assert [text for text in commands if guard(profile).judge(text).allowed] == []


def _texts(plan: Path) -> list[str]:
    return _texts_of(yaml.safe_load(plan.read_text())["steps"])


def _texts_of(steps: list[dict[str, Any]]) -> list[str]:
    subtasks = [subtask for step in steps for subtask in step["subtasks"]]
    named = [subtask[name] for subtask in subtasks for name in _TEXTS if name in subtask]
    return named + [text for subtask in subtasks for text in subtask.get("preconditions", ())]


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: str(path.stem))
def test_an_executor_that_has_one_step_asks_what_was_said_of_the_whole_plan(plan: Path) -> None:
    """It reads the other steps too, where that may settle a question."""
    steps = [_texts_of([step]) for step in yaml.safe_load(plan.read_text())["steps"]]
    whole = PlanGuard(guard("configure"), _texts(plan)).judge
    for number, texts in enumerate(steps):
        others = [*chain(*steps[:number], *steps[number + 1 :])]
        judge = PlanGuard(guard("configure"), texts, elsewhere=others.copy).judge
        for text in texts:
            assert judge(text).kind is whole(text).kind, text


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: str(path.stem))
def test_a_whole_plan_stops_once_at_most_under_configure(plan: Path) -> None:
    """Every command, check, precondition and rollback, judged with all others in sight."""
    texts = _texts(plan)
    judge = PlanGuard(guard("configure"), texts).judge
    stops = {text: verdict.reason for text in texts if not (verdict := judge(text)).allowed}
    assert len(stops) <= 1, stops
