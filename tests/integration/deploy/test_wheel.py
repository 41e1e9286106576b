"""What somebody gets who installs the wheel, whatever else is installed or lies around."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from orchestrator.embedded import port

FOREIGN: Final = ("orchestrator", "workers", "shared")
SHADOWS: Final = (*FOREIGN, "replan", "celeryconfig", "celery", "http", "json", "typer")
"""Names of the product's, of what it stands on, and one that Celery looks for by itself."""


def run(*words: str | Path, cwd: Path, environ: dict[str, str] | None = None) -> str:
    """What a program says; fails with all of it when its exit code is not 0."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def build(project: Path, target: str, folder: Path) -> Path:
    """Build the wheel or the sdist of a project into a new folder."""
    folder.mkdir()
    hatchling = (sys.executable, "-m", "hatchling", "build")
    run(*hatchling, "--target", target, "--directory", folder, cwd=project)
    (built,) = folder.iterdir()
    return built


def names(wheel: Path) -> list[str]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build(root, "wheel", tmp_path_factory.mktemp("wheel") / "dist")


@pytest.fixture(scope="module")
def platform_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of somebody else, who has packages of the same names."""
    project = tmp_path_factory.mktemp("platform")
    for name in FOREIGN:
        (project / name).mkdir()
        for file in ("__init__.py", "__main__.py", "logs.py"):
            (project / name / file).write_text("raise SystemExit('foreign code ran')\n")
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "acme-platform"\nversion = "1"\n'
        f"[tool.hatch.build.targets.wheel]\npackages = {list(FOREIGN)}\n"
    )
    return build(project, "wheel", project / "dist")


@dataclass(frozen=True)
class Installation:
    """A virtual environment with replan from the wheel, and an account that uses it."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "venv/bin/python"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of the account: a home of its own, and nothing of the development's."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("REPLAN_", "PYTHON", "VIRTUAL_ENV"))
        }
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "PATH": f"{self.folder}/venv/bin:{os.environ['PATH']}",
            "REPLAN_DATA_DIR": str(self.folder / "data"),
        }

    @property
    def site_packages(self) -> Path:
        """Where it installs."""
        return next(self.folder.glob("venv/lib/python*/site-packages"))

    def pip(self, *words: str | Path) -> None:
        """Install or remove something; nothing is looked for anywhere else."""
        pip = (sys.executable, "-m", "pip", "--python", self.python)
        run(*pip, *words, cwd=self.folder, environ={**os.environ, "PIP_NO_INPUT": "1"})

    def replan(
        self, *words: str, cwd: Path, code: int = 0, more: Mapping[str, str] | None = None
    ) -> str:
        """What `replan …` says, typed in a folder; it ends with that exit code."""
        done = subprocess.run(
            ["replan", *words],
            cwd=cwd,
            env={**self.environ, **(more or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    @contextmanager
    def up(self, cwd: Path) -> Iterator[str]:
        """Everything runs in the background, started and stopped in a folder; what to type next."""
        told = self.replan("up", "--detach", cwd=cwd)
        try:
            yield told.partition("next: ")[2].splitlines()[0]
        finally:
            assert "down;" in self.replan("down", cwd=cwd)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installation:
    """One that finds what replan requires where these tests find it, so nothing is downloaded."""
    folder = tmp_path_factory.mktemp("installation")
    (folder / "home").mkdir()
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    made = Installation(folder)
    made.pip("install", "--no-index", "--no-deps", wheel)
    # Packages of that folder are found; its own .pth files, and so the checkout, are not read.
    required = sysconfig.get_path("purelib")
    (made.site_packages / "required.pth").write_text(f"{required}\n")
    shfmt = Path(sysconfig.get_path("scripts"), "shfmt")
    (made.python.parent / shfmt.name).symlink_to(shfmt)
    return made


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder with modules that must never be run, each under a name that replan imports."""
    folder = tmp_path / "strange"
    for name in SHADOWS:
        (folder / name).mkdir(parents=True)
        for file in ("__init__.py", "__main__.py"):
            (folder / name / file).write_text("raise SystemExit('foreign code ran')\n")
    return folder


def test_the_wheel_takes_one_name(wheel: Path) -> None:
    """`orchestrator`, `workers` and `shared` are names that others have, too."""
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"replan"}


def test_the_sdist_builds_the_same_wheel(root: Path, tmp_path: Path, wheel: Path) -> None:
    sdist = build(root, "sdist", tmp_path / "sdist")
    run("tar", "-xzf", sdist, cwd=tmp_path)
    (project,) = tmp_path.glob("replan-*")
    assert names(build(project, "wheel", tmp_path / "again")) == names(wheel)


def starts(installation: Installation, cwd: Path, *services: str) -> None:
    """The command line and services come as far as the servers, of which there are none."""
    assert installation.replan("--version", cwd=cwd).startswith("replan ")
    nowhere = {
        "REPLAN_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{port.any_free()}/none",
        "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0",
        "REPLAN_STARTUP_PATIENCE": "0.1",
    }
    for service in ("worker start all", *services):
        words = service.split()
        assert "database" in installation.replan(*words, cwd=cwd, code=4, more=nowhere)


def test_code_of_the_current_folder_is_never_run(installation: Installation, strange: Path) -> None:
    """By nothing that starts a process: everything on this machine, a task, a look at a host."""
    starts(installation, strange, "coordinator start", "gateway start")
    (installation.folder / "key").touch()
    closed = ("--address", "127.0.0.1", "--port", str(port.any_free()), "--user", "nobody")
    add = ("host", "add", "a", *closed, "--key", f"{installation.folder}/key")
    with installation.up(strange) as typed:
        assert f"{installation.site_packages}/replan/examples/hello.yaml" in typed
        dry = f"{typed} --dry-run"  # what it makes would lie in the home of who tests
        assert "T1 done" in run("sh", "-c", dry, cwd=strange, environ=installation.environ)
        assert "listens" in installation.replan(*add, cwd=strange, code=4)


def test_who_else_has_packages_of_these_names_changes_nothing(
    installation: Installation, platform_wheel: Path
) -> None:
    """Neither installed beside it nor removed again, which takes only what is its own."""
    installation.pip("install", "--no-index", "--no-deps", platform_wheel)
    assert all((installation.site_packages / name).is_dir() for name in FOREIGN)
    starts(installation, installation.folder)
    installation.pip("uninstall", "--yes", "acme-platform")
    assert not any((installation.site_packages / name).exists() for name in FOREIGN)
    starts(installation, installation.folder)
