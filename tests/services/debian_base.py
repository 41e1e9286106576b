"""Debian itself in the user's cache folder: a root that throw-away hosts lie over, and packages.

Both come from where this machine's own apt takes them. Root is needed, and `debootstrap`.
"""

import hashlib
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.services.availability import UnavailableError
from tests.services.packages import cache_folder, locked, run

NEEDED: Final = ("debootstrap", "apt-get", "unshare", "nsenter", "setpriv", "ip")

# What a host on a scratch disk can do without.
WITHOUT_SYNC: Final = "force-unsafe-io\n"

DOWNLOAD: Final = """\
set -e
mkdir -p /replan/lists/partial /replan/cache/archives/partial
set -- -o Dir::Etc::SourceList=/replan/sources.list -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists=/replan/lists -o Dir::Cache=/replan/cache -o APT::Sandbox::User=root
apt-get "$@" -q update
for package in $PACKAGES; do
    apt-get "$@" -q -y --no-install-recommends --download-only install "$package"
done
"""


@dataclass(frozen=True, slots=True)
class Release:
    """What a host is made of: a suite, what is installed, and what is only kept as a package."""

    suite: str
    installed: tuple[str, ...]
    kept: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Tells one from another, how it is made included."""
        told = repr((self.suite, self.installed, self.kept, WITHOUT_SYNC, DOWNLOAD))
        return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class DebianBase:
    """The root of a host that nothing has happened to yet, and the packages kept beside it."""

    folder: Path

    @property
    def root(self) -> Path:
        """What a host finds at `/`; never written to."""
        return self.folder / "root"

    @property
    def packages(self) -> tuple[Path, ...]:
        """The `.deb` files of what was kept, with all that it depends on."""
        return tuple(sorted((self.folder / "packages").glob("*.deb")))


def own_suite() -> str:
    """The suite of this machine; raises UnavailableError where it is not a Debian."""
    try:
        names = platform.freedesktop_os_release()
    except OSError:
        names = {}
    if names.get("ID") != "debian" or "VERSION_CODENAME" not in names:
        raise UnavailableError("this machine is not a Debian: name a suite")
    return names["VERSION_CODENAME"]


def base(release: Release) -> DebianBase:
    """The base of that release, made once and then found in the cache.

    Raises UnavailableError, with the reason, where it cannot be made.
    """
    require_root()
    cache = cache_folder() / "debian"
    made = cache / f"{release.suite}-{platform.machine()}-{release.digest}"
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / "lock"):
            if not made.exists():
                _make(release, cache, made)
    return DebianBase(made)


def require_root() -> None:
    """Raise UnavailableError where throw-away Debian hosts are not to be had."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise UnavailableError(f"a throw-away Debian needs {', '.join(missing)}: not installed")
    if os.geteuid() != 0:
        raise UnavailableError("a throw-away Debian needs root, for namespaces and mounts")


def _make(release: Release, cache: Path, made: Path) -> None:
    scratch = Path(tempfile.mkdtemp(dir=cache, prefix="making-"))
    scratch.chmod(0o755)
    try:
        root = scratch / "root"
        mirror = _mirror()
        included = ",".join(release.installed)
        words = ("--variant=minbase", f"--include={included}", release.suite, str(root), mirror)
        run(("debootstrap", *words), scratch)
        (root / "etc/dpkg/dpkg.cfg.d/without-sync").write_text(WITHOUT_SYNC)
        packages = scratch / "packages"
        packages.mkdir()
        if release.kept:
            _keep(release, root, mirror, packages)
        for left in ("var/cache/apt/archives", "var/lib/apt/lists"):
            shutil.rmtree(root / left)
            (root / left / "partial").mkdir(parents=True)
        (root / "etc/apt/sources.list").write_text("")
        scratch.rename(made)
    finally:
        _unmount_below(scratch)
        shutil.rmtree(scratch, ignore_errors=True)


def _unmount_below(scratch: Path) -> None:
    """Unmount what debootstrap leaves mounted where it is ended before its end."""
    mounted = (line.split(" ")[1] for line in Path("/proc/self/mounts").read_text().splitlines())
    for place in sorted((each for each in mounted if each.startswith(f"{scratch}/")), reverse=True):
        run(("umount", place), Path("/"))


def _keep(release: Release, root: Path, mirror: str, packages: Path) -> None:
    """Download into the root itself, which knows what it has already, and take it out again."""
    place = root / "replan"
    place.mkdir()
    (place / "sources.list").write_text(f"deb {mirror} {release.suite} main\n")
    for name in ("hosts", "resolv.conf"):
        shutil.copyfile(f"/etc/{name}", root / "etc" / name)
    words = ("env", f"PACKAGES={' '.join(release.kept)}", "chroot", str(root), "sh", "-c", DOWNLOAD)
    run(words, root.parent)
    for deb in (place / "cache/archives").glob("*.deb"):
        shutil.move(deb, packages / deb.name)
    shutil.rmtree(place)
    for name in ("hosts", "resolv.conf"):
        (root / "etc" / name).unlink()


def _mirror() -> str:
    """The archive that this machine's apt is set up with."""
    words = ("--format", "$(SITE) $(CODENAME)", "Created-By: Packages")
    lines = run(("apt-get", "indextargets", *words), Path("/")).split("\n")
    named = [line.split(" ") for line in lines if line]
    plain = [site for site, codename in named if "-" not in codename]
    if not plain:
        raise UnavailableError("this machine's apt is set up with no archive of Debian")
    return plain[0]
