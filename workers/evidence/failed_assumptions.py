"""The planner's assumptions that the output of failed attempts contradicts (S0.51); pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shared.domain.attempt import Attempt

_TAIL = 65_536
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Assumption:
    """A pattern in the output, and the assumption that it contradicts.

    `{0}` in `text` stands for the first group that matched.
    """

    name: str
    pattern: re.Pattern[str]
    text: str


def _assumption(name: str, text: str, *patterns: str) -> Assumption:
    return Assumption(name, re.compile("|".join(patterns), re.MULTILINE), text)


ASSUMPTIONS: tuple[Assumption, ...] = (
    _assumption(
        "package_absent",
        "the package {0} is absent from the host's repositories",
        r"Unable to locate package (\S+)",
        r"Package '?([^'\s]+)'? has no installation candidate",
        r"Package (\S+) is not available, but is referred",
        r"No match for argument: (\S+)",
        r"No package (\S+) available",
        r"ERROR: No matching distribution found for (\S+)",
        r"Couldn't find any package by (?:glob|regex) '([^']+)'",
        r"^  ([\w.+-]+) \(no such package\)",
        r"npm (?:error|ERR!) 404 +'([^']+)' is not in",
    ),
    _assumption(
        "version_conflict",
        "the versions of the packages go together: {0}",
        r"^ *(\S+ : (?:Depends|Conflicts|Breaks|PreDepends): .+)$",
        r"(held broken packages)",
        r"Version ('[^']+' for '[^']+') was not found",
        r"nothing provides (.+ needed by \S+)",
        r"(ResolutionImpossible)",
        r"^npm (?:error|ERR!) code (ERESOLVE)",
        r"(dependency conflicts?\b.*)$",
        r"requires? (\S+ ?[<>=]=? ?[\d.]+.*), but",
    ),
    _assumption(
        "repository_unsigned",
        "the repository and its signing key are set up: {0}",
        r"NO_PUBKEY (\w+)",
        r"The repository '([^']+)' is not signed",
        r"The repository '([^']+)' does not have a Release file",
        r"(GPG (?:error|check FAILED).*)$",
    ),
    _assumption(
        "rights_missing",
        "the account has the rights: {0}",
        r"^(.*[Pp]ermission denied.*)$",
        r"^(.*[Oo]peration not permitted.*)$",
        r"(are you root\?)",
        r"(must be (?:run as )?(?:root|superuser)[^\n]*)",
        r"^(.*\b(?:superuser privilege|[Rr]oot privileges are).*)$",
        r"^(.*\b(?:unless you are|need to be) root\b.*)$",
        r"^(sudo: .*(?:password|terminal) is required.*)$",
        r"(\S+ is not in the sudoers file)",
        r"(Interactive authentication required)",
        r"^(.*[Aa]ccess denied for user.*)$",
    ),
    _assumption(
        "port_in_use",
        "the port is free: {0}",
        r"^(.*[Aa]ddress already in use.*)$",
        r"(port is already allocated)",
        r"(EADDRINUSE[^\n]*)",
        r"[Pp]ort (\d+) is (?:already )?in use",
    ),
    _assumption(
        "no_space",
        "there is enough room on the disk: {0}",
        r"^(.*No space left on device.*)$",
        r"(You don't have enough free space in \S+)",
        r"^(.*Disk quota exceeded.*)$",
    ),
    _assumption(
        "no_memory",
        "there is enough memory: {0}",
        r"^(.*Cannot allocate memory.*)$",
        r"(Out of memory[^\n]*)",
        r"(oom-kill[^\n]*)",
        r"^(.*std::bad_alloc.*)$",
    ),
    _assumption(
        "read_only",
        "the file system can be written to: {0}",
        r"^(.*Read-only file system.*)$",
    ),
    _assumption(
        "name_unresolved",
        "names of other hosts resolve: {0}",
        r"Temporary failure resolving '([^']+)'",
        r"[Cc]ould not resolve host: ([^\s;]+)",
        r"(Temporary failure in name resolution)",
        r"(Name or service not known)",
        r"lookup (\S+)(?: on \S+)?: no such host",
    ),
    _assumption(
        "network_down",
        "the other side can be reached: {0}",
        r"^(.*Network is unreachable.*)$",
        r"^(.*No route to host.*)$",
        r"^(.*[Cc]onnection timed out.*)$",
        r"^(.*[Cc]onnection refused.*)$",
        r"^(.*[Cc]onnection reset.*)$",
    ),
    _assumption(
        "certificate",
        "the certificate of the other side is trusted: {0}",
        r"^(.*certificate (?:verify failed|verification failed|has expired|is not trusted).*)$",
        r"(SSL certificate problem[^\n]*)",
    ),
    _assumption(
        "unit_unknown",
        "systemd knows the unit {0}",
        r"Unit (\S+?)(?: could)? not(?: be)? found",
        r"Unit file (\S+) does not exist",
        r"Failed to \w+ (\S+): Unit not found",
        r"^(\S+): unrecognized service",
    ),
    _assumption(
        "unit_fails",
        "the service {0} starts with its configuration",
        r"Job for (\S+) failed",
        r"(\S+\.service): (?:Failed with result|Start request repeated too quickly)",
    ),
    _assumption(
        "no_systemd",
        "systemd runs this host",
        r"System has not been booted with systemd",
        r"Failed to connect to bus",
    ),
    _assumption(
        "configuration_invalid",
        "the configuration is valid: {0}",
        r"^(nginx: \[emerg\] .*)$",
        r"^(.*[Ss]yntax error (?:on line|in file).*)$",
        r"^(.*configuration file .* test failed.*)$",
    ),
    _assumption(
        "command_missing",
        "the program {0} is installed",
        r"^(?:\S+: )?(?:\d+: |line \d+: )?([\w.+-]+): (?:command )?not found$",
        r"env: '([\w.+-]+)': No such file",
    ),
    _assumption(
        "path_missing",
        "the path exists: {0}",
        r"^(.*No such file or directory.*)$",
        r"^(.*Directory nonexistent.*)$",
        r"^(.*can't cd to .*)$",
    ),
    _assumption(
        "account_missing",
        "the account or the group exists: {0}",
        r"(?:user|User|role) ['\"]?([\w.-]+)['\"]? does not exist",
        r"(?:unknown|invalid) (?:user|group):? ['\"]?([\w.:-]+)",
        r"id: '?([\w.-]+)'?: no such user",
    ),
    _assumption(
        "already_there",
        "it is not there yet: {0}",
        r"^(.*[Aa]lready exists.*)$",
        r"^(.*File exists.*)$",
    ),
    _assumption(
        "lock_held",
        "no other package manager is at work",
        r"Could not get lock",
        r"lock was locked by another process",
        r"Waiting for cache lock",
    ),
    _assumption(
        "environment_managed",
        "pip may install into the system's Python",
        r"externally-managed-environment",
    ),
    _assumption(
        "syntax",
        "the command is written for this shell: {0}",
        r"^(.*[Ss]yntax error.*)$",
        r"^(.*Unterminated quoted string.*)$",
        r"^(.*unexpected EOF.*)$",
    ),
    _assumption(
        "option_unknown",
        "this version of the program has the option: {0}",
        r"^(.*(?:unrecognized|unknown|invalid|illegal) option.*)$",
        r"^(.*[Uu]nknown (?:flag|argument|subcommand|operation).*)$",
    ),
)
"""The table, in order; a line of output counts for the first assumption that it matches."""


def failed_assumptions(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """The assumptions that failed attempts contradict, each once, as `subtask 2: …`.

    The text contains output of the host: mask secrets before storing it, and treat it as data.
    """
    found: dict[str, None] = {}
    for attempt in attempts:
        if attempt.counted:
            for assumption, detail in contradictions(output_of(attempt)):
                text = assumption.text.format(detail)
                found[f"subtask {attempt.subtask}: {text}"] = None
    return tuple(found)


def contradictions(output: str) -> list[tuple[Assumption, str]]:
    """The assumptions that an output contradicts, each with the words that contradict it."""
    found: list[tuple[Assumption, str]] = []
    spoken: list[tuple[int, int]] = []
    for assumption in ASSUMPTIONS:
        for match in assumption.pattern.finditer(output):
            line = _line_of(output, match)
            if line in spoken:
                continue
            spoken.append(line)
            detail = next((group for group in match.groups() if group), "")
            pair = (assumption, detail.strip()[:_LONGEST])
            if pair not in found:
                found.append(pair)
    return found


def output_of(attempt: Attempt) -> str:
    """All output of an attempt, its check's output last, with plain quotes for typographic ones."""
    streams: list[bytes] = []
    for result in (attempt.result, attempt.check):
        if result is not None and not result.ok:
            streams += reversed(result.streams)
    text = "\n".join(stream[-_TAIL:].decode(errors="replace") for stream in streams)
    return text.replace("\u2018", "'").replace("\u2019", "'")


def last_words(attempt: Attempt) -> str:
    """The line of output that says most about the failure; empty if there is no output."""
    result = (
        attempt.result if attempt.result is not None and not attempt.result.ok else attempt.check
    )
    if result is None:
        return ""
    out, err = result.streams
    text = (err or out)[-_TAIL:].decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if contradictions(line)] or lines
    return telling[-1][:_LONGEST] if telling else ""


def _line_of(output: str, match: re.Match[str]) -> tuple[int, int]:
    start = output.rfind("\n", 0, match.start() + 1) + 1
    end = output.find("\n", match.start())
    return start, len(output) if end < 0 else end
