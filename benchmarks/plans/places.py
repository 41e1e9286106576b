"""Where scenarios are played: throw-away hosts, made for one round and removed after it."""

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from benchmarks.plans.archives import archives, release
from benchmarks.plans.scenario import Scenario
from shared.domain.host import ConnectionKind, Host
from tests.services.availability import UnavailableError
from tests.services.debian_base import DebianBase, base, own_suite
from tests.services.debian_host import DebianHost

PATIENCE: Final = 90.0
"""Seconds that a script of a scenario may take."""

ARCHIVE: Final = """\
curl -sfo /etc/apt/trusted.gpg.d/main.asc http://archive.test:8000/main.asc
echo 'deb http://archive.test:8000 main main' > /etc/apt/sources.list
apt-get -q update
"""
"""What makes apt know the archive `main`."""


class Place(Protocol):
    """A host that a scenario is played on."""

    def described(self) -> Host:
        """It as it is enrolled."""
        ...

    def run(self, script: str, *, timeout: float) -> subprocess.CompletedProcess[str]:
        """Run a script there, not through replan."""
        ...


@dataclass(frozen=True, slots=True)
class FolderHost:
    """A folder of this machine, in which commands start."""

    name: str
    folder: Path

    def described(self) -> Host:
        """It as it is enrolled: local."""
        return Host(name=self.name, connection=ConnectionKind.LOCAL, workdir=str(self.folder))

    def run(self, script: str, *, timeout: float) -> subprocess.CompletedProcess[str]:
        """Run a script in the folder."""
        return subprocess.run(
            ("sh", "-c", script),
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(Path.home())},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )


@dataclass
class Places:
    """Makes hosts below a scratch folder; no two have the same name."""

    scratch: Path
    debian: DebianBase | None = None
    archives: Path | None = None
    missing: str = ""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def prepare(self, scenarios: Sequence[Scenario]) -> None:
        """Have ready what they need; `missing` says why there is no Debian where there is none."""
        if not any(scenario.host == "debian" for scenario in scenarios):
            return
        try:
            self.debian = base(release(own_suite()))
            self.archives = archives(self.debian, self.scratch)
        except UnavailableError as reason:
            self.debian, self.missing = None, str(reason)

    def can_host(self, scenario: Scenario) -> bool:
        """Whether there is a host of that kind."""
        return scenario.host == "folder" or self.debian is not None

    @contextmanager
    def broken(self, scenario: Scenario) -> Iterator[Place]:
        """A host broken as the scenario says; gone afterwards.

        Raises BrokenScenarioError when it could not be broken, or is not broken by that.
        """
        name = f"host{next(self._numbers):04}"
        with self._host(scenario, name, self.scratch / name) as place:
            script = ARCHIVE * scenario.packages + scenario.broken
            done = place.run(script, timeout=PATIENCE)
            if done.returncode != 0:
                raise BrokenScenarioError(f"could not be broken: {done.stdout}{done.stderr}")
            if place.run(scenario.check, timeout=PATIENCE).returncode == 0:
                raise BrokenScenarioError("its check is green before anything was done")
            yield place

    @contextmanager
    def _host(self, scenario: Scenario, name: str, folder: Path) -> Iterator[Place]:
        if scenario.host == "folder":
            folder.mkdir()
            try:
                yield FolderHost(name, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return
        if self.debian is None:
            raise BrokenScenarioError(f"no Debian host: {self.missing}")
        limits = ("prlimit", *scenario.limits, "--") if scenario.limits else ()
        with DebianHost(
            self.debian,
            folder,
            name,
            environment=scenario.environment,
            prefix=limits,
            mounts=scenario.mounts,
            archives=self.archives,
        ) as host:
            yield host


class BrokenScenarioError(Exception):
    """The scenario itself is wrong: what it says is not how the host is."""
