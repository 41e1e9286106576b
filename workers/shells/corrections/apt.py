"""Corrections of package installations with apt."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from workers.shells.corrections.command_line import PlacedCommand, PlacedWord, insert, replace_word
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_TAKES_VALUE = frozenset({"-o", "--option", "-c", "--config-file", "-t", "--target-release"})
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_NOT_FOUND = re.compile(r"Unable to locate package (\S+)|Package '?([^'\s]+)'? (?:has no|is not)")
_STALE = re.compile(
    r"Unable to locate package|has no installation candidate|is not available, but is referred"
    r"|Unable to fetch|Failed to fetch|Hash Sum mismatch|404 +Not Found|Version '.*' for '.*' was"
)
_UNSOLVED = re.compile(
    r"unmet dependencies|held broken packages|Unable to correct problems"
    r"|don't have enough free space|Unable to fetch|Failed to fetch"
)
_PROMPT = re.compile(
    r"continue\? \[Y/n\][\s\S]*Abort|[Ii]s this ok \[[yY]/[yYdDNn/]+\][\s\S]*abort"
)
_APT_ERROR = 100
"""The exit code of apt for any error."""
UPDATING = 120.0
"""Seconds that updating the package lists may take."""
NO_REMOVE = "--no-remove"
"""Automatic answers must never allow apt to remove packages."""


@dataclass(frozen=True, slots=True)
class Install:
    """An installation within a command line."""

    simple: PlacedCommand
    program: PlacedWord
    verb: PlacedWord
    packages: tuple[PlacedWord, ...]

    def has(self, *flags: str) -> bool:
        """Whether one of the flags is given."""
        return any(word.text in flags for word in self.simple.arguments)


def installs(
    failure: FailedCommand, *names: str, verbs: tuple[str, ...] = ("install",)
) -> list[Install]:
    """The calls of these package managers with one of the verbs, in the order of the command."""
    return [
        found
        for simple in failure.commands
        if simple.name in names and (found := _install(simple, verbs)) is not None
    ]


def _install(simple: PlacedCommand, verbs: tuple[str, ...]) -> Install | None:
    operands = tuple(_operands(simple.arguments))
    if simple.program is None or not operands or operands[0].text not in verbs:
        return None
    return Install(simple, simple.program, operands[0], operands[1:])


def _operands(words: tuple[PlacedWord, ...]) -> Iterator[PlacedWord]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text in _TAKES_VALUE:
            skip = True
        elif not word.text.startswith("-"):
            yield word


def _apt(failure: FailedCommand) -> list[Install]:
    return installs(failure, "apt", "apt-get")


def _fails_with(failure: FailedCommand, pattern: re.Pattern[str]) -> bool:
    return (
        failure.exit_code == _APT_ERROR
        and bool(_apt(failure))
        and bool(pattern.search(failure.output))
    )


def _refresh(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Update the package lists; let apt continue without what it cannot fetch (S0.38, S0.39)."""
    found = _apt(failure)[0]
    if found.has("--fix-missing", "-m"):
        return None
    update = f"{found.simple.prefix(failure.command)}{found.program.text} update"
    updated_before = any(
        simple.name in ("apt", "apt-get") and any(w.text == "update" for w in simple.arguments)
        for simple in failure.commands
    )
    return Proposal(
        insert(failure.command, found.verb.end, " --fix-missing"),
        first=() if updated_before else (update,),
        allowance=UPDATING,
    )


def _without_recommends(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Install less: only what the package requires (S0.39)."""
    found = _apt(failure)[0]
    if found.has("--no-install-recommends"):
        return None
    return Proposal(insert(failure.command, found.verb.end, " --no-install-recommends"))


def _rename(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Look in the host's own index for another name of an unknown package (S0.43)."""
    missing = {one or other for one, other in _NOT_FOUND.findall(failure.output)}
    for found in _apt(failure):
        for word in found.packages:
            if word.text not in missing or not _PACKAGE.fullmatch(word.text):
                continue
            other = _other_name(word.text, probe)
            if other is not None:
                return Proposal(replace_word(failure.command, word, other))
    return None


def _other_name(package: str, probe: Probe) -> str | None:
    stem = re.sub(r"^python-|-devel$", "", package)
    listed = probe.ask(f"apt-cache search --names-only {shlex.quote(re.escape(stem))}")
    return best_name(package, {line.split(" ", 1)[0] for line in listed.splitlines()})


def best_name(package: str, known: set[str]) -> str | None:
    """The known name that is most likely the same software; None if no name surely is.

    Whatever the host lists, the result is `package` with letters, digits and dots added.

    The name as another distribution spells it (`openssl-devel`, `python-yaml`) comes first, then
    the same name with a version: the highest, since the plan asked for none. A version that the
    plan did ask for is never changed: that choice belongs to the planner.
    """
    spellings = []
    if package.endswith("-devel"):
        stem = package.removesuffix("-devel")
        spellings = [f"lib{stem}-dev", f"{stem}-dev", f"lib{stem.removeprefix('lib')}-dev"]
    elif package.startswith("python-"):
        spellings = [f"python3-{package.removeprefix('python-')}"]
    for spelling in spellings:
        if spelling in known:
            return spelling
    versioned = re.compile(rf"{re.escape(package)}-?(\d+(?:\.\d+)*)")
    found = [(match[1], name) for name in known if (match := versioned.fullmatch(name))]
    return max(found, key=lambda pair: [int(n) for n in pair[0].split(".")])[1] if found else None


def _prompts(failure: FailedCommand) -> list[Install]:
    verbs = ("install", "upgrade")
    return [
        found
        for found in installs(failure, "apt", "apt-get", "dnf", "yum", verbs=verbs)
        if not found.has("-y", "--yes", "--assume-yes", "--assumeyes")
    ]


def _assume_yes(failure: FailedCommand, _: Probe) -> Proposal | None:
    """Answer a prompt with yes, since no person can, but never to the removal of a package."""
    found = _prompts(failure)[0]
    flags = f" -y {NO_REMOVE}" if found.simple.name.startswith("apt") else " -y"
    return Proposal(insert(failure.command, found.verb.end, flags))


UPDATE_FIX_MISSING = Correction(
    "apt_update_fix_missing",
    "updated the package lists (apt update) and installed with --fix-missing",
    lambda failure: _fails_with(failure, _STALE),
    _refresh,
)
OTHER_PACKAGE = Correction(
    "apt_other_package",
    "tried another package name that the host's index knows",
    lambda failure: _fails_with(failure, _NOT_FOUND),
    _rename,
)
NO_RECOMMENDS = Correction(
    "apt_no_recommends",
    "installed without the recommended packages (--no-install-recommends)",
    lambda failure: _fails_with(failure, _UNSOLVED),
    _without_recommends,
)
ASSUME_YES = Correction(
    "answer_prompt",
    "answered the package manager's question with yes",
    lambda failure: bool(_prompts(failure)) and bool(_PROMPT.search(failure.output)),
    _assume_yes,
)
