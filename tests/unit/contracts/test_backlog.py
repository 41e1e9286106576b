"""Backlogs, and what a person may choose of them (S2.55)."""

import json
import re
from pathlib import Path

import pytest

from shared.contracts.backlog import load_backlog, select, steps_of
from shared.domain.changed_plan import renumber
from shared.domain.errors import Rejected

YAML = """
issues:
  - id: L-000101
    title: Store the lines
    body: Keep each line in a table.
    acceptance: [a line is found again]
    files: [src/store.py]
    check: python -m pytest tests/test_store.py
    runner: codex
  - {id: L-000102, title: Read the lines, depends_on: [L-000101]}
  - {id: L-000103, title: Write the page}
"""
MARKDOWN = """# Backlog

Words before the first issue.

## L-000101: Store the lines

```yaml
acceptance: [a line is found again]
files: [src/store.py]
check: python -m pytest tests/test_store.py
runner: codex
```

Keep each line in a table.

## L-000102 Read the lines
```yaml
depends_on: [L-000101]
```

## L-000103: Write the page
"""
PARTS = {
    "issues": [
        {
            "id": "L-000101",
            "title": "Store the lines",
            "body": "Keep each line in a table.",
            "acceptance": ["a line is found again"],
            "files": ["src/store.py"],
            "check": "python -m pytest tests/test_store.py",
            "runner": "codex",
        },
        {"id": "L-000102", "title": "Read the lines", "depends_on": ["L-000101"]},
        {"id": "L-000103", "title": "Write the page"},
    ]
}


def test_the_same_backlog_in_yaml_json_and_markdown() -> None:
    issues = load_backlog(YAML, source="backlog.yaml")
    assert list(issues) == ["L-000101", "L-000102", "L-000103"]
    assert load_backlog(json.dumps(PARTS, indent="\t"), source="backlog.json") == issues
    assert load_backlog(MARKDOWN, source="BACKLOG.md") == issues


def test_an_issue_becomes_a_step_for_an_agent() -> None:
    chosen = select(
        load_backlog(YAML, source="b"), ["L-000102", "L-000101"], {"L-000102": "claude-code"}
    )
    first, second = steps_of(chosen, {})
    assert (first.key, first.depends_on) == ("L-000101", ())
    assert (second.key, second.depends_on) == ("L-000102", (1,))
    (work,) = first.subtasks
    assert work.command == (
        "L-000101: Store the lines\n\nKeep each line in a table.\n\nFiles: src/store.py"
    )
    assert work.check == "python -m pytest tests/test_store.py"
    assert work.agent is not None
    assert work.agent.acceptance == ("a line is found again",)
    assert work.agent.runner == "codex"
    assert second.subtasks[0].agent is not None
    assert second.subtasks[0].agent.runner == "claude-code"


def test_an_issue_may_need_one_that_the_session_has_already() -> None:
    chosen = select(load_backlog(YAML, source="b"), ["L-000102", "L-000103"], {})
    needing, free = renumber(steps_of(chosen, {"L-000101": 3}, 5), 5, ())
    assert (needing.ordinal, needing.depends_on) == (6, (3,))
    assert (free.ordinal, free.depends_on) == (7, ())


def test_a_text_without_issues_is_not_a_backlog() -> None:
    with pytest.raises(Rejected, match="at least 1"):
        load_backlog("# Ideas\n\nNothing yet.\n", source="BACKLOG.md")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("id: L-000103", "id: L-000101", "issues[2].id: 'L-000101' is the id of two issues"),
        ("id: L-000103", "id: L-103", "'L-103' is not a valid id of an issue"),
        ("id: L-000103", "id: 103", "103 is not a valid id of an issue"),
        ("[L-000101]}", "[L-000109]}", "'L-000109' is unknown; did you mean"),
        ("runner: codex", "runner: codecs", "'codecs' is unknown; did you mean 'codex'?"),
        ("runner: codex", "runner: acp", "'acp' is unknown"),
        ("title: Write the page", "titel: x", "titel: unknown; did you mean 'title'?"),
        ("title: Write the page", "title: ''", "may not be empty"),
        (
            "runner: codex",
            "depends_on: [L-000102]",
            "need one another in a circle: L-000101, L-000102",
        ),
        ("issues:", "isues:", "unknown; did you mean 'issues'?"),
        (YAML, "issues: []", "has to have at least 1"),
        (YAML, "{", "not readable as YAML"),
    ],
)
def test_a_backlog_that_is_not_valid_is_refused_with_its_place(
    old: str, new: str, told: str
) -> None:
    with pytest.raises(Rejected) as raised:
        load_backlog(YAML.replace(old, new), source="backlog.yaml")
    assert told in raised.value.reason
    assert raised.value.reason.startswith("backlog.yaml: ")
    assert raised.value.stage == "backlog"


@pytest.mark.parametrize(
    ("allow", "assign", "told"),
    [
        ((), {}, "no issue is allowed"),
        (("L-000109",), {}, "the issue 'L-000109' is unknown; did you mean"),
        (("L-000101", "L-000101"), {}, "L-000101 is allowed twice"),
        (("L-000101",), {"L-000102": "codex"}, "'L-000102' is assigned to codex, and not allowed"),
        (("L-000101",), {"L-000101": "codecs"}, "'codecs' of L-000101 is unknown; did you mean"),
        (("L-000102",), {}, "L-000102 needs L-000101, which is neither allowed nor in the session"),
    ],
)
def test_a_choice_that_the_backlog_does_not_have_is_refused(
    allow: tuple[str, ...], assign: dict[str, str], told: str
) -> None:
    issues = load_backlog(YAML, source="b")
    with pytest.raises(Rejected) as raised:
        steps_of(select(issues, allow, assign), {})
    assert told in raised.value.reason
    assert raised.value.next_step is not None


def test_the_example_of_the_documentation_is_a_backlog() -> None:
    text = (Path(__file__).parents[3] / "docs" / "deliveries.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(issues:.*?)```", text, re.DOTALL)
    assert list(load_backlog(example, source="backlog.yaml")) == ["L-000101", "L-000102"]
