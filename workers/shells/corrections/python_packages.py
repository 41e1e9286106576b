"""Corrections of Python packages in an environment that the system manages."""

import re
import shlex

from workers.shells.corrections.command_line import PlacedCommand
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FLAGS = frozenset({"-q", "--quiet", "-U", "--upgrade", "--user", "--no-input", "--no-cache-dir"})


_INSTALLING = 300.0
"""Seconds that installing the distribution's packages may take."""


def _pip_install(failure: FailedCommand) -> tuple[PlacedCommand, list[str]] | None:
    """The command and its package names, if it is a single plain `pip install NAME…`."""
    if len(failure.commands) != 1:
        return None
    simple = failure.commands[0]
    words = [word.text for word in simple.arguments]
    if simple.name in ("python", "python3") and words[:2] == ["-m", "pip"]:
        words = words[2:]
    elif simple.name not in ("pip", "pip3"):
        return None
    if words[:1] != ["install"]:
        return None
    names = [word for word in words[1:] if word not in _FLAGS]
    return (simple, names) if names and all(map(_NAME.fullmatch, names)) else None


def _from_distribution(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Install the distribution's own packages, as pip's error recommends, if it has them all.

    `--break-system-packages` may do what it says. A virtual environment would exit with 0, but the
    system's Python, which the plan meant, could not import the package. If the distribution lacks
    a package, or a version was asked for, the choice belongs to the planner.
    """
    found = _pip_install(failure)
    if found is None:
        return None
    simple, names = found
    if not simple.wrapped_in("sudo") and probe.ask("id -u").strip() != "0":
        return None
    packages = [f"python3-{re.sub(r'[._]', '-', name.lower())}" for name in names]
    for package in packages:
        known = probe.ask(f"apt-cache search --names-only {shlex.quote(f'^{re.escape(package)}$')}")
        if not known.strip():
            return None
    install = f"apt-get -y --no-remove install {' '.join(packages)}"
    return Proposal(f"{simple.prefix(failure.command)}{install}", allowance=_INSTALLING)


FROM_DISTRIBUTION = Correction(
    "pip_from_distribution",
    "installed the distribution's own package instead of one from pip",
    lambda failure: (
        "externally-managed-environment" in failure.output and _pip_install(failure) is not None
    ),
    _from_distribution,
)
