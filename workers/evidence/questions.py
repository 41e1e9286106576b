"""The questions to a host about things that a failure names; pure.

Each is a command that only reads, waits for nobody longer than its timeout, and passes the guard
like every other. Names are quoted. None asks for the content of a file that is not a log, for an
environment, or for the arguments of a process.
"""

import posixpath
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence

from workers.evidence.things import Thing, ThingKind

UNIT_PROPERTIES = (
    *("Id", "LoadState", "ActiveState", "SubState", "Result", "ExecMainCode", "ExecMainStatus"),
    *("NRestarts", "UnitFileState", "FragmentPath", "User", "WorkingDirectory", "ExecStart"),
)
RIGHTS, ATTRIBUTES = "rights", "attributes"
SPACE, INODES, MOUNTS = "room", "inode_room", "mounts"
LISTENERS = "ports"
"""The name of the probe that tells who listens; it is asked of every host."""

_JOURNAL_LINES = 50
_LOG_LINES = 20
_DEEPEST = 16
_MOST_PATHS = 80


def unit_state(name: str) -> str:
    """The name of the question about a unit's state."""
    return f"unit {name}"


def journal(name: str) -> str:
    """The name of the question about a unit's journal."""
    return f"journal of {name}"


def process(pid: int) -> str:
    """The name of the question about a process."""
    return f"process {pid}"


def named(each: Thing) -> str:
    """The name of the question about a package, a log, a host, an account, or a group."""
    return f"{each.kind.value} {each.name}"


def questions(things: Collection[Thing], pids: Iterable[int] = ()) -> dict[str, str]:
    """Questions by name about all these things and processes."""
    asked: dict[str, str] = {}
    for each in things:
        asked |= _about(each)
    paths = [each.name for each in things if each.kind in (ThingKind.PATH, ThingKind.LOG)]
    asked |= _about_paths(components(paths))
    return asked | {process(pid): _PROCESS.format(pid=pid) for pid in pids}


def components(paths: Iterable[str]) -> tuple[str, ...]:
    """All paths with the folders above them, each once, folders first."""
    found: dict[str, None] = {}
    for path in paths:
        found |= dict.fromkeys(above(path))
    return tuple(found)[:_MOST_PATHS]


def above(path: str) -> Sequence[str]:
    """The path and the folders above it, the topmost first: `/`, `/srv`, `/srv/app`."""
    listed = [path]
    while len(listed) < _DEEPEST:
        parent = posixpath.dirname(listed[0])
        if parent in ("", listed[0]):
            break
        listed.insert(0, parent)
    return listed


_PROCESS = (
    "cat /proc/{pid}/cgroup; ps -o user=,comm= -p {pid}; ls -l /proc/{pid}/exe /proc/{pid}/cwd; "
    "timeout 3 systemctl status --no-pager -n 0 {pid} | head -n 1"
)
_PACKAGE = (
    "if command -v apt-cache >/dev/null; then timeout 5 apt-cache policy {name}; "
    "echo held:; apt-mark showhold; echo status:; dpkg-query -W -f='${{Status}}\\n' {name}; "
    "elif command -v rpm >/dev/null; then rpm -q {name}; else apk policy {name}; fi"
)
_EXIT = 'echo "exit=$?"'


def _about(each: Thing) -> Mapping[str, str]:
    name = shlex.quote(each.name)
    match each.kind:
        case ThingKind.UNIT:
            properties = ",".join(UNIT_PROPERTIES)
            return {
                unit_state(each.name): f"timeout 3 systemctl show --property={properties} {name}",
                journal(each.name): (
                    f"timeout 3 journalctl --no-pager -q -n {_JOURNAL_LINES} -u {name}"
                    " | tail -c 8000"
                ),
            }
        case ThingKind.LOG:
            return {named(each): f"timeout 3 tail -n {_LOG_LINES} -- {name} | tail -c 4000"}
        case ThingKind.PACKAGE:
            return {named(each): _PACKAGE.format(name=name)}
        case ThingKind.HOST:
            return {named(each): f"timeout 3 getent ahosts {name}; {_EXIT}"}
        case ThingKind.ACCOUNT:
            return {named(each): f"timeout 3 getent passwd {name}; {_EXIT}; timeout 3 id {name}"}
        case ThingKind.GROUP:
            return {named(each): f"timeout 3 getent group {name}; {_EXIT}"}
        case ThingKind.PATH | ThingKind.PORT:
            return {}


def _about_paths(paths: Sequence[str]) -> Mapping[str, str]:
    if not paths:
        return {}
    listed = " ".join(map(shlex.quote, paths))
    return {
        RIGHTS: f"timeout 3 stat -c '%A %U %G %s %Y %N' -- {listed}",
        ATTRIBUTES: f"timeout 3 lsattr -d -- {listed}",
        SPACE: f"timeout 3 df -P -- {listed}",
        INODES: f"timeout 3 df -iP -- {listed}",
        MOUNTS: "cat /proc/self/mounts",
    }
