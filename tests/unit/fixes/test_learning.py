"""What the memory never keeps: secrets, and revisions that prove less or put nothing right."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from orchestrator import learning
from orchestrator.core.decisions import Learn
from shared.domain.plan import Subtask
from shared.secrets.written import holds_secret
from shared.store import fixes
from shared.store.fixes import Lesson
from tests.unit.fixes.given import failure, subtasks

HARMLESS = (
    'psql -c "${secret:DB_PASSWORD}"',
    "apt-get install -y nginx",
    "cat /etc/ssl/certs/ca.pem",
    "git checkout 3f2a9b81c0de3f2a9b81c0de3f2a9b81c0de3f2a",
)
SECRET = (
    "mysql --password=hunter2hunter2 -e 'SELECT 1'",
    "curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789' http://x.test/",
    "echo 'postgresql://app:s3cretpassw0rd@db.test/app' > url",
)


@pytest.mark.parametrize("command", HARMLESS)
def test_a_name_of_a_secret_is_none(command: str) -> None:
    assert not holds_secret(subtasks(command, {"command": "true", "check": command}))


@pytest.mark.parametrize("command", SECRET)
def test_a_secret_is_seen_wherever_it_stands(command: str) -> None:
    assert holds_secret(subtasks("true", command))
    assert holds_secret(subtasks({"command": "true", "check": command}))
    assert holds_secret(subtasks({"command": "true", "rollback": command}))
    assert holds_secret(subtasks({"command": "true", "preconditions": [command]}))


class Nowhere:
    """A connection that nothing is written to."""

    def begin_nested(self) -> nullcontext[None]:
        return nullcontext()


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Lesson]:
    """The lessons of which a fix was kept."""
    found: list[Lesson] = []
    monkeypatch.setattr(fixes, "settle", lambda *_, **__: False)
    monkeypatch.setattr(fixes, "matching", lambda *_: ())
    monkeypatch.setattr(fixes, "keep", lambda _, __, ___, lesson, ____: found.append(lesson))
    return found


def teach(monkeypatch: pytest.MonkeyPatch, lesson: Lesson) -> None:
    monkeypatch.setattr(fixes, "lesson", lambda *_: lesson)
    nowhere: Any = Nowhere()
    learning.learn(nowhere, 1, Learn(1, 1, worked=True))


def lesson_of(before: tuple[Subtask, ...], after: tuple[Subtask, ...]) -> Lesson:
    return Lesson(
        task_id=1,
        target="one",
        subtasks=after,
        reason="",
        author="subtask_planner/anthropic",
        ran=frozenset(range(1, len(after) + 1)),
        failures=((failure(1), before),),
        first=before,
    )


BUILD = {"command": "cat in-a > out-a", "check": "test -s out-a"}


def test_a_revision_that_proves_less_teaches_nothing(
    monkeypatch: pytest.MonkeyPatch, kept: list[Lesson]
) -> None:
    """Otherwise the memory would leave the same thing undone on the next host, and call it done."""
    skipped = subtasks({"command": "echo skipped >> note", "check": "test -s note"})
    teach(monkeypatch, lesson_of(subtasks(BUILD), skipped))
    later = lesson_of(
        skipped, subtasks("touch x", {"command": "cat note", "check": "test -s note"})
    )
    teach(monkeypatch, replace(later, first=subtasks(BUILD)))
    assert kept == []
    teach(monkeypatch, lesson_of(subtasks(BUILD), subtasks("touch in-a", BUILD)))
    assert len(kept) == 1


def test_a_revision_that_only_looks_teaches_nothing(
    monkeypatch: pytest.MonkeyPatch, kept: list[Lesson]
) -> None:
    """The fault was gone by itself."""
    teach(monkeypatch, lesson_of(subtasks(BUILD), subtasks("ls -l", BUILD)))
    teach(monkeypatch, lesson_of(subtasks(BUILD), subtasks(BUILD | {"timeout": 600.0})))
    done = lesson_of(subtasks(BUILD), subtasks("touch in-a", BUILD))
    teach(monkeypatch, replace(done, ran=frozenset({2})))
    assert kept == []
