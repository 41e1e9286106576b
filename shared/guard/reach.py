"""What a look needs besides files: a containment takes that away, so such a look is not contained.

A contained look that needs it would fail, or, worse, give a wrong answer. Its rules decide then.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from shared.contracts.complaints import Document
from shared.contracts.origin import Origin
from shared.contracts.yamltext import read_yaml
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.guard.findings import Findings
from shared.guard.secret_words import secret_in
from shared.guard.words import Run


class Need(StrEnum):
    """What a text needs; the comment says why a containment does not give it."""

    SERVICES = "services"  # sockets are hidden
    NETWORK = "network"  # the network is private, and empty
    PROCESSES = "processes"  # numbers of processes are others there
    DEVICES = "devices"  # only those that keep nothing are there
    MOUNTS = "mounts"  # every file system is shown as read-only
    OWNERS = "owners"  # an account that is not root sees only its own
    ACCOUNT = "account"  # no program changes the account there
    HOMES = "homes"  # those of other accounts are hidden
    STATE = "state"  # it looks only after it has written something
    PLACES = "places"  # what no rule lists as readable is hidden
    SECRETS = "secrets"  # it names one, which would be hidden
    UNREADABLE = "unreadable"  # nobody can say what it is


_SHIPPED = Path(__file__).parent / "policy" / "shipped" / "reach.yaml"

_TEXTS: tuple[tuple[Need, re.Pattern[str]], ...] = (
    (Need.SERVICES, re.compile(r"\.sock\b|/run/\S*socket")),
    (Need.NETWORK, re.compile(r"/proc/(?:\w+/)?net\b|/sys/class/net\b|\bnet\.(?:ipv|core|netf)")),
    (Need.NETWORK, re.compile(r"/dev/(?:tcp|udp)/")),
    (Need.PROCESSES, re.compile(r"/proc/(?:[0-9$*{]|\w*\[)|\$\$|\$PPID|\$BASHPID")),
    (Need.DEVICES, re.compile(r"/dev/(?!(?:null|zero|full|u?random|stdin|stdout|stderr|fd)\b)")),
    (Need.MOUNTS, re.compile(r"/proc/(?:\w+/)?mount|/etc/mtab|(?:\[|\btest)\s[^]|&;]*-w\s")),
    (
        Need.PLACES,
        re.compile(
            r"(?<![\w.-])/(?:var/(?:spool(?!/cron)|mail|backups"
            r"|lib(?!/(?:dpkg|apt|systemd|rpm|pacman|gems|ca-certificates|alternatives|dbus"
            r"|logrotate)\b))"
            r"|mnt|media|backups?)(?![\w.-])"
            r"|(?:^|\s)/(?:var/?)?(?:\*|(?=[\s;|&)]|$))"
        ),
    ),
    (Need.HOMES, re.compile(r"(?<![\w.-])/(?:home|root)(?![\w.-])|~[A-Za-z]")),
)  # fmt: skip

_OPAQUE = frozenset({"other-language", "unknown-code", "program-from-input", "unknown-script"})
_CODE: tuple[tuple[Need, re.Pattern[str]], ...] = (
    (Need.NETWORK, re.compile(r"(?i)socket|https?\b|urllib|requests|connect|://|smtp|getaddrinfo")),
    (Need.PROCESSES, re.compile(r"(?i)\bkill\b|psutil|getppid|getpid")),
    (Need.OWNERS, re.compile(r"(?i)stat\b|st_uid|st_gid|pwd\b|owner|getuid|geteuid|access\b")),
    (Need.MOUNTS, re.compile(r"W_OK|statvfs")),
)  # fmt: skip
"""Words in code of other languages that nobody reads: what they may need."""

_CANNOT_BE_READ = frozenset(
    {"unreadable", "too-large", "too-long", "hidden-character", "recursion"}
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a text needs besides files; `plain_readers`: its programs never need more."""

    needs: frozenset[Need]
    plain_readers: bool


WrittenNeed = Annotated[Need, BeforeValidator(Need)]
"""A need, as a file names it."""


class ReachText(Document):
    """The table of programs: what they need, and those that need nothing but files."""

    needs: dict[WrittenNeed, list[str]]
    readers: list[str]


@cache
def programs() -> tuple[dict[str, frozenset[Need]], frozenset[str]]:
    """What each program of the table needs, and those that need nothing but files."""
    origin = Origin(_SHIPPED.name, "guard", NextStep.of("guard rules"), Misconfigured)
    text = ReachText.read(read_yaml(_SHIPPED.read_text(encoding="utf-8"), origin), origin)
    found: dict[str, frozenset[Need]] = {}
    for need, names in text.needs.items():
        for name in names:
            found[name] = found.get(name, frozenset()) | {need}
    return found, frozenset(text.readers)


def reach_of(text: str, findings: Findings, declared: Iterable[tuple[str, Need]] = ()) -> Reach:
    """What a text reaches; `declared` are further programs, by a site's policy."""
    table, readers = programs()
    further: dict[str, set[Need]] = {}
    for name, need in declared:
        further.setdefault(name, set()).add(need)
    found: set[Need] = {need for need, pattern in _TEXTS if pattern.search(text)}
    for run in findings.runs:
        if not _reads_files_alone(run):
            found |= table.get(run.program, frozenset())
        found |= further.get(run.program, set()) | _of_words(run)
    rules = {doubt.rule for doubt in findings.doubts}
    if rules & _CANNOT_BE_READ:
        found.add(Need.UNREADABLE)
    if rules & _OPAQUE:
        found |= {need for need, pattern in _CODE if pattern.search(text)}
    plain = all(not run.argv or run.program in readers for run in findings.runs)
    return Reach(frozenset(found), plain and not rules)


_CHECKERS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "promtool": (frozenset({"check", "test"}), frozenset({"config", "rules", "web-config"})),
}
"""Programs of the table with sub-commands that only read the files that they are given."""


def _reads_files_alone(run: Run) -> bool:
    """Whether a program of the table needs nothing with these words.

    `make -n` only prints: where a makefile asks for more, make says what failed.
    """
    words = [word.literal or "" for word in run.argv[1:]]
    if run.program == "make":
        return bool({"-n", "--dry-run", "--just-print", "--recon"} & {*words})
    verbs, objects = _CHECKERS.get(run.program, (frozenset(), frozenset()))
    return len(words) > 1 and words[0] in verbs and words[1] in objects


def _of_words(run: Run) -> set[Need]:
    if secret_in((*run.argv, *run.reads)) or any(secret_in(f.argv) for f in run.feeders):
        return {Need.SECRETS}
    words = [word.literal or "" for word in run.argv[1:]]
    if run.program == "git" and {"fetch", "pull", "clone", "ls-remote", "push"} & {*words}:
        return {Need.NETWORK}
    if run.program == "openssl" and {"s_client", "s_server", "s_time"} & {*words}:
        return {Need.NETWORK}
    if run.program == "hostname" and words:
        return {Need.NETWORK}
    if run.program == "sysctl" and {"-a", "-A", "--all"} & {*words}:
        return {Need.NETWORK}
    return set()
