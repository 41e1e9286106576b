"""What a failed command and its output name: units, ports, paths, packages, …; pure.

The names come from commands, from output of hosts and from configuration. Each has the form of its
kind, so none can be read as an option, as a second line, or as more than one word when quoted.
"""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ThingKind(StrEnum):
    """What a name names."""

    UNIT = "unit"
    PORT = "port"
    PATH = "path"
    LOG = "log"
    PACKAGE = "package"
    HOST = "host"
    ACCOUNT = "account"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Thing:
    """Something on the host, or that it should know, by name."""

    kind: ThingKind
    name: str


MOST_OF_A_KIND = 6
"""How many things of one kind are asked about."""

_LONGEST = 255

_FORMS: dict[ThingKind, re.Pattern[str]] = {
    ThingKind.UNIT: re.compile(r"[A-Za-z0-9][\w@:.\\-]*", re.ASCII),
    ThingKind.PORT: re.compile(r"[1-9]\d{0,4}", re.ASCII),
    ThingKind.PATH: re.compile(r"[^~-].*"),
    ThingKind.LOG: re.compile(r"/.+"),
    ThingKind.PACKAGE: re.compile(r"[A-Za-z0-9][\w+.:-]*", re.ASCII),
    ThingKind.HOST: re.compile(r"[A-Za-z0-9](?:[\w.-]*\w)?", re.ASCII),
    ThingKind.ACCOUNT: re.compile(r"[A-Za-z_][\w.-]*", re.ASCII),
    ThingKind.GROUP: re.compile(r"[A-Za-z_][\w.-]*", re.ASCII),
}
_MOST_PORT = 65_535
_EXPANDED = re.compile(r"[$*?`{}\[\]]")
_NEVER = re.compile(r"^/(?:dev|proc|sys)(?:/|$)|^/+$|^\.+$")
"""Paths whose state explains nothing."""

SECRET_PATH = re.compile(
    r"shadow|\.ssh|id_[a-z0-9]+$|\.(?:env|pem|key|p12|pfx|kdbx)$|environ|secret|credential|token"
    r"|passw|private",
    re.IGNORECASE,
)
"""Files whose content is never asked for, whatever names them."""


def thing(kind: ThingKind, name: str) -> Thing | None:
    """The thing of that name; None for a text that cannot be such a name."""
    if len(name) > _LONGEST or not name.isprintable() or not _FORMS[kind].fullmatch(name):
        return None
    if kind is ThingKind.PORT and int(name) > _MOST_PORT:
        return None
    if kind is ThingKind.UNIT and "." not in name:
        name = f"{name}.service"
    if kind in (ThingKind.PATH, ThingKind.LOG):
        name = posixpath.normpath(name)
        if _NEVER.search(name) or _EXPANDED.search(name):
            return None
    if kind is ThingKind.LOG and SECRET_PATH.search(name):
        return None
    return Thing(kind, name)


def select(found: Iterable[Thing]) -> tuple[Thing, ...]:
    """Each thing once, in order, at most `MOST_OF_A_KIND` of each kind."""
    counts = dict.fromkeys(ThingKind, 0)
    kept: list[Thing] = []
    for each in dict.fromkeys(found):
        counts[each.kind] += 1
        if counts[each.kind] <= MOST_OF_A_KIND:
            kept.append(each)
    return tuple(kept)


LOG_PATH = re.compile(r"/[\w./+@%-]*(?:\.log|_log|/log/[\w.+@%-]+)", re.ASCII)
