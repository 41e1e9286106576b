"""Repositories: added once git can read them, checked, listed, and removed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.domain.target import Repository
from shared.store import repositories, targets
from tests.integration.cli.calling import Cli

HERE = ("--local", "--no-check")
PLAN = """
steps:
  - title: Mend it
    repository: app
    subtasks:
      - {kind: agent, goal: mend it, check: 'true'}
"""


def git(folder: Path, *words: str) -> None:
    """Run git there, with an author and without the configuration of this machine."""
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    subprocess.run(
        ("git", "-C", str(folder), *who, *words), check=True, capture_output=True, text=True
    )


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A repository with one commit on `main`."""
    folder = tmp_path / "app's"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("print(1)\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder


@contextmanager
def unchanged(cli: Cli) -> Iterator[None]:
    """No repository is added or removed."""
    before = cli.json("repo", "list")["details"]
    yield
    assert cli.json("repo", "list")["details"] == before


def test_a_repository_is_added_checked_listed_and_removed(cli: Cli, app: Path) -> None:
    (app / "b.py").write_text("not committed\n")
    told = cli(
        *("repo", "add", "app", "--path", app, "--setup", "npm ci", "--check", "npm test"),
        *("--runner", "codex", "--copy", ".env.test", "--label", "env=test"),
    )
    assert told.code == 0, told
    assert "1 uncommitted file there: only commits count" in told.out + told.err
    with cli.database.begin() as connection:
        found = targets.find(connection, "app")
        assert found is not None
        assert found.host.name == "localhost"
        assert found.repository == Repository(
            "app",
            "localhost",
            path=str(app),
            setup="npm ci",
            checks=("npm test",),
            runners=("codex",),
            copied=(".env.test",),
            labels=("env=test",),
        )
    checked = cli.json("repo", "check", "app")["details"]["report"]
    assert (checked["branch"], checked["notices"]) == ("main", ["uncommitted"])
    assert str(app) in "".join(cli("repo", "show", "app").out.split())  # it may be folded
    assert "app" in cli("repo", "list").out
    assert cli.json("repo", "remove", "app")["details"] == {"name": "app"}
    acts = [row.verb for row in cli.rows("SELECT verb FROM audit WHERE ref = 'app' ORDER BY seq")]
    assert acts == ["repo.add", "repo.check", "repo.remove"]
    assert "there is no repository yet" in cli("repo", "list").out


def test_a_name_belongs_to_one_target(cli: Cli, app: Path) -> None:
    cli.json("host", "add", "here", *HERE)
    with unchanged(cli):
        taken = cli.refused("repo", "add", "here", "--path", app)
        assert "a host is called 'here'" in taken["reason"]
        assert "'localhost'" in cli.refused("repo", "add", "localhost", "--path", app)["reason"]
    cli.json("repo", "add", "app", "--path", app, "--host", "here", "--no-ask")
    assert "already a repository" in cli.refused("repo", "add", "app", "--path", app)["reason"]
    assert "a repository is called" in cli.refused("host", "add", "app", *HERE)["reason"]
    assert "on here: app" in cli.refused("host", "remove", "here")["reason"]
    cli.json("repo", "add", "app", "--path", app, "--replace", "--no-ask")
    with cli.database.begin() as connection:
        assert repositories.get(connection, "app").host == "localhost"


def test_a_repository_that_went_bad(cli: Cli, app: Path, tmp_path: Path) -> None:
    """What is refused is not kept; what was added stays; a step needs one that is there."""
    with unchanged(cli):
        refused = cli.json("repo", "add", "app", "--path", app, "--branch", "mian", code=2)
        assert "no branch 'mian'; it has main" in refused["reason"]
        assert (refused["stage"], bool(refused["next_step_cmd"])) == ("repository", True)
        gone = cli.json("repo", "add", "app", "--url", f"file://{tmp_path}/none", code=4)
        assert "cannot read" in gone["reason"]
    cli.json("repo", "add", "app", "--path", app)
    for verb in ("show", "check", "remove"):
        assert "known: app" in cli.refused("repo", verb, "other")["reason"]
    (tmp_path / "plan.yaml").write_text(PLAN.replace("repository: app", "repository: other"))
    refused = cli.refused("task", "submit", "--plan", tmp_path / "plan.yaml", "--local")
    assert "known: app" in refused["reason"]
    app.rename(app.with_name("moved"))
    answer = cli.json("repo", "check", "app", code=2)
    assert answer["details"]["report"]["fault"] == "absent"
    assert answer["next_step_cmd"]
    assert "there is no folder" in answer["reason"]


@pytest.mark.parametrize(
    ("name", "place", "words"),
    [
        ("app", ("--path", "/srv/\udcff"), "is not valid text"),
        ("app", ("--path", "/srv/a\0b"), "is not valid text"),
        ("app", ("--url", "https://\udcff/app.git"), "is not valid text"),
        ("a..b", ("--path", "/srv/app"), "is not a valid name"),
        ("app.lock", ("--path", "/srv/app"), "is not a valid name"),
        ("-app", ("--path", "/srv/app"), ""),
        ("app", ("--path", "srv", "--host", "here"), "is not a path from the root"),
    ],
)
def test_what_nobody_could_use_is_refused(
    cli: Cli, name: str, place: tuple[str, ...], words: str
) -> None:
    """Before anything is asked or kept; each with its sentence."""
    cli.json("host", "add", "here", *HERE)
    with unchanged(cli):
        refused = cli("repo", "add", "--no-ask", name, *place)
    assert refused.code == 2, refused
    assert words in refused.err
    assert "Traceback" not in refused.err


def test_what_agents_left_is_told_when_their_repository_goes(coordinated: Cli, app: Path) -> None:
    """Nothing of it is removed unasked; a repository in which nobody worked has left nothing."""
    cli = coordinated
    cli.json("repo", "add", "app", "--path", app, "--no-ask")
    assert cli("repo", "remove", "app").err == ""
    cli.json("repo", "add", "app", "--path", app, "--no-ask")
    (app / "plan.yaml").write_text(PLAN)
    ref = cli.json("task", "submit", "--plan", app / "plan.yaml", "--local")["details"]["ref"]
    cli.json("task", "cancel", ref)
    told = cli("repo", "remove", "app")
    assert told.code == 0, told
    assert "every tree that agents left, stay on localhost" in told.out + told.err
    assert "rm -rf ~/.replan/workspaces/app" in told.out + told.err


def test_where_accepted_work_goes_is_kept_and_shown(cli: Cli, app: Path, tmp_path: Path) -> None:
    """A remote may be a path as a person writes it; a forge is named whole or not at all."""
    forge = ("--forge", "gitlab", "--forge-project", "g/app", "--merge-into", "main")
    cli.refused("repo", "add", "app", "--path", app, "--no-ask", *forge)
    token = ("--forge-token-secret", "FORGE_TOKEN")
    remote = f"{tmp_path}/a/../remote.git"
    (tmp_path / "a").mkdir()
    words = ("repo", "add", "app", "--path", app, "--remote", remote, *forge, *token)
    refused = cli.refused(*words)
    assert f"cannot read the remote {remote}" in refused["reason"]
    assert refused["next_step_cmd"] == f"git ls-remote -- {remote}"
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    cli.json(*words)

    found = cli.json("repo", "show", "app")["details"]
    assert found["remote"] == remote
    assert found["forge"] == {
        "kind": "gitlab",
        "api": "https://gitlab.com/api/v4",
        "project": "g/app",
        "into": "main",
        "token": "FORGE_TOKEN",
    }
    assert "to be merged into main on gitlab g/app" in " ".join(
        cli("repo", "show", "app").out.split()
    )


def test_who_may_accept_is_kept_and_shown(cli: Cli, app: Path) -> None:
    """Rules of trust by pattern, files that are forbidden, and who reviews."""
    said = ("--trust", "migrations/=person", "--trust", "*.sql=review", "--forbid", "secrets/")
    cli.json("repo", "add", "app", "--path", app, "--no-ask", *said, "--reviewer", "codex")
    found = cli.json("repo", "show", "app")["details"]
    assert found["trust"] == [
        {"pattern": "migrations/", "trust": "person"},
        {"pattern": "*.sql", "trust": "review"},
    ]
    assert (found["forbidden_paths"], found["reviewers"]) == (["secrets/"], ["codex"])
    assert "migrations/=person, *.sql=review" in cli("repo", "show", "app").out
