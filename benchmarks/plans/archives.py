"""The archives of packages that the hosts of the bench find behind their network."""

from pathlib import Path
from typing import Final

from tests.services.debian_base import DebianBase, Release
from tests.services.debian_repository import Signer, named, repository

INSTALLED: Final = (
    "openssh-server",
    "python3-minimal",
    "libpython3-stdlib",
    "curl",
    "ca-certificates",
    "openssl",
    "procps",
    "iproute2",
    "netcat-openbsd",
    "libfaketime",
    "locales",
    "file",
    "git",
    "logrotate",
    "make",
    "nginx",
    "sqlite3",
)
KEPT: Final = ("bc", "jq", "unzip", "tree", "rsync", "python3-yaml", "python3-six")

EXTRA: Final = ("tree", "bc")
"""What only the second archive has, which a host is not set up with."""


def release(suite: str) -> Release:
    """What the hosts are made of."""
    return Release(suite, INSTALLED, KEPT)


def archives(base: DebianBase, scratch: Path) -> Path:
    """A folder with the archives `main` and `extra`, each with its key."""
    folder = scratch / "archives"
    folder.mkdir()
    extra = named(base.packages, *EXTRA)
    main = [package for package in base.packages if package not in extra]
    for name, packages in (("main", main), ("extra", extra)):
        signer = Signer(scratch / f"signer-{name}")
        try:
            repository(folder, name, packages, signer)
        finally:
            signer.close()
    return folder
