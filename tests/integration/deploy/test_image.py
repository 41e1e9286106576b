"""The image: what goes in, who runs it, and that it is all the product needs."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

DEPLOYED = ("Dockerfile", "make-env", "replan.env.example", "replan.toml", "README.md")


@pytest.fixture(scope="module")
def stages(root: Path) -> list[list[str]]:
    """The instructions of each stage, continued lines joined, comments left out."""
    text = re.sub(r"^#.*\n", "", (root / "deploy/Dockerfile").read_text(), flags=re.MULTILINE)
    lines = [line for line in re.sub(r"\\\n\s*", " ", text).splitlines() if line.strip()]
    found: list[list[str]] = []
    for line in lines:
        if line.startswith("FROM "):
            found.append([])
        found[-1].append(line)
    return found


def test_it_is_built_in_one_stage_and_runs_in_another(stages: list[list[str]]) -> None:
    assert [stage[0] for stage in stages] == [
        "FROM python:3.11-slim AS build",
        "FROM python:3.11-slim",
    ]
    assert not any("pip" in line for line in stages[-1])


def test_nothing_is_installed_that_the_lock_does_not_name(stages: list[list[str]]) -> None:
    """Every installation checks hashes, or takes what was built here without looking elsewhere."""
    installs = re.findall(
        r"pip(?: --python \S+)? install (.*?)(?=&&|$)", "\n".join(stages[0]), re.MULTILINE
    )
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes" in install or "--no-index --no-deps" in install, install
    assert "requirements-dev" not in "\n".join(stages[0])


def test_it_runs_as_a_numbered_account_that_is_not_root(stages: list[list[str]]) -> None:
    """A number, so that an orchestrator can see that it is not root's."""
    users = [line for line in stages[-1] if line.startswith("USER ")]
    assert users == ["USER ${REPLAN_UID}"]
    (uid,) = (line for line in stages[-1] if line.startswith("ARG REPLAN_UID="))
    assert int(uid.partition("=")[2]) >= 1000
    after = stages[-1][stages[-1].index(users[0]) :]
    assert not any(line.startswith(("RUN ", "COPY ", "ADD ")) for line in after)


def test_it_says_how_its_health_is_checked(stages: list[list[str]]) -> None:
    (check,) = (line for line in stages[-1] if line.startswith("HEALTHCHECK "))
    assert "shared.health" in check


def test_it_takes_nothing_along_that_was_not_asked_for(root: Path) -> None:
    """Everything is left out but what is named: neither .env nor keys nor the history get in."""
    rules = [
        line
        for line in (root / ".dockerignore").read_text().splitlines()
        if line and line[0] != "#"
    ]
    assert rules[0] == "*"
    assert not any(
        rule.startswith(("!deploy/keys", "!.env", "!.git")) or rule == "!deploy" for rule in rules
    )


def test_what_is_copied_is_let_in(root: Path, stages: list[list[str]]) -> None:
    """Each source of a COPY is there, and .dockerignore lets it pass."""
    let_in = {rule[1:] for rule in (root / ".dockerignore").read_text().split() if rule[:1] == "!"}
    copied = [
        source
        for stage in stages
        for line in stage
        if line.startswith("COPY ") and "--from=" not in line
        for source in line.split()[1:-1]
    ]
    assert copied
    assert set(copied) == let_in
    assert all((root / source).exists() for source in copied)


def test_the_lock_has_what_the_redis_transport_needs(root: Path) -> None:
    """The transport imports more for Redis than kombu requires; development tools may hide it."""
    names = re.findall(r"^([\w.-]+)==", (root / "requirements.lock").read_text(), re.MULTILINE)
    locked = {canonicalize_name(name) for name in names}
    needed = [Requirement(each) for each in requires("kombu") or []]
    extra = [each for each in needed if each.marker and each.marker.evaluate({"extra": "redis"})]
    assert "redis" in {each.name for each in extra}
    assert {canonicalize_name(each.name) for each in extra} <= locked


def test_the_image_has_flower_which_others_need_not_install(root: Path) -> None:
    """It runs in a container of its own; elsewhere it is an extra."""
    assert re.search(r"^flower==", (root / "requirements.lock").read_text(), re.MULTILINE)
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert "flower" not in {Requirement(each).name for each in project["dependencies"]}
    (needed,) = project["optional-dependencies"]["flower"]
    assert Requirement(needed).name == "flower"


def test_no_address_of_a_registry_is_written_down(root: Path) -> None:
    files = [root / "docker-compose.yml", root / ".dockerignore"]
    files += [path for path in (root / "deploy").rglob("*") if path.is_file()]
    allowed = re.compile(r"https?://(127\.0\.0\.1|localhost)")
    for path in files:
        for address in re.findall(
            r"https?://\S+", path.read_text(encoding="utf-8", errors="ignore")
        ):
            assert allowed.match(address), f"{path}: {address}"
        assert "index-url" not in path.read_text(encoding="utf-8", errors="ignore"), path


@pytest.mark.parametrize("name", DEPLOYED)
def test_what_a_deployment_needs_is_there(root: Path, name: str) -> None:
    assert (root / "deploy" / name).is_file()
