"""The state of a host in one round trip of read-only probes (S0.50, S0.67)."""

import shlex
from collections.abc import Mapping

from workers.shells.door import Door, Judge
from workers.shells.ports import Call, Shell

_MARK = "replan-probe:"
_LINES = 60
_CHARACTERS = 4_000
_LONG_LINES = 400
_LONG_CHARACTERS = 32_000
_LONG = frozenset({"ports", "rights", "attributes", "room", "inode_room", "mounts"})
"""What is read by a program, line by line, and not shown as it is."""

_TIMEOUT = 30.0

PROBES: dict[str, str] = {
    "os": "uname -a; cat /etc/os-release",
    "platform": (
        "for p in apt-get dnf yum apk zypper pacman; do command -v $p; done; "
        "ls -d /run/systemd/system /run/openrc"
    ),
    "memory": "cat /proc/meminfo",
    "load": "cat /proc/loadavg; nproc",
    "clock": "date +%s",
    "disk": "timeout 3 df -hPl",
    "inodes": "timeout 3 df -iPl",
    "processes": "ps -eo pid,ppid,stat,etime,pcpu,pmem,comm --sort=-pcpu",
    "services": "timeout 3 systemctl list-units --type=service --state=running --no-legend --plain",
    "failed_services": "timeout 3 systemctl list-units --state=failed --no-legend --plain",
    "ports": (
        "ss -lutnp || netstat -lutnp || { cat /proc/net/tcp /proc/net/tcp6; "
        "ls -l /proc/[0-9]*/fd | grep -e '^/proc' -e 'socket:'; }"
    ),
    "network": "ip -o addr",
    "network_errors": "cat /proc/net/dev",
    "names": "cat /etc/resolv.conf",
    "packages": "dpkg --audit; dpkg --get-selections | grep 'hold$'",
    "repositories": "ls -nt /var/lib/apt/lists",
    "locks": "cat /proc/locks",
    "identity": "timeout 3 id",
}
"""Each probe and its command. None prints an environment or the arguments of a process, because
they may hold secrets. If a host lacks a program, the probe shows the error message, which is useful
too. None waits longer than its timeout for another host (a lost mount, a directory of accounts, a
name server), and none computes for long, as questions to apt do."""


def take(
    shell: Shell,
    guard: Judge,
    *,
    probes: Mapping[str, str] | None = None,
    timeout: float = _TIMEOUT,
) -> dict[str, str]:
    """The output of each probe, both streams, cut to 60 lines and 4,000 characters.

    Lists that only programs read may be longer.
    Probes that the guard does not allow are left out. Raises what the shell raises.
    """
    door = Door(shell, guard)
    allowed = {
        name: line
        for name, command in (PROBES if probes is None else probes).items()
        if door.verdict(line := _line(name, command)).allowed
    }
    whole = "\n".join(allowed.values())
    if not allowed or not door.verdict(whole).allowed:
        return {}
    result = door.look(Call(whole, timeout))
    return parse(result.stdout.decode(errors="replace"), tuple(allowed))


def parse(text: str, names: tuple[str, ...]) -> dict[str, str]:
    """The parts of a snapshot's output; a probe that printed nothing has an empty text.

    It reads from the end, so that no probe can print something that looks like another probe.
    """
    parts: dict[str, str] = {}
    for name in reversed(names):
        text, found, part = text.rpartition(f"{_MARK}{name}\n")
        if not found:
            text = part
            continue
        parts[name] = part.strip()[: _LONG_CHARACTERS if name in _LONG else _CHARACTERS]
    return {name: parts[name] for name in names if name in parts}


def _line(name: str, command: str) -> str:
    lines, size = (_LONG_LINES, _LONG_CHARACTERS) if name in _LONG else (_LINES, 2 * _CHARACTERS)
    bounded = f"head -n {lines} | head -c {size}"
    return f"echo {shlex.quote(_MARK + name)}; {{ {command}; }} 2>&1 | {bounded}"
