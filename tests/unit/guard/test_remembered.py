"""What stands against carrying out a remembered fix by itself."""

from typing import Any

import pytest

from shared.domain.agent import AgentWork
from shared.domain.fix import Fix, Proof
from shared.domain.plan import Subtask, SubtaskKind
from shared.guard.remembered import (
    ObstacleKind,
    changes_something,
    harm,
    names_more,
    stands_in,
    unproven,
)
from tests.unit.fixes.given import subtasks

COPY = "cp /srv/p/one.src /srv/p/one/copy"
FULL = "cp: error writing '/srv/p/one/copy': No space left on device"


def kinds(*found: object) -> list[ObstacleKind]:
    return [obstacle.kind for listed in found for obstacle in listed]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("was", "then", "kind"),
    [
        (COPY, ["truncate -s 0 /srv/p/one/data/current", COPY], ObstacleKind.DESTROYS),
        ("systemctl start site", ["systemctl stop legacy", "systemctl start site"], "destroys"),
        ("./migrate.sh", ["./migrate.sh --force"], "destroys"),
        ("git -C /srv/b pull", ["git -C /srv/b checkout -f", "git -C /srv/b pull"], "destroys"),
        ("./migrate.sh", ["./prepare.sh", "./migrate.sh"], "unknown_effect"),
        ("cat in-a > out-a", ["echo skipped >> note"], "proves_less"),
        ("rsync -a a/ b/", ["rsync -a b/ a/"], "destroys"),
        ("mkdir a && mv x y", ["mv x y"], "destroys"),
    ],
)
def test_what_a_fix_may_do_to_a_host(was: str, then: list[str], kind: str) -> None:
    assert kind in kinds(harm(subtasks(was), subtasks(*then)))


def test_a_fix_that_only_adds_does_no_harm() -> None:
    """What destroys may run again where the failed step does the very same."""
    replaced = subtasks({"command": "mv /srv/a/x /srv/a/d/x", "check": "test -e /srv/a/d/x"})
    replacement = subtasks(
        {"command": "mkdir -p /srv/a/d", "check": "test -d /srv/a/d"},
        {"command": "mv /srv/a/x /srv/a/d/x", "check": "test -e /srv/a/d/x"},
    )
    assert harm(replaced, replacement) == ()
    assert names_more(replaced, replacement, ()) == ()


def test_what_runs_again_runs_in_the_same_order() -> None:
    first, second = "mv /srv/a/new /srv/a/x", "mv /srv/a/x /srv/a/old"
    assert harm(subtasks(first, second), subtasks(first, second)) == ()
    assert kinds(harm(subtasks(first, second), subtasks(second, first))) == ["destroys"]


def test_a_snippet_may_do_anything() -> None:
    code = subtasks({"command": "true", "kind": SubtaskKind.CODE})
    assert "unknown_effect" in kinds(harm(subtasks("true"), code))


def test_an_agent_may_do_anything() -> None:
    work = Subtask(1, "a", "mend", "true", kind=SubtaskKind.AGENT, agent=AgentWork())
    assert [each.kind for each in harm((), (work,))] == [ObstacleKind.UNKNOWN_EFFECT]


def test_a_rollback_counts() -> None:
    replacement = subtasks({"command": COPY, "rollback": "rm -rf /srv/p"})
    assert kinds(harm(subtasks(COPY), replacement)) == ["destroys"]


@pytest.mark.parametrize(
    "guarded",
    [
        {"command": COPY, "preconditions": ["test -e /srv/p/backup"]},
        {"command": COPY, "rollback": "mv /srv/p/backup /srv/p/one/copy"},
        {"command": COPY, "critical": True},
    ],
)
def test_what_guards_a_command_stays(guarded: dict[str, Any]) -> None:
    assert harm(subtasks(guarded), subtasks("touch /srv/p/one", guarded)) == ()
    assert kinds(harm(subtasks(guarded), subtasks("touch /srv/p/one", COPY))) == ["proves_less"]


def test_each_thing_that_is_named_stands_in_the_step_or_its_output() -> None:
    replaced = subtasks(COPY)
    here = subtasks("mkdir -p /srv/p/one", COPY)
    assert names_more(replaced, here, ()) == ()
    strange = subtasks("chmod +x /srv/p/one/data/current", COPY)
    (found,) = names_more(replaced, strange, (FULL,))
    assert found.about == ("/srv/p/one/data/current",)
    said = "cannot write /srv/p/one/data/current"
    assert names_more(replaced, strange, (said,)) == ()


@pytest.mark.parametrize(
    ("name", "text", "stands"),
    [
        ("/srv/a", "cp x /srv/a/b", True),
        ("/srv/a", "cp x /srv/ab", False),
        ("/srv/a", "cp x /srv/a.bak", False),
        ("/srv/a/b/c", "cp x /srv/a/b", False),
        ("/srv/a", "cannot open '/srv/a'.", True),
        ("a", "/srv/a/b", False),
        ("site", "Job for site.service failed", True),
        ("site", "site-old is down", False),
        ("8080", "--port=8080", True),
        ("80", "--port=8080", False),
        ("/", "ls /", False),
        (".", "ls .", False),
        ("web", "Container web is not running", True),
    ],
)
def test_where_a_thing_is_named(name: str, text: str, stands: bool) -> None:
    assert stands_in(name, text) is stands


@pytest.mark.parametrize(
    ("proofs", "scope", "enough"),
    [
        ([], None, False),
        ([Proof("a", "p")], None, False),
        ([Proof("a", "p"), Proof("a", "p")], None, False),
        ([Proof("a", "p"), Proof("b", "p")], None, True),
        ([Proof("a", "p"), Proof("a", "human/ann")], None, True),
        ([Proof("a", "p", "env=dev"), Proof("b", "p", "env=prod")], None, False),
        ([Proof("a", "p", "env=dev"), Proof("b", "p", "env=dev")], "env=dev", True),
        ([Proof("a", "p", "env=dev"), Proof("b", "p", "env=dev")], "env=prod", False),
        ([Proof("a", "p", "env=dev"), Proof("b", "p", "env=dev")], "", False),
    ],
)
def test_when_a_fix_has_worked_often_enough(
    proofs: list[Proof], scope: str | None, enough: bool
) -> None:
    assert (unproven(proofs, scope) == ()) is enough


def test_a_look_puts_nothing_right() -> None:
    start = "systemctl start site"
    looked = Fix(subtasks(start), subtasks("systemctl status site", start))
    assert not changes_something(looked, {1, 2})
    made = Fix(subtasks(start), subtasks("mkdir -p /srv/site", start))
    assert changes_something(made, {1, 2})
    assert not changes_something(made, {2})
