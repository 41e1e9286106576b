"""Debian packages unpacked into the user's cache folder: no root, nothing installed."""

import contextlib
import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.services.availability import UnavailableError

STEP_TIMEOUT: Final = 300.0


def cache_folder() -> Path:
    """Where what was downloaded is kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "replan"


def unpacked(package: str) -> Path:
    """A folder with the files of `package` and of what it needs that is not installed here.

    Downloaded once and then found in the cache, also by several runs at a time. Raises
    UnavailableError where it cannot be downloaded.
    """
    cache = cache_folder()
    root = cache / "packages" / system() / package
    if root.exists():
        return root
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UnavailableError(
                f"{package} is not installed and there is no {program} to get it with"
            )
    root.parent.mkdir(parents=True, exist_ok=True)
    with locked(cache / "lock"):
        if not root.exists():
            with tempfile.TemporaryDirectory(dir=cache, prefix="unpacking-") as scratch:
                fetch(package, Path(scratch), cache / "lists").replace(root)
    return root


def system() -> str:
    """What the unpacked files fit: the distribution, its version and the machine."""
    try:
        names = platform.freedesktop_os_release()
    except OSError:
        names = {}
    words = (names.get("ID", sys.platform), names.get("VERSION_ID", ""), platform.machine())
    return "-".join(word for word in words if word)


def library_path(root: Path) -> str:
    """The folders of shared libraries under `root`, as LD_LIBRARY_PATH wants them."""
    patterns = ("**/lib/**/*.so", "**/lib/**/*.so.*")
    folders = {library.parent for pattern in patterns for library in root.glob(pattern)}
    return os.pathsep.join(sorted(str(folder) for folder in folders))


def fetch(package: str, scratch: Path, lists: Path) -> Path:
    """Download and unpack; the folder lies in `scratch`.

    The machine's own package lists are tried first; where they are missing or out of date,
    lists of our own are fetched.
    """
    try:
        return download(package, scratch, ("-o", f"APT::Sandbox::User={user()}"))
    except UnavailableError:
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        archives = scratch / "archives" / "partial"
        archives.mkdir(parents=True)
        options = (
            *("-o", f"APT::Sandbox::User={user()}"),
            *("-o", f"Dir::State::lists={lists}"),
            *("-o", f"Dir::Cache={scratch}"),
            *("-o", f"Dir::Cache::archives={archives.parent}"),
            *("-o", "Debug::NoLocking=1"),
        )
        run(("apt-get", *options, "update"), scratch)
        return download(package, scratch, options)


def download(package: str, scratch: Path, options: Sequence[str]) -> Path:
    """Download a package and its missing dependencies with the lists `options` name; unpack."""
    plan = run(
        ("apt-get", *options, "-s", "--no-install-recommends", "--reinstall", "install", package),
        scratch,
    )
    names = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    if not names:
        raise UnavailableError(f"{package}: apt-get has nothing to download")
    debs = Path(tempfile.mkdtemp(dir=scratch, prefix="debs-"))
    run(("apt-get", *options, "download", *names), debs)
    root = debs / "root"
    root.mkdir()
    for deb in sorted(debs.glob("*.deb")):
        run(("dpkg-deb", "-x", str(deb), str(root)), debs)
    return root


def run(command: Sequence[str], folder: Path) -> str:
    """What a command says; UnavailableError with its last words if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=STEP_TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{' '.join(command)}: no end after {STEP_TIMEOUT:g} s") from error
    if done.returncode != 0:
        said = " / ".join(done.stderr.strip().splitlines()[-3:])
        raise UnavailableError(f"{' '.join(command)}: exit code {done.returncode}: {said}")
    return done.stdout


def user() -> str:
    """Whom apt-get downloads as: it would otherwise try an account that cannot read our cache."""
    return "root" if os.geteuid() == 0 else ""


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a file against other runs of the tests."""
    with file.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
