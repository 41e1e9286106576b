"""What the repository promises about itself: its shape, its names, its locks."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests.services import agent_programs

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("orchestrator", "workers", "shared")
LONGEST_MODULE: Final = 400

TOP_LEVEL: Final = {
    "pyproject.toml",
    "orchestrator",
    "workers",
    "shared",
    "deploy",
    "docs",
    "tests",
    "docker-compose.yml",
    "Makefile",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE",
    "benchmarks",
    "examples",
    "requirements.lock",
    "requirements-dev.lock",
}

# A name that admits anything will.
DRAWERS: Final = re.compile(
    r"_?(utils?|helpers?|common|base|managers?|misc|handlers?|processors?|service|stuff|lib)"
)

# In pieces, because this file is searched too.
REGISTRIES: Final = tuple(
    name + "." + domain
    for name, domain in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("pypi.python", "org"),
        ("registry.npmjs", "org"),
        ("registry.yarnpkg", "com"),
        ("crates", "io"),
        ("rubygems", "org"),
        ("proxy.golang", "org"),
        ("repo.maven.apache", "org"),
    )
)

PINNED: Final = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(\S+)")
AGENTS: Final = "deploy/requirements-agents.lock"
LOCKS: Final = (
    "requirements.lock",
    "requirements-dev.lock",
    "deploy/requirements-build.lock",
    AGENTS,
)


def files() -> list[Path]:
    """What git keeps or would keep."""
    # Whoever owns the clone: it may be a root that runs the tests of a user.
    words = (
        "git",
        "-c",
        "safe.directory=*",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "-z",
    )
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def modules() -> list[Path]:
    """Every Python file."""
    return [path for path in files() if path.suffix == ".py"]


def shown(path: Path) -> str:
    """A path as a reader writes it."""
    return str(path.relative_to(ROOT))


def pins(lock: str) -> dict[str, str]:
    """The packages of a lock file and their versions."""
    lines = (ROOT / lock).read_text().splitlines()
    return {found[1].lower(): found[2] for line in lines if (found := PINNED.match(line))}


def required(section: list[str]) -> set[str]:
    """The names in a list of requirements."""
    names = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in section)
    return {re.sub(r"[._]", "-", name[0]).lower() for name in names if name}


def test_the_top_level_is_the_agreed_one() -> None:
    """Nothing more and nothing less, apart from names that begin with a dot (D.3)."""
    tops = {path.relative_to(ROOT).parts[0] for path in files()}
    assert {top for top in tops if not top.startswith(".")} == TOP_LEVEL


def test_no_module_is_long() -> None:
    """One idea a file."""
    lengths = {shown(path): len(path.read_text().splitlines()) for path in modules()}
    assert {name: n for name, n in lengths.items() if n > LONGEST_MODULE} == {}


def test_there_are_no_drawers() -> None:
    """No module or folder with a name that says nothing."""
    names = [path.relative_to(ROOT) for path in modules()]
    assert [
        str(name)
        for name in names
        if any(DRAWERS.fullmatch(part.removesuffix(".py")) for part in name.parts)
    ] == []


def test_no_registry_is_named() -> None:
    """Where packages come from is the user's choice, not ours."""
    found = [
        f"{shown(path)}: {address}"
        for path in files()
        for address in REGISTRIES
        if address.encode() in path.read_bytes()
    ]
    assert found == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_everything_with_hashes(lock: str) -> None:
    """Each package has one version and at least one hash; no options, no addresses."""
    blocks = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
    packages = [block for block in blocks if not block.startswith("#")]
    assert packages
    for block in packages:
        assert PINNED.match(block), block
        assert "--hash=sha256:" in block, block


def test_the_locks_hold_what_the_project_requires() -> None:
    """A requirement that is added without `make lock` is noticed here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    runtime = required(project["project"]["dependencies"])
    extras = project["project"]["optional-dependencies"]
    build = required(project["dependency-groups"]["build"])
    agents = required(extras.pop("agents"))
    everything = runtime.union(build, *(required(extra) for extra in extras.values()))
    assert runtime <= set(pins("requirements.lock"))
    assert everything <= set(pins("requirements-dev.lock"))
    assert build <= set(pins("deploy/requirements-build.lock"))
    assert runtime | agents | required(extras["embedded"]) <= set(pins(AGENTS))
    assert build >= required(project["build-system"]["requires"])


def test_the_locks_agree() -> None:
    """What is deployed was tested: the same versions, without the embedded servers.

    Of the packages with the agents, only Claude Code's own is used, and the tests bring that.
    """
    tested = pins("requirements-dev.lock")
    for lock in LOCKS:
        found = pins(lock)
        known = found if lock != AGENTS else {name: found[name] for name in found.keys() & tested}
        assert known.items() <= tested.items()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    embedded = required(extras["optional-dependencies"]["embedded"])
    assert not embedded & set(pins("requirements.lock"))


def test_the_agent_that_is_installed_is_the_one_that_was_tested() -> None:
    assert (
        f"--hash=sha256:{agent_programs.PACKAGES['claude-code'].sha256}"
        in (ROOT / AGENTS).read_text()
    )


def test_importing_does_nothing() -> None:
    """No output, no thread, no warning, whatever is imported (entry points apart)."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in modules()
        if path.relative_to(ROOT).parts[0] in PACKAGES
        and path.stem != "__main__"
        and "migrations" not in path.parts
    ]
    code = (
        "import importlib, sys, threading\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *sorted(names)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_own_processes_are_started_in_one_place() -> None:
    """An interpreter that is not told where to look runs the code of the current folder."""
    found = {
        shown(path)
        for path in modules()
        if path.relative_to(ROOT).parts[0] in PACKAGES and "sys.executable," in path.read_text()
    }
    assert found == {
        "orchestrator/process_command.py",
        "orchestrator/embedded/process.py",  # by its path, isolated
        "orchestrator/embedded/demo.py",  # isolated
    }
