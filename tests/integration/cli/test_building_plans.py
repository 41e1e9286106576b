"""`replan plan build`: steps of a session, from the issues of a backlog that are allowed."""

from pathlib import Path

import pytest

from tests.integration.cli.calling import Cli
from tests.services.ring import eventually

BACKLOG = """
issues:
  - {id: L-000101, title: Store the lines, check: test -e store.py}
  - {id: L-000102, title: Read the lines, check: test -e read.py, depends_on: [L-000101]}
  - {id: L-000103, title: Write the page, check: test -e page.py, depends_on: [L-000102]}
"""


@pytest.fixture
def backlog(coordinated: Cli, tmp_path: Path) -> Path:
    """A backlog, and a repository that nobody looks at."""
    coordinated.json("repo", "add", "app", "--path", tmp_path, "--no-ask")
    path = tmp_path / "backlog.yaml"
    path.write_text(BACKLOG)
    return path


def test_issues_begin_a_session(coordinated: Cli, backlog: Path) -> None:
    """Nothing before --apply; and it takes no more afterwards, for nobody holds it open."""
    new = ("plan", "build", backlog, "--repo", "app", "--allow", "L-000101")
    before = coordinated.everything()
    shown = coordinated.json(*new)
    assert shown["details"]["applied"] is False
    assert shown["details"]["ref"] is None
    assert "would begin a session in app" in coordinated(*new).out
    assert coordinated.everything() == before
    assert shown["next_step_cmd"].endswith("--apply")
    built = coordinated.json(*new, "--assign", "L-000101=codex", "--apply")["details"]
    assert built["ref"] == "T1@app"
    eventually(lambda: coordinated.rows("SELECT step FROM run_steps"), "the step")
    more = ("plan", "build", backlog, "--session", "T1@app", "--allow", "L-000103,L-000102")
    assert "is not open" in coordinated.refused(*more)["reason"]
    chosen = coordinated.rows("SELECT session_id, selector_json, assigns_json FROM ledger.plans")
    assert [tuple(row) for row in chosen] == [
        ("T1@app", ["L-000101"], {"L-000101": "codex"}),
    ]


def test_issues_are_added_to_an_open_session(coordinated: Cli, backlog: Path) -> None:
    """One after the other; what was chosen is kept each time (S2.20)."""
    coordinated.json("session", "open", "--repo", "app")
    build = ("plan", "build", backlog, "--session", "T1@app", "--allow")
    eventually(lambda: coordinated.rows("SELECT id FROM runs WHERE held_open"), "the session")
    assert "L-000102 needs L-000101" in coordinated.refused(*build, "L-000102")["reason"]
    coordinated.json(*build, "L-000101", "--apply")
    more = (*build, "L-000103,L-000102")
    shown = coordinated.json(*more)["details"]
    assert [(step["issue"], step["number"]) for step in shown["steps"]] == [
        ("L-000102", 2),
        ("L-000103", 3),
    ]
    assert len(coordinated.rows("SELECT step FROM run_steps")) == 1
    assert coordinated.json(*more, "--apply")["details"]["applied"]
    steps = coordinated.rows("SELECT step, title, depends_on FROM run_steps ORDER BY step")
    assert [tuple(row) for row in steps] == [
        (1, "Store the lines", []),
        (2, "Read the lines", [1]),
        (3, "Write the page", [2]),
    ]
    chosen = coordinated.rows("SELECT selector_json FROM ledger.plans ORDER BY created_at")
    assert [row.selector_json for row in chosen] == [["L-000101"], ["L-000103", "L-000102"]]
    entries = coordinated.json("audit", "list")["details"]["entries"]
    assert entries[0]["verb"] == "plan.build"
    again = coordinated.refused(*more)
    assert again["reason"] == "L-000102 is in the session already: it is T1.2@app"


def test_what_cannot_be_built_is_refused_before_anything_is_written(
    coordinated: Cli, backlog: Path, tmp_path: Path
) -> None:
    build = ("plan", "build", backlog, "--apply")
    refused = coordinated.refused(*build, "--repo", "app", "--session", "T1", "--allow", "L-000101")
    assert "either --session REF or --repo NAME" in refused["reason"]
    refused = coordinated.refused(*build, "--repo", "app", "--allow", "L-000101", "--assign", "x")
    assert "'x' is not an assignment" in refused["reason"]
    refused = coordinated.refused(*build, "--repo", "nowhere", "--allow", "L-000101")
    assert "'nowhere' is not the name of a repository" in refused["reason"]
    refused = coordinated.refused(*build, "--repo", "app", "--allow", "L-000102")
    assert "L-000102 needs L-000101" in refused["reason"]
    plan = tmp_path / "plan.yaml"
    plan.write_text("steps:\n  - {title: s, subtasks: [{run: 'true'}]}\n")
    coordinated.json("task", "submit", "--plan", plan, "--local")
    eventually(lambda: coordinated.rows("SELECT step FROM run_steps"), "the step")
    refused = coordinated.refused(*build, "--session", "T1", "--allow", "L-000101")
    assert "T1@localhost is not a session" in refused["reason"]
