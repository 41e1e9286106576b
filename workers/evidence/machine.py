"""What a host's own state deviates in; what is ordinary becomes a few words; pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shared.domain.cause import Cause, CauseKind
from workers.evidence import answers as read

THE_HOST = "the host"
FULL = 97
"""From how many percent on a file system is full."""

_NEARLY_FULL = 90
_LOW = 5
_SWAPPING = 50
_CROWDED = 4
_BUSY = 80.0
_CLOCK = 60.0
"""Memory left and swap used in percent, load for each CPU, CPU in percent, seconds off."""

_MOST_ROWS = 10
_KEPT = {
    "os": re.compile(r"^Linux |^(?:PRETTY_NAME|ID|VERSION_ID)="),
    "platform": re.compile(r"^/"),
    "identity": re.compile(r""),
}
"""The lines that are always kept: what kind of host it is, and who runs commands there."""

_ABSENT = re.compile(r"^(?:sh|/bin/sh|bash|timeout):.*(?:not found|No such file)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """What a probe showed: what is kept of it, what to say of it if it is ordinary, causes."""

    kept: str = ""
    ordinary: str = ""
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """The deviating parts of a snapshot by name, their causes, and what is ordinary."""

    kept: Mapping[str, str]
    causes: tuple[Cause, ...]
    ordinary: tuple[str, ...]


def machine(snapshot: Mapping[str, str], clock_off: float = 0.0) -> Machine:
    """A snapshot without what is ordinary; `clock_off` are the seconds its clock is ahead."""
    kept = {
        name: "\n".join(line for line in snapshot[name].splitlines() if lines.search(line))
        for name, lines in _KEPT.items()
        if name in snapshot
    }
    causes: list[Cause] = []
    ordinary: list[str] = []
    for name, reader in _READERS.items():
        if name not in snapshot or _ABSENT.search(snapshot[name]):
            continue
        part = reader(snapshot[name])
        causes += part.causes
        if part.kept:
            kept[name] = part.kept
        elif part.ordinary:
            ordinary.append(part.ordinary)
    if abs(clock_off) >= _CLOCK:
        measure = f"{abs(clock_off):.0f} s {'ahead' if clock_off > 0 else 'behind'}"
        causes.append(Cause(CauseKind.CLOCK_OFF, THE_HOST, measure=measure))
    elif "clock" in snapshot:
        ordinary.append("clock")
    return Machine(kept, tuple(causes), tuple(ordinary))


def _memory(text: str) -> Part:
    sizes = {n: int(v) for n, v in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}
    total, left = sizes.get("MemTotal", 0), sizes.get("MemAvailable", 0)
    if not total:
        return Part()
    free = 100 * left // total
    swap = sizes.get("SwapTotal", 0)
    swapped = 100 * (swap - sizes.get("SwapFree", 0)) // swap if swap else 0
    low = free < _LOW
    if not low and swapped < _SWAPPING:
        return Part(ordinary=f"memory ({free} % left)")
    names = ("MemTotal", "MemAvailable", "SwapTotal", "SwapFree")
    kept = "\n".join(f"{name}: {sizes[name]} kB" for name in names if name in sizes)
    measure = f"{free} % of {total // 1024} MiB left"
    return Part(kept, causes=(Cause(CauseKind.MEMORY_LOW, THE_HOST, measure=measure),) * low)


def _load(text: str) -> Part:
    found = re.match(r"([\d.]+) [\d.]+ [\d.]+ \S+ \d+\n(\d+)$", text.strip())
    if found is None:
        return Part()
    load, cpus = float(found[1]), int(found[2])
    words = f"load {load:g} on {cpus} CPU{'s' * (cpus > 1)}"
    if load <= _CROWDED * cpus:
        return Part(ordinary=words)
    return Part(words, causes=(Cause(CauseKind.LOAD_HIGH, THE_HOST, measure=words),))


def _room(kind: CauseKind, what: str) -> Callable[[str], Part]:
    def read_room(text: str) -> Part:
        rows = [
            row
            for row in read.file_systems(text).values()
            if not row.source.startswith("/dev/loop") and not row.place.startswith("/snap/")
        ]
        if not rows:
            return Part()
        near = [row for row in rows if row.used >= _NEARLY_FULL]
        fullest = max(rows, key=lambda row: row.used)
        kept = "\n".join(f"{r.place}: {r.used} % of {r.size} {what} used" for r in near)
        causes = tuple(
            Cause(kind, row.place, measure=f"{row.used} % of {row.size} used")
            for row in near
            if row.used >= FULL
        )
        return Part(kept, f"{what} (at most {fullest.used} % used, at {fullest.place})", causes)

    return read_room


def _processes(text: str) -> Part:
    heading, *rows = text.splitlines() or [""]
    telling = [row for row in rows if _is_telling(row.split())][:_MOST_ROWS]
    kept = "\n".join((heading, *telling)) if telling else ""
    return Part(kept, "processes")


def _is_telling(fields: list[str]) -> bool:
    """Whether a process cannot be interrupted, or uses most of a CPU."""
    if len(fields) < 7 or fields[6] in {"ps", "head"}:  # noqa: PLR2004 - pid to comm
        return False
    try:
        busy = float(fields[4]) >= _BUSY
    except ValueError:
        return False
    return busy or fields[2].startswith("D")


def _failed_services(text: str) -> Part:
    rows = [row for row in text.splitlines() if re.match(r"\S+\.\w+ +\S+ +failed", row)]
    return Part("\n".join(rows[:_MOST_ROWS]), "" if "not been booted" in text else "other units")


def _services(text: str) -> Part:
    count = sum(1 for row in text.splitlines() if " running " in row)
    return Part(ordinary=f"{count} running services") if count else Part()


def _ports(text: str) -> Part:
    count = len(read.listeners(text))
    return Part(ordinary=f"{count} ports in use") if count else Part()


def _network(text: str) -> Part:
    if not re.search(r"\binet6? ", text):
        return Part()
    outside = re.search(r"scope global", text)
    return Part(ordinary="network") if outside else Part("no address besides those of the loopback")


_ERRORS = (2, 10)
"""Where a line of /proc/net/dev counts errors, received and sent."""


def _network_errors(text: str) -> Part:
    kept = []
    for line in text.splitlines():
        name, mark, counters = line.partition(":")
        fields = counters.split()
        if mark and len(fields) > max(_ERRORS) and any(fields[at] != "0" for at in _ERRORS):
            received, sent = (fields[at] for at in _ERRORS)
            kept.append(f"{name.strip()}: {received} errors received, {sent} sent")
    return Part("\n".join(kept[:_MOST_ROWS]), "network errors")


def _names(text: str) -> Part:
    has_server = re.search(r"^nameserver \S+", text, re.MULTILINE)
    return Part("" if has_server else text or "no name server is set", "name servers")


def _packages(text: str) -> Part:
    lines = [line for line in text.splitlines() if "not found" not in line]
    return Part("\n".join(lines[: 3 * _MOST_ROWS]).strip(), "packages")


_READERS: dict[str, Callable[[str], Part]] = {
    "memory": _memory,
    "load": _load,
    "disk": _room(CauseKind.DISK_FULL, "disk space"),
    "inodes": _room(CauseKind.INODES_FULL, "inodes"),
    "processes": _processes,
    "services": _services,
    "failed_services": _failed_services,
    "ports": _ports,
    "network": _network,
    "network_errors": _network_errors,
    "names": _names,
    "packages": _packages,
}


def clock_of(snapshot: Mapping[str, str]) -> int | None:
    """The clock of the host, in seconds since 1970; None if it did not tell."""
    text = snapshot.get("clock", "").strip()
    return int(text) if text.isdecimal() else None
