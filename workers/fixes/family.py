"""Tells the kind of host from a snapshot: a fix applies to hosts of its own kind; pure."""

import re
from collections.abc import Mapping

_RELEASE = re.compile(r"^(ID|VERSION_ID)=[\"']?([\w.+-]{1,40})[\"']?$", re.MULTILINE | re.ASCII)
_MANAGERS = ("apt-get", "dnf", "yum", "apk", "zypper", "pacman")
_INITS = {"/run/systemd/system": "systemd", "/run/openrc": "openrc"}


def family(snapshot: Mapping[str, str]) -> str | None:
    """The system and its version, package manager and init; None if the snapshot shows no system.

    At most two numbers of the version count: `debian 12, apt-get, systemd`.
    """
    release = dict(_RELEASE.findall(snapshot.get("os", "")))
    if "ID" not in release:
        return None
    version = ".".join(release.get("VERSION_ID", "").split(".")[:2])
    lines = snapshot.get("platform", "").splitlines()
    programs = {line.rpartition("/")[2] for line in lines}
    manager = next((name for name in _MANAGERS if name in programs), "no package manager")
    init = next((name for place, name in _INITS.items() if place in lines), "no init")
    return f"{release['ID']} {version}".strip() + f", {manager}, {init}"


def hosts(snapshot: Mapping[str, str], *names: str | None) -> tuple[str, ...]:
    """The names of the host, ours and its own, without names that every host has."""
    words = snapshot.get("os", "").partition("\n")[0].split()
    called = words[1:2] if words[:1] == ["Linux"] else []
    return tuple(dict.fromkeys(n for n in (*names, *called) if n and n not in _EVERYWHERE))


_EVERYWHERE = frozenset({"localhost", "127.0.0.1", "::1", "localhost.localdomain"})
