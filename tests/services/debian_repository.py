"""Archives of Debian packages in a folder, signed with keys of their own."""

import gzip
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Final

from tests.services.availability import UnavailableError
from tests.services.packages import run

SIGNER: Final = "Archive of the throw-away hosts"


@dataclass(frozen=True, slots=True)
class Repository:
    """An archive below `folder`: `pool/`, `dists/NAME/`, and its public key in `NAME.asc`."""

    folder: Path
    name: str

    @property
    def key(self) -> Path:
        """The public key, armoured, as a browser would download it."""
        return self.folder / f"{self.name}.asc"


class Signer:
    """A key pair in a folder; raises UnavailableError where there is no gpg."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("gpg") is None:
            raise UnavailableError("an archive of packages is signed with gpg, which is missing")
        folder.mkdir(mode=0o700)
        self._folder = folder
        self._gpg("--quick-generate-key", SIGNER, "ed25519", "sign", "never")

    def public(self) -> bytes:
        """The public half, armoured."""
        return self._gpg("--armor", "--export")

    def clearsign(self, text: bytes) -> bytes:
        """The text with its signature around it."""
        return self._gpg("--clearsign", stdin=text)

    def close(self) -> None:
        """End what gpg has left running."""
        subprocess.run(
            ["gpgconf", "--homedir", str(self._folder), "--kill", "all"],
            check=False,
            capture_output=True,
        )

    def _gpg(self, *words: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            [
                "gpg",
                "--batch",
                "--quiet",
                "--passphrase",
                "",
                "--pinentry-mode",
                "loopback",
                *words,
            ],
            env={**os.environ, "GNUPGHOME": str(self._folder)},
            input=stdin,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if done.returncode != 0:
            raise UnavailableError(f"gpg: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout


def repository(folder: Path, name: str, packages: Iterable[Path], signer: Signer) -> Repository:
    """An archive of those packages, all in its component `main`."""
    made = Repository(folder, name)
    pool = folder / "pool" / name
    pool.mkdir(parents=True)
    files = [Path(shutil.copyfile(package, pool / package.name)) for package in packages]
    architecture = run(("dpkg", "--print-architecture"), folder).strip()
    index = f"main/binary-{architecture}/Packages"
    entries = "\n".join(_entry(file, folder) for file in files).encode()
    place = folder / "dists" / name
    written = {index: entries, f"{index}.gz": gzip.compress(entries, mtime=0)}
    for path, content in written.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)
    release = _release(name, architecture, written).encode()
    (place / "InRelease").write_bytes(signer.clearsign(release))
    made.key.write_bytes(signer.public())
    return made


def named(packages: Sequence[Path], *names: str) -> list[Path]:
    """Those of the packages, by the part of the file's name before the version."""
    return [package for package in packages if package.name.partition("_")[0] in names]


def _entry(file: Path, folder: Path) -> str:
    control = run(("dpkg-deb", "-f", str(file)), folder).rstrip("\n")
    content = file.read_bytes()
    return (
        f"{control}\nFilename: {file.relative_to(folder)}\nSize: {len(content)}\n"
        f"SHA256: {hashlib.sha256(content).hexdigest()}\n"
    )


def _release(name: str, architecture: str, written: dict[str, bytes]) -> str:
    sums = "\n".join(
        f" {hashlib.sha256(content).hexdigest()} {len(content)} {path}"
        for path, content in written.items()
    )
    return (
        f"Origin: {name}\nSuite: {name}\nCodename: {name}\n"
        f"Date: {format_datetime(datetime.now(UTC), usegmt=True)}\n"
        f"Architectures: {architecture}\nComponents: main\nSHA256:\n{sums}\n"
    )
