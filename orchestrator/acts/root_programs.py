"""Which commands only root can carry out, by their names and verbs; nothing is run."""

import re
from collections.abc import Iterable

from shared.guard.words import Run

_PACKAGES = frozenset(
    {
        *("install", "reinstall", "update", "upgrade", "full-upgrade", "dist-upgrade", "remove"),
        *("purge", "autoremove", "add", "del", "refresh"),
    }
)
_VERBS = {
    **dict.fromkeys(("apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "apk"), _PACKAGES),
    "dpkg": frozenset({"-i", "--install", "-r", "--remove", "-P", "--purge", "--configure"}),
    "systemctl": frozenset(
        {
            *("start", "stop", "restart", "reload", "enable", "disable", "mask", "unmask"),
            *("daemon-reload", "reload-or-restart", "try-restart"),
        }
    ),
}
_ALWAYS = frozenset(
    {
        *("useradd", "usermod", "userdel", "groupadd", "groupmod", "groupdel", "adduser"),
        *("deluser", "addgroup", "delgroup", "chpasswd", "visudo", "ufw", "update-rc.d"),
    }
)
MENTION = re.compile("|".join(map(re.escape, ("sudo", *_VERBS, *_ALWAYS))))
"""Found in every text that can need root: to read all texts of a plan takes long."""

_BECOMING_ROOT = frozenset({"sudo", "doas", "su", "runuser", "pkexec", "unshare", "chroot", "ssh"})
_WITHOUT = frozenset({"--user", "--help", "--version", "-s", "--simulate", "--dry-run", "--root"})
_ASKING_WHO = frozenset({"id", "whoami"})
_ASKING = frozenset({"command", "which", "type", "hash", "test", "["})
"""Programs that ask whether another one is there."""


def starts_sudo(runs: Iterable[Run]) -> bool:
    """Whether what a text runs is sudo, without asking first if it is there."""
    listed = tuple(runs)
    asked = any(
        run.program in _ASKING and any("sudo" in str(word) for word in run.argv[1:])
        for run in listed
    )
    return not asked and any(run.program == "sudo" for run in listed)


def needs_root(runs: Iterable[Run]) -> bool:
    """Whether a part of what a text runs is known to be for root alone.

    False for a text that becomes another account, or asks who it is.
    """
    listed = tuple(runs)
    if any(run.program in _BECOMING_ROOT | _ASKING_WHO for run in listed):
        return False
    return any(map(_is_of_root, listed))


def _is_of_root(run: Run) -> bool:
    words = [str(word) for word in run.argv[1:]]
    if _WITHOUT & set(words):
        return False
    verbs = _VERBS.get(run.program)
    return run.program in _ALWAYS if verbs is None else bool(verbs & set(words))
