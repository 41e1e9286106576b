"""What commands name; pure."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator

from workers.evidence.commands import SimpleCommand, simple_commands
from workers.evidence.things import LOG_PATH, Thing, ThingKind, thing


def things_in_command(text: str) -> tuple[Thing, ...]:
    """What a command names, in order."""
    return tuple(dict.fromkeys(_of_commands(simple_commands(text))))


def _of_commands(commands: Iterable[SimpleCommand]) -> Iterator[Thing]:
    folder = ""
    for command in commands:
        if command.name == "cd" and command.operands:
            folder = posixpath.join(folder, command.operands[0])
        named = [(ThingKind.ACCOUNT, name) for name in command.accounts]
        named += _by_program(command)
        for word in (*command.arguments, *command.targets):
            named += _of_word(word)
        if "/" in command.program:
            named.append((ThingKind.PATH, command.program))
        named += [(ThingKind.PATH, word) for word in command.targets]
        for kind, name in named:
            placed = posixpath.join(folder, name) if kind is ThingKind.PATH else name
            if (found := thing(kind, placed)) is not None:
                yield found


_Named = list[tuple[ThingKind, str]]
_Reader = Callable[[SimpleCommand], _Named]

_UNIT_VERBS = frozenset(
    {
        *("start", "stop", "restart", "reload", "try-restart", "reload-or-restart", "status"),
        *("is-active", "is-failed", "enable", "disable", "mask", "unmask", "show", "cat", "kill"),
    }
)
_PACKAGE_VERBS = frozenset(
    {"install", "remove", "purge", "reinstall", "upgrade", "add", "del", "update", "in"}
)
_MANAGERS = frozenset({"apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "apk"})
_FILE = re.compile(r"^[./]|\.(?:deb|rpm|apk)$")
_CLIENTS = frozenset({"psql", "pg_dump", "pg_isready", "mysql", "mysqldump", "redis-cli"})
_OWNED = re.compile(r"([A-Za-z_][\w.-]*)?(?:[:.]([A-Za-z_][\w.-]*))?", re.ASCII)


def _by_program(command: SimpleCommand) -> _Named:
    """What the operands of known programs are."""
    name, operands = command.name, command.operands
    if name in _READERS and operands:
        return _READERS[name](command)
    if name in _MANAGERS and operands[:1] and operands[0] in _PACKAGE_VERBS:
        names = (word.partition("=")[0] for word in operands[1:] if not _FILE.search(word))
        return [(ThingKind.PACKAGE, word.partition("/")[0]) for word in names]
    ports = command.values("-p", "--port", "-accept", "http.server")
    hosts = command.values("-h", "--host") if name in _CLIENTS else []
    return [(ThingKind.PORT, value) for value in ports] + [
        (ThingKind.HOST, value) for value in hosts if not _ADDRESS.fullmatch(value)
    ]


def _systemctl(command: SimpleCommand) -> _Named:
    verb, *names = command.operands
    return [(ThingKind.UNIT, name) for name in names] if verb in _UNIT_VERBS else []


def _service(command: SimpleCommand) -> _Named:
    return [(ThingKind.UNIT, command.operands[0])] if len(command.operands) > 1 else []


def _journalctl(command: SimpleCommand) -> _Named:
    return [(ThingKind.UNIT, name) for name in command.values("-u", "--unit")]


def _chown(command: SimpleCommand) -> _Named:
    owner = _OWNED.fullmatch(command.operands[0])
    return _owner(*owner.groups()) if owner is not None else []


def _install(command: SimpleCommand) -> _Named:
    accounts = [(ThingKind.ACCOUNT, name) for name in command.values("-o", "--owner")]
    return accounts + [(ThingKind.GROUP, name) for name in command.values("-g", "--group")]


def _usermod(command: SimpleCommand) -> _Named:
    listed = command.values("-g", "-G", "--gid", "--groups", "-aG")
    groups = [(ThingKind.GROUP, name) for each in listed for name in each.split(",")]
    return [*groups, (ThingKind.ACCOUNT, command.operands[-1])]


def _connection(command: SimpleCommand) -> _Named:
    host, *ports = (word.rpartition("@")[2] for word in command.operands)
    named = [] if _ADDRESS.fullmatch(host) else [(ThingKind.HOST, host)]
    return named + [(ThingKind.PORT, port) for port in ports[:1]]


def _first(kind: ThingKind) -> _Reader:
    return lambda command: [(kind, command.operands[0])]


_READERS: dict[str, _Reader] = {
    "systemctl": _systemctl,
    "journalctl": _journalctl,
    "chown": _chown,
    "chgrp": _first(ThingKind.GROUP),
    "install": _install,
    **dict.fromkeys(("service", "rc-service", "invoke-rc.d"), _service),
    **dict.fromkeys(("usermod", "passwd", "chage"), _usermod),
    **dict.fromkeys(("id", "groups"), _first(ThingKind.ACCOUNT)),
    **dict.fromkeys(("nc", "ncat", "telnet", "ssh", "ping", "dig", "nslookup"), _connection),
}
"""What the operands are, by program."""


def _owner(account: str | None, group: str | None) -> _Named:
    named: _Named = [(ThingKind.ACCOUNT, account)] if account else []
    return [*named, (ThingKind.GROUP, group)] if group else named


_URL = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[0-9a-f:]+\]|[\w.-]+)(?::(\d{1,5}))?", re.ASCII
)
_PLACE = re.compile(
    r"(localhost|\d{1,3}(?:\.\d{1,3}){3}|[a-z][\w-]*(?:\.[\w-]+)+|\*|\[::1?\])?:(\d{2,5})"
)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|\[?[0-9a-f:]*:[0-9a-f:]*\]?|localhost|\*")


def _of_word(word: str) -> _Named:
    """What any word of a command may name: an address, a place to connect to, a path."""
    url = _URL.search(word)
    place = url or _PLACE.fullmatch(word.rpartition("=")[2])
    if place is not None:
        host, port = place.groups()
        named: _Named = [(ThingKind.PORT, port)] if port else []
        if host and not _ADDRESS.fullmatch(host):
            named.append((ThingKind.HOST, host))
        return named
    value = word.partition("=")[2] if word.startswith("-") or "=" in word else word
    looks_like = value.startswith("/") or (
        "/" in value and " " not in value and re.fullmatch(r"(?:\.{1,2}/)?[\w.+@%,/-]+", value)
    )
    if not looks_like:
        return []
    named = [(ThingKind.PATH, value)]
    return [*named, (ThingKind.LOG, value)] if LOG_PATH.fullmatch(value) else named
