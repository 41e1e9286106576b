"""Corrections of programs that the shell does not find."""

import re
import shlex

from workers.shells.corrections.command_line import PlacedCommand, replace_word
from workers.shells.corrections.correction import Correction, FailedCommand, Probe, Proposal

_NO_PROGRAM = 127
_SUDO_FAILED = 1
_NOT_FOUND = re.compile(
    r"(?:^|[\s:])'?([\w.+-]+)'?: (?:command not found|not found|No such file or directory)"
    r"|sudo: ([\w.+-]+): command not found"
    r"|env: '([\w.+-]+)': No such file",
    re.MULTILINE,
)
_FOLDERS = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/snap/bin",
)
_OTHER_NAMES: dict[str, tuple[tuple[str, str], ...]] = {
    "python": (("python3", "command -v python3"),),
    "pip": (
        ("pip3", "command -v pip3"),
        ("python3 -m pip", "python3 -m pip --version"),
    ),
    "docker-compose": (("docker compose", "docker compose version"),),
    "yum": (("dnf", "command -v dnf"),),
    "gmake": (("make", "command -v make"),),
    "nodejs": (("node", "command -v node"),),
    "mysql": (("mariadb", "command -v mariadb"),),
    "mysqldump": (("mariadb-dump", "command -v mariadb-dump"),),
}
"""Other names of the same program, each with a probe for it on the host."""
_PACKAGES: dict[str, str] = {
    "curl": "curl",
    "wget": "wget",
    "git": "git",
    "unzip": "unzip",
    "zip": "zip",
    "xz": "xz-utils",
    "bzip2": "bzip2",
    "jq": "jq",
    "rsync": "rsync",
    "gpg": "gnupg",
    "lsof": "lsof",
    "file": "file",
    "make": "make",
    "netstat": "net-tools",
    "ifconfig": "net-tools",
    "dig": "dnsutils",
    "nslookup": "dnsutils",
    "ps": "procps",
    "ip": "iproute2",
    "ss": "iproute2",
    "add-apt-repository": "software-properties-common",
    "lsb_release": "lsb-release",
    "crontab": "cron",
    "pip3": "python3-pip",
}
"""Small tools that a plan takes for granted, and the Debian package of each. None of them starts a
service or holds data: the planner must install what the plan is about."""


_INSTALLING = 300.0
"""Seconds that installing a small tool may take."""


def _missing_command(failure: FailedCommand) -> PlacedCommand | None:
    """The simple command whose program was not found."""
    missing = {name for groups in _NOT_FOUND.findall(failure.output) for name in groups if name}
    for simple in failure.commands:
        if simple.program and simple.program.literal and simple.program.text in missing:
            return simple
    return None


def _not_found(failure: FailedCommand) -> bool:
    return (
        failure.exit_code in (_SUDO_FAILED, _NO_PROGRAM) and _missing_command(failure) is not None
    )


def _full_path(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Use the full path of a program that is not in the PATH of this account."""
    simple = _missing_command(failure)
    if simple is None or simple.program is None:
        return None
    places = [shlex.quote(f"{folder}/{simple.program.text}") for folder in _FOLDERS]
    found = [line for line in probe.ask(f"ls -1d {' '.join(places)}").split("\n") if line]
    if not found or shlex.quote(found[0]) not in places:
        return None
    return Proposal(replace_word(failure.command, simple.program, found[0]))


def _other_name(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Use the name that the program has on this host."""
    simple = _missing_command(failure)
    if simple is None or simple.program is None:
        return None
    for other, is_there in _OTHER_NAMES.get(simple.program.text, ()):
        if probe.holds(is_there):
            return Proposal(replace_word(failure.command, simple.program, other))
    return None


def _install(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Install a small tool that is missing (Debian and its derivatives)."""
    simple = _missing_command(failure)
    package = _PACKAGES.get(simple.name) if simple else None
    if simple is None or package is None or not probe.holds("command -v apt-get"):
        return None
    sudo = "sudo -n " if simple.wrapped_in("sudo") else ""
    if not sudo and probe.ask("id -u").strip() != "0":
        return None
    install = f"{sudo}apt-get -y --no-remove install --no-install-recommends {package}"
    known = probe.ask(f"apt-cache search --names-only {shlex.quote(f'^{re.escape(package)}$')}")
    first = (install,) if known.strip() else (f"{sudo}apt-get update", install)
    return Proposal(failure.command, first=first, allowance=_INSTALLING)


def _without_sudo(failure: FailedCommand, probe: Probe) -> Proposal | None:
    """Leave out sudo if it is absent and not needed: the rights stay the same."""
    if probe.ask("id -u").strip() != "0":
        return None
    command = failure.command
    for simple in reversed(failure.commands):
        word, program = simple.wrapped_in("sudo"), simple.program
        if word is not None and program is not None and _is_plain_sudo(simple):
            command = f"{command[: word.start]}{command[program.start :]}"
    return Proposal(command) if command != failure.command else None


def _is_plain_sudo(simple: PlacedCommand) -> bool:
    before = simple.words[: len(simple.words) - len(simple.arguments) - 1]
    return all(word.text in ("sudo", "-n", "-H", "-E", "--non-interactive") for word in before)


FULL_PATH = Correction(
    "program_full_path", "called the program by its full path", _not_found, _full_path
)
OTHER_NAME = Correction(
    "program_other_name",
    "called the program by the name it has on this host",
    _not_found,
    _other_name,
)
INSTALL_TOOL = Correction(
    "install_tool",
    "installed the missing tool",
    _not_found,
    _install,
)
SUDO_NOT_NEEDED = Correction(
    "sudo_not_needed",
    "left out sudo, which is absent, since the account is root",
    lambda failure: failure.exit_code == _NO_PROGRAM and "sudo: " in failure.output,
    _without_sudo,
)
