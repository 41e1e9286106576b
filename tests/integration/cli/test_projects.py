"""`replan project …`: what it prints, and what it refuses."""

from pathlib import Path

import pytest

from shared.domain.target import Repository
from shared.store import repositories
from tests.integration.cli.calling import Cli


@pytest.fixture
def app(cli: Cli, tmp_path: Path) -> Cli:
    """A repository that is called app."""
    with cli.database.begin() as connection:
        repositories.save(connection, Repository("app", "localhost", str(tmp_path)))
    return cli


def test_a_project_before_anybody_has_planned_it(app: Cli) -> None:
    """Every answer is one that its schema accepts."""
    assert app.json("project", "list")["details"] == {"projects": [], "next": None}
    given = ("project", "start", "Count lines", "--repo", "app", "--planner", "runbook")
    started = app.json(*given, "--key", "one")
    assert started["details"] == {"ref": "T1", "repository": "app"}
    assert started["next_step_cmd"] == "replan project status T1"
    assert app.json(*given, "--key", "one")["details"]["ref"] == "T1"
    shown = app.json("project", "status", "T1")["details"]
    assert shown["plan"]["project_goal"] == "Count lines"
    assert (shown["plan"]["status"], shown["plan"]["tasks"]) == ("active", [])
    (line,) = app.json("project", "list")["details"]["projects"]
    assert (line["ref"], line["goal"], line["tasks"]) == ("T1", "Count lines", 0)
    report = app.json("project", "report", "T1")["details"]
    assert report["report"].startswith("# Count lines\n")
    for verb in ("status", "report", "list"):
        words = ("project", verb) if verb == "list" else ("project", verb, "T1")
        assert "Count lines" in app(*words).out


def test_what_is_not_a_project_is_refused_with_what_to_type_next(app: Cli) -> None:
    start = ("project", "start")
    assert "repo add" in app.refused(*start, "Count", "--repo", "localhost")["next_step_cmd"]
    assert "the goal is empty" in app.refused(*start, " ", "--repo", "app")["reason"]
    by_hand = app.refused(*start, "Count", "--repo", "app", "--planner", "human")
    assert "--set deliver=true" in by_hand["next_step_cmd"]
    assert "there is no task T9" in app.refused("project", "status", "T9")["reason"]
    app("task", "submit", "Count", "--local", "--planner", "runbook")
    for verb in ("status", "report", "pause", "resume"):
        assert "T1 is not a project" in app.refused("project", verb, "T1")["reason"]
    app(*start, "Count lines", "--repo", "app", "--planner", "runbook")
    assert "its manager is planning it" in app.refused("project", "pause", "T2")["reason"]
