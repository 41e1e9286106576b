"""Reads what hosts answer to the questions: states, rights, listeners, file systems; pure.

Every reader takes any text: what does not have the expected form is passed over.
"""

import posixpath
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listener:
    """Who listens on a port; `pid` is None and `program` empty where the host does not tell."""

    port: int
    pid: int | None = None
    program: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A path as `stat` shows it; `target` is where a link leads, as an absolute path if it can."""

    path: str
    mode: str
    owner: str
    group: str
    size: int
    changed: int
    target: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.mode.startswith("d")

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link, whose own rights mean nothing."""
        return self.mode.startswith("l")


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A line of `df`: what is used in percent, the size in words, and where it is mounted."""

    place: str
    used: int
    size: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """An account with its groups; `uid` is None where the host did not tell."""

    name: str
    uid: int | None
    groups: frozenset[str] = frozenset()

    def may(self, right: str, entry: Entry) -> bool:
        """Whether the mode gives it `r`, `w` or `x`; root lacks only `x` that nobody has."""
        at = "rwx".index(right)
        if self.uid == 0:
            return right != "x" or entry.is_folder or any(c in "xst" for c in entry.mode[1:])
        if self.name == entry.owner:
            first = 1
        elif entry.group in self.groups:
            first = 4
        else:
            first = 7
        return entry.mode[first + at : first + at + 1] not in ("", "-", "S", "T")


_LOCAL = re.compile(r"^\S+\s.*?\S:(\d{1,5})\s+\S+:(?:\*|0)\s*(.*)$")
_USERS = re.compile(r"\(\"([^\"]+)\",pid=(\d+)")
_OWNER = re.compile(r"\b(\d+)/(\S+)")
_KERNEL = re.compile(r"^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:0000 0A (?:\S+\s+){5}(\d+)")
_FOLDER_OF = re.compile(r"^/proc/(\d+)/fd:$")
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def listeners(text: str) -> tuple[Listener, ...]:
    """Who listens, from `ss`, from `netstat`, or from the tables of the kernel."""
    found: dict[int, Listener] = {}
    sockets: dict[str, int] = {}
    pid: int | None = None
    for line in text.splitlines():
        if (folder := _FOLDER_OF.match(line)) is not None:
            pid = int(folder[1])
        elif (kernel := _KERNEL.match(line)) is not None:
            port = int(kernel[1], 16)
            sockets[kernel[2]] = port
            found.setdefault(port, Listener(port))
        elif (socket := _SOCKET.search(line)) is not None:
            if socket[1] in sockets:
                found[sockets[socket[1]]] = Listener(sockets[socket[1]], pid)
        elif (local := _LOCAL.match(line)) is not None:
            port, rest = int(local[1]), local[2]
            known = found.get(port)
            if known is None or known.pid is None:
                found[port] = _listener(port, rest)
    return tuple(found.values())


def _listener(port: int, rest: str) -> Listener:
    if (users := _USERS.search(rest)) is not None:
        return Listener(port, int(users[2]), users[1])
    if (owner := _OWNER.search(rest)) is not None:
        return Listener(port, int(owner[1]), owner[2])
    return Listener(port)


def properties(text: str) -> dict[str, str]:
    """The properties of a unit that `systemctl show` prints; empty for any other text."""
    pairs = (line.partition("=") for line in text.splitlines())
    found = {name: value for name, mark, value in pairs if mark and name.isalnum()}
    return found if "LoadState" in found else {}


def program_of(start: str) -> tuple[str, str]:
    """The program of an `ExecStart` property, and its whole command, which may hold secrets."""
    path = re.search(r"\bpath=(\S+)", start)
    command = re.search(r"argv\[\]=(.*?) ; ", start)
    return path[1] if path else "", command[1] if command else ""


def entries(text: str) -> dict[str, Entry]:
    """The paths that `stat -c '%A %U %G %s %Y %N'` shows, by path."""
    found = (_entry(line) for line in text.splitlines())
    return {each.path: each for each in found if each is not None}


def _entry(line: str) -> Entry | None:
    parts = line.split(" ", 5)
    numbers = len(parts) == 6 and parts[3].isdecimal() and parts[4].isdecimal()  # noqa: PLR2004 - fields of the format
    if not numbers or not re.fullmatch(r"[bcdlps-][rwxsStT-]{9}[.+@]?", parts[0]):
        return None
    path, target = _names(parts[5])
    if target and path.startswith("/"):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    mode, owner, group, size, changed = parts[:5]
    return Entry(path, mode, owner, group, int(size), int(changed), target)


def _names(text: str) -> tuple[str, str]:
    """The name, and where the link leads: `'/a b' -> 'c'`, quoted or not."""
    name, _, target = text.partition(" -> ")
    try:
        return "".join(shlex.split(name)) if name[:1] in "'\"" else name, "".join(
            shlex.split(target) if target[:1] in "'\"" else (target,)
        )
    except ValueError:
        return name, target


_ATTRIBUTES = re.compile(r"^([a-zA-Z-]{10,}) (.+)$", re.MULTILINE)


def immutable(text: str) -> frozenset[str]:
    """The paths with the attribute `i`, from `lsattr -d`."""
    return frozenset(path for flags, path in _ATTRIBUTES.findall(text) if "i" in flags)


_DF = re.compile(r"^(\S+)\s+(\S+)\s+\S+\s+\S+\s+(\d+)%\s+(/.*)$")


def file_systems(text: str) -> dict[str, FileSystem]:
    """The file systems that `df` shows, by the place where they are mounted."""
    rows = (_DF.match(line) for line in text.splitlines())
    return {
        row[4]: FileSystem(row[4], int(row[3]), row[2], row[1]) for row in rows if row is not None
    }


def mount_options(text: str) -> dict[str, frozenset[str]]:
    """The options of each mount of `/proc/self/mounts`, by place; of several, the last counts."""
    rows = (line.split(" ") for line in text.splitlines())
    return {
        row[1].replace("\\040", " "): frozenset(row[3].split(","))
        for row in rows
        if len(row) > 3  # noqa: PLR2004 - the fields of a mount
    }


def mounted_at(path: str, places: Mapping[str, object]) -> str:
    """The longest of the places that lie at or above the path; empty if none does."""
    fitting = [p for p in places if path == p or path.startswith(f"{p.rstrip('/')}/")]
    return max(fitting, key=len, default="")


_ID = re.compile(r"uid=(\d+)\(([^)]+)\)")
_GROUP = re.compile(r"\d+\(([^)]+)\)")


def account(text: str) -> Account | None:
    """The account that `id` describes; None for any other text."""
    found = _ID.search(text)
    if found is None:
        return None
    groups = frozenset(_GROUP.findall(text[found.end() :]))
    return Account(found[2], int(found[1]), groups)


def exit_status(text: str) -> int | None:
    """The exit code that a question printed after its answer, `exit=2`; None if it did not."""
    found = re.search(r"^exit=(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else None


def answer_before_exit(text: str) -> str:
    """What a question printed before that exit code."""
    return re.split(r"^exit=\d+$", text, maxsplit=1, flags=re.MULTILINE)[0].strip()


_ENTRY = re.compile(r"^\S+ +\d+ [\d:]+ \S+ ([^\s:\[]+)(?:\[\d+\])?: (.*)$")
_MANAGER = "systemd"


def newest_start(text: str) -> str:
    """The lines of a journal since the unit was last started; all of them if it shows no start."""
    lines = [] if text.startswith("-- No entries") else text.splitlines()
    for verb in ("Starting ", "Started "):
        for at in range(len(lines) - 1, -1, -1):
            found = _ENTRY.match(lines[at])
            if found is not None and found[1] == _MANAGER and found[2].startswith(verb):
                return "\n".join(lines[at:])
    return "\n".join(lines)


def messages(text: str, *, manager: bool) -> list[str]:
    """The messages of a journal: those of the service manager, or those of the service itself."""
    found = (_ENTRY.match(line) for line in text.splitlines())
    return [each[2] for each in found if each is not None and (each[1] == _MANAGER) is manager]


def unit_of(text: str) -> str:
    """The unit of a process, from its control group or its status; empty if it has none."""
    found = re.search(r"/([\w@:.\\-]+\.service)(?:/|$)", text, re.MULTILINE)
    found = found or re.search(r"^[●○×*↻] ([\w@:.\\-]+\.\w+)", text, re.MULTILINE)
    return found[1] if found else ""


def program(text: str) -> str:
    """The program of a process: the file that it runs."""
    found = re.search(r"/exe -> (\S+)", text)
    return found[1] if found else ""
