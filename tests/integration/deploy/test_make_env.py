"""`deploy/make-env` writes an environment that docker-compose.yml starts with."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from orchestrator.acts.signing import Signer


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A copy of what the script needs, in a folder whose name would break careless shell."""
    folder = tmp_path / "a folder; with $words"
    (folder / "deploy").mkdir(parents=True)
    for name in ("make-env", "replan.env.example"):
        shutil.copy(root / "deploy" / name, folder / "deploy" / name)
    return folder


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script, from somewhere else."""
    return subprocess.run(
        [folder / "deploy/make-env"],
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )


def read(env: Path) -> dict[str, str]:
    """The variables of an environment file."""
    lines = [line for line in env.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_the_passwords_are_random_and_fit_into_an_address(copy: Path) -> None:
    assert run(copy).returncode == 0
    first = read(copy / ".env")
    (copy / ".env").unlink()
    assert run(copy).returncode == 0
    second = read(copy / ".env")
    passwords = {name for name in first if name.endswith("_PASSWORD")}
    assert passwords == {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "FLOWER_PASSWORD"}
    values = [each[name] for each in (first, second) for name in passwords]
    assert len(set(values)) == len(values)
    assert all(re.fullmatch(r"[0-9a-f]{48}", value) for value in values)


def test_only_its_owner_can_read_it(copy: Path) -> None:
    run(copy)
    assert stat.S_IMODE((copy / ".env").stat().st_mode) == 0o600


def test_one_that_is_there_is_left_as_it_is(copy: Path) -> None:
    """The passwords of a database that exists are not lost; the exit code and a sentence say so."""
    (copy / ".env").write_text("POSTGRES_PASSWORD=kept\n")
    done = run(copy)
    assert done.returncode == 2
    assert "there already" in done.stderr
    assert (copy / ".env").read_text() == "POSTGRES_PASSWORD=kept\n"


def test_redirecting_it_there_does_the_same(copy: Path) -> None:
    """The shell has made the file by then, empty and readable for everybody."""
    env = copy / ".env"
    subprocess.run(["sh", "-c", "umask 022; deploy/make-env >.env"], cwd=copy, check=True)
    assert set(read(env)) >= {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "FLOWER_PASSWORD"}
    assert stat.S_IMODE(env.stat().st_mode) == 0o600


def test_the_key_that_signs_approvals_is_made_once_and_its_public_half_is_pinned(
    copy: Path,
) -> None:
    run(copy)
    folder = copy / "deploy" / "approver"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "approval-key").stat().st_mode) == 0o600
    (pinned,) = read(copy / ".env")["REPLAN_APPROVAL_KEYS"].split(",")
    if (folder / "approval-key").stat().st_uid == os.getuid():
        assert Signer(folder).public == pinned
    assert (folder / "approval-key.pub").read_text().strip() == pinned
    (copy / ".env").unlink()
    run(copy)
    assert read(copy / ".env")["REPLAN_APPROVAL_KEYS"] == pinned


def test_the_containers_never_run_as_root(copy: Path) -> None:
    """Also where root deploys: then the account keeps the image's own number."""
    run(copy)
    assert int(read(copy / ".env")["REPLAN_UID"]) > 0


def test_every_variable_of_the_compose_file_is_explained(root: Path) -> None:
    """The example names each, but the image's version, which has a default that builds here."""
    used = set(re.findall(r"(?<!\$)\$\{(\w+)", (root / "docker-compose.yml").read_text()))
    explained = set(read(root / "deploy/replan.env.example"))
    assert used - {"REPLAN_VERSION"} == explained
