"""A fix is found again under other names, other versions and at another depth."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.domain.cause import TELLING, Cause, CauseKind
from shared.domain.fitting import align, fit
from shared.domain.fix import FailurePattern, learnt
from shared.domain.plan import Subtask
from shared.guard.remembered import ObstacleKind, harm, names_more
from tests.unit.fixes.given import bundle, subtasks
from workers.fixes.signature import failure_of

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "fixes" / "variants.yaml").read_text()
)
VARIANTS = [
    (case, way)
    for case in CASES
    for way in ("same", "names", "depth")
    if way == "same" or way in case
]

JOB_FAILED = (
    "Job for site.service failed because the control process exited with error code.\n"
    'See "systemctl status site.service" and "journalctl -xeu site.service" for details.\n'
)
NPM_LOG = "npm ERR! A complete log of this run can be found in: /root/.npm/_logs/x-debug-0.log"
REFUSED = (
    "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server"
)


def renamed(value: Any, names: dict[str, str]) -> Any:
    """The same with these names in the place of others, wherever they stand."""
    if isinstance(value, dict):
        return {key: renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    if not isinstance(value, str):
        return value
    for number, old in enumerate(names):
        value = value.replace(old, f"\ue100{number}\ue101")
    for number, new in enumerate(names.values()):
        value = value.replace(f"\ue100{number}\ue101", new)
    return value


def failing(said: dict[str, Any], host: str) -> tuple[tuple[Subtask, ...], FailurePattern]:
    """The step that failed, and how."""
    fields = {"command": said["command"], "check": said.get("check")}
    failed = failure_of(bundle(said, host=host))
    assert failed is not None
    return subtasks(fields), failed


@pytest.mark.parametrize(
    ("case", "way"), VARIANTS, ids=lambda v: v if isinstance(v, str) else v["name"]
)
def test_a_variant(case: dict[str, Any], way: str) -> None:
    """It is recognised, and each thing of the fix becomes the one that stands for it here."""
    names = case.get(way, {})
    before, failure = failing(case["was"], "one")
    fix = learnt(before, subtasks(*case["then"]), failure)
    assert fix is not None
    here, elsewhere = failing(renamed(case["was"], names), "two")
    assert {c for c in elsewhere.cues if c.startswith("line")} & set(failure.cues)
    if way in case.get("by_line", ()):
        return
    assert elsewhere.told == failure.told
    fitting = fit(fix, here, elsewhere)
    assert fitting is not None
    wanted = subtasks(*renamed(case["then"], names))
    assert fitting.subtasks is not None, fitting.mapping
    assert [s.command for s in fitting.subtasks] == [s.command for s in wanted]


def test_most_variants_are_recognised_with_their_names() -> None:
    """At least 80 % of those with other names or at another depth."""
    others = [(case, way) for case, way in VARIANTS if way != "same"]
    by_line = sum(way in case.get("by_line", ()) for case, way in others)
    assert len(others) > 30
    assert by_line / len(others) <= 0.2


OTHER_CAUSES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a unit that cannot start": (
        {"command": "systemctl start site", "stderr": JOB_FAILED},
        {"command": "systemctl start site", "stderr": JOB_FAILED},
    ),
    "silence": (
        {"command": "sh /srv/one/run.sh", "stderr": ""},
        {"command": "sh /srv/two/run.sh", "stderr": ""},
    ),
    "a timeout": (
        {"command": "./migrate.sh", "outcome": "timed_out", "exit_code": None},
        {"command": "./migrate.sh", "outcome": "timed_out", "exit_code": None},
    ),
    "make": (
        {"command": "make -C /srv/a all", "stderr": "make: *** [Makefile:3: all] Error 1"},
        {"command": "make -C /srv/b all", "stderr": "make: *** [Makefile:9: all] Error 1"},
    ),
    "npm": (
        {"command": "npm test", "stderr": NPM_LOG},
        {"command": "npm test", "stderr": NPM_LOG},
    ),
    "nobody listens": (
        {"command": "curl -fsS localhost:8080/health", "stderr": REFUSED, "exit_code": 7},
        {"command": "curl -fsS localhost:8080/health", "stderr": REFUSED, "exit_code": 7},
    ),
}


@pytest.mark.parametrize("pair", OTHER_CAUSES.values(), ids=OTHER_CAUSES)
def test_a_line_that_says_nothing_is_vague(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Without a cause, nobody knows whether it is the same failure."""
    for each in pair:
        failed = failure_of(bundle(each))
        assert failed is not None
        assert failed.vague
        assert not any(cue.startswith("line") for cue in failed.cues)


@pytest.mark.parametrize(
    "said",
    [
        {
            "command": "git -C /srv/a log",
            "stderr": "fatal: detected dubious ownership",
            "exit_code": 1,
        },
        {"command": "service web start", "stderr": "sh: service: not found", "exit_code": 127},
        {"command": "jq . a.json", "stderr": "sh: jq: not found", "exit_code": 127},
        {"command": "curl http://depot/", "stderr": "curl: (6) Could not resolve host: depot"},
        {"command": "apt-get install -y jq", "stderr": "E: Unable to locate package jq"},
    ],
    ids=lambda said: str(said["command"]).split()[0],
)
@pytest.mark.parametrize("kind", [None, *CauseKind])
def test_a_message_alone_never_says_why(said: dict[str, Any], kind: CauseKind | None) -> None:
    """More than one thing makes a program say so; only what the host itself shows tells which."""
    causes = () if kind is None else (Cause(kind, "x", subtask=1),)
    failed = failure_of(replace(bundle(said), causes=causes))
    assert failed is not None
    assert failed.vague is (kind not in TELLING)


def test_the_cause_tells_failures_of_one_line_apart() -> None:
    said = {"command": "systemctl start site", "stderr": JOB_FAILED}

    def failed(cause: Cause) -> FailurePattern:
        found = failure_of(replace(bundle(said), causes=(cause,)))
        assert found is not None
        assert found.vague is (cause.kind not in TELLING)
        return found

    taken = Cause(CauseKind.PORT_HELD, "8080", subtask=1, by="legacy")
    elsewhere = Cause(CauseKind.PORT_HELD, "9090", subtask=1, by="olddaemon")
    misspelt = Cause(CauseKind.UNIT_FAILED, "site.service", subtask=1, state="exit-code, 203")
    assert failed(taken).signature == failed(elsewhere).signature
    assert failed(taken).signature != failed(misspelt).signature
    fix = learnt(
        subtasks("systemctl start site"),
        subtasks("systemctl status legacy", "systemctl start site"),
        failed(taken),
    )
    assert fix is not None
    fitting = fit(fix, subtasks("systemctl start site"), failed(elsewhere))
    assert fitting is not None
    assert ("legacy", "olddaemon") in fitting.mapping
    assert [s.command for s in fitting.replacement] == [
        "systemctl status olddaemon",
        "systemctl start site",
    ]


def test_a_healthy_service_is_not_stopped_for_another_failure() -> None:
    """With the two lines that systemctl prints; a taken port there, a misspelt command here."""
    start = "systemctl start site"
    said = {"command": start, "stderr": JOB_FAILED}
    there = failure_of(bundle(said, host="one"))
    here = failure_of(bundle(said, host="two"))
    assert there is not None
    assert here is not None
    assert here.vague
    fix = learnt(subtasks(start), subtasks("systemctl stop legacy", start), there)
    assert fix is not None
    fitting = fit(fix, subtasks(start), here)
    assert fitting is not None
    standing = (
        *harm(fitting.window, fitting.replacement),
        *names_more(fitting.window, fitting.replacement, (JOB_FAILED,)),
    )
    assert [(each.kind, each.about) for each in standing] == [
        (ObstacleKind.DESTROYS, ("systemctl stop legacy",)),
        (ObstacleKind.NAMES_MORE, ("legacy",)),
    ]


LOOSE = (
    (
        {"command": "cp -T new app/conf", "stderr": "cp: cannot overwrite directory 'app/conf'"},
        {"command": "cp -T new etc/x/app", "stderr": "cp: cannot overwrite directory 'etc/x/app'"},
    ),
    (
        {"command": "./report.py", "stderr": "sh: 1: ./report.py: not found"},
        {"command": "./jobs/nightly.py", "stderr": "sh: 1: ./jobs/nightly.py: not found"},
    ),
    (
        {"command": "grep x /etc/shop.conf", "stderr": "grep: /etc/shop.conf: Permission denied"},
        {"command": "grep x /opt/m/e.conf", "stderr": "grep: /opt/m/e.conf: Permission denied"},
    ),
    (
        {"command": "./start.sh", "stderr": "./start.sh: 3: APP_ENV: must be set"},
        {"command": "./bin/launch.sh", "stderr": "./bin/launch.sh: 9: SHOP_STAGE: must be set"},
    ),
)


@pytest.mark.parametrize("pair", LOOSE)
def test_a_hint_needs_less_than_a_signature(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """A line that differs in names alone is worth a hint, and nothing more."""
    one, other = (failure_of(bundle(each)) for each in pair)
    assert one is not None
    assert other is not None
    assert one.signature != other.signature
    assert any(cue.startswith("like") for cue in set(one.cues) & set(other.cues))
    there, here = (subtasks(each["command"]) for each in pair)
    fix = learnt(there, subtasks("true", *(each.command for each in there)), one)
    assert fix is not None
    assert fit(fix, here, other) is None
    names = dict(align(fix, here))
    assert all(
        old in pair[0]["command"] and new in pair[1]["command"] for old, new in names.items()
    )
    assert names
