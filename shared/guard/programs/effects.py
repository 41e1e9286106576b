"""What a program does to a host: whether it only adds, or stops or destroys something; a table."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

Words = Sequence[str]


class Effect(StrEnum):
    """What a command does, the mildest first."""

    LOOKS = "looks"  # it only reads
    ADDS = "adds"  # it makes what was not there, and takes nothing away
    UNKNOWN = "unknown"  # the guard does not know
    STOPS = "stops"  # something that runs, or would start, no longer does
    DESTROYS = "destroys"  # it deletes, empties, overwrites, or takes something back


_PACKAGES_GO = frozenset(
    {
        *("remove", "purge", "autoremove", "autopurge", "clean", "autoclean", "erase", "del", "rm"),
        *("uninstall", "prune", "dist-upgrade", "full-upgrade", "downgrade", "ci"),
    }
)
_UNITS_STOP = frozenset(
    {
        *("stop", "restart", "try-restart", "reload-or-restart", "try-reload-or-restart"),
        *("disable", "mask", "kill", "isolate", "poweroff", "reboot", "halt", "kexec", "suspend"),
        *("hibernate", "rescue", "emergency", "default", "exit", "soft-reboot", "condrestart"),
        *("force-reload", "preset", "preset-all", "freeze", "switch-root"),
    }
)
_CONTAINERS_GO = frozenset({"rm", "rmi", "prune", "remove", "delete", "down", "reset"})
_CONTAINERS_STOP = frozenset({"stop", "kill", "restart", "pause", "disconnect", "leave", "update"})
_GIT_DESTROYS = frozenset(
    {
        *("reset", "clean", "checkout", "switch", "restore", "stash", "rebase", "rm", "mv", "gc"),
        *("prune", "reflog", "update-ref", "filter-branch", "filter-repo", "push", "pull", "am"),
        *("merge", "revert", "cherry-pick", "apply", "replace", "repack", "worktree", "submodule"),
    }
)
_DESTROYERS = frozenset(
    {
        *("rm", "rmdir", "unlink", "shred", "truncate", "wipefs", "wipe", "dd", "fdisk", "sfdisk"),
        *("cfdisk", "parted", "sgdisk", "mkswap", "blkdiscard", "dropdb", "dropuser", "userdel"),
        *("groupdel", "deluser", "delgroup", "mv", "rsync", "rename", "patch", "lvremove"),
        *("vgremove", "pvremove", "lvreduce", "ex", "ed", "srm", "logrotate", "tmpreaper"),
        *("debconf-set-selections", "update-alternatives", "unlink", "fallocate", "restorecon"),
        *("iptables-restore", "ip6tables-restore", "nft", "resize2fs", "tune2fs", "dropuser"),
    }
)
_STOPPERS = frozenset(
    {
        *("kill", "pkill", "killall", "killall5", "skill", "xkill", "shutdown", "reboot", "halt"),
        *("poweroff", "init", "telinit", "umount", "swapoff", "ifdown", "rmmod", "modprobe"),
        *("apachectl", "apache2ctl", "rabbitmqctl", "pg_ctl", "pg_ctlcluster", "loginctl"),
    }
)
_VERBS: dict[str, tuple[frozenset[str], Effect]] = {
    **dict.fromkeys(
        (
            *("apt", "apt-get", "aptitude", "dnf", "yum", "microdnf", "zypper", "apk", "snap"),
            *("pip", "pip3", "pipx", "npm", "yarn", "pnpm", "gem", "brew", "flatpak", "conda"),
        ),
        (_PACKAGES_GO, Effect.DESTROYS),
    ),
    "git": (_GIT_DESTROYS, Effect.DESTROYS),
    "systemctl": (_UNITS_STOP, Effect.STOPS),
    "service": (_UNITS_STOP, Effect.STOPS),
    "rc-service": (_UNITS_STOP, Effect.STOPS),
    "supervisorctl": (frozenset({"stop", "restart", "remove", "shutdown", "reload"}), Effect.STOPS),
    "pm2": (frozenset({"stop", "delete", "kill", "restart", "flush"}), Effect.STOPS),
    "kubectl": (
        frozenset({"delete", "drain", "replace", "scale", "rollout", "cordon", "patch", "apply"}),
        Effect.DESTROYS,
    ),
    "helm": (frozenset({"uninstall", "delete", "rollback", "upgrade"}), Effect.DESTROYS),
    "terraform": (frozenset({"destroy", "apply", "taint", "state"}), Effect.DESTROYS),
    "zfs": (frozenset({"destroy", "rollback", "unmount"}), Effect.DESTROYS),
    "zpool": (frozenset({"destroy", "labelclear", "export"}), Effect.DESTROYS),
    "redis-cli": (frozenset({"flushall", "flushdb", "del", "unlink", "shutdown"}), Effect.DESTROYS),
    "ip": (frozenset({"del", "delete", "flush", "down"}), Effect.STOPS),
    "nmcli": (frozenset({"down", "delete", "off"}), Effect.STOPS),
    "ufw": (frozenset({"disable", "reset", "delete", "deny"}), Effect.STOPS),
}
"""Words, anywhere behind the program's name, with which it stops or destroys something."""

_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "docker-compose", "podman-compose"})
_OPTIONS_DESTROY = re.compile(
    r"--(?:force|purge|delete|hard|overwrite|remove|prune|clobber|wipe|flush|drop|truncate|kill"
    r"|reset|clean|erase|destroy|discard|recreate|allow-(?:downgrades|remove|change)"
    r"|no-preserve|vacuum|in-place|unlink)[\w-]*(?:=.*)?"
)
_LETTERS_DESTROY: dict[str, str] = {
    "ln": "f",
    "sed": "i",
    "perl": "i",
    "fuser": "k",
    "crontab": "r",
    "dpkg": "rP",
    "rpm": "eUF",
    "iptables": "FXDPZR",
    "ip6tables": "FXDPZR",
    "passwd": "dl",
    "usermod": "L",
    "gpg": "y",
    "unzip": "o",
    "tar": "xc",
    "gzip": "f",
    "gunzip": "f",
    "nginx": "s",
    "sysctl": "wp",
    "mount": "o",
    "sort": "o",
    "curl": "oO",
    "wget": "O",
    "mkfs": "",
}
"""Options of one letter, alone or in a bundle, with which a program takes something away."""

_OUTPUT_LETTERS = {"curl": "o", "sort": "o", "wget": "O"}
_NOWHERE = frozenset({"/dev/null", "/dev/stdout"})

_SQL_READS = frozenset({"select", "show", "explain", "describe", "desc", "values", "table"})


def losses(program: str, words: Words) -> Effect | None:
    """How a program with these words stops or destroys something; None if it is not known to.

    `words` are its arguments; `…` stands for what is known only when it runs.
    """
    if program in _DESTROYERS or program.startswith("mkfs"):
        return Effect.DESTROYS
    if program in _STOPPERS:
        return Effect.STOPS
    words = _without_discarded(program, words)
    if any(_OPTIONS_DESTROY.fullmatch(word) for word in words):
        return Effect.DESTROYS
    if program in _CONTAINERS:
        return _containers(words)
    verbs, effect = _VERBS.get(program, (frozenset(), Effect.UNKNOWN))
    if any(word.casefold() in verbs for word in words):
        return effect
    if _has_letter(words, _LETTERS_DESTROY.get(program, "")):
        return Effect.DESTROYS
    return _SPECIAL[program](words) if program in _SPECIAL else None


def _without_discarded(program: str, words: Words) -> Words:
    """The words without the option that sends the output nowhere."""
    letter = _OUTPUT_LETTERS.get(program)
    kept: list[str] = []
    for word in words:
        before = kept[-1] if kept else ""
        if letter and word in _NOWHERE and re.fullmatch(rf"-[A-Za-z]*{letter}", before):
            kept[-1] = before[:-1]
        else:
            kept.append(word)
    return kept


def _containers(words: Words) -> Effect | None:
    if _CONTAINERS_GO & set(words):
        return Effect.DESTROYS
    return Effect.STOPS if _CONTAINERS_STOP & set(words) else None


def _has_letter(words: Words, letters: str) -> bool:
    return any(
        letter in word
        for word in words
        if re.fullmatch(r"-[A-Za-z]+(?:\..*)?", word)
        for letter in letters
    )


def _tar(words: Words) -> Effect | None:
    return Effect.DESTROYS if words and set(words[0]) & set("xc") else None


def _copies(words: Words) -> Effect | None:
    kept = "--no-clobber" in words or _has_letter(words, "n")
    return None if kept else Effect.DESTROYS


def _installs_files(words: Words) -> Effect | None:
    return None if "--directory" in words or _has_letter(words, "d") else Effect.DESTROYS


def _tees(words: Words) -> Effect | None:
    return None if "--append" in words or _has_letter(words, "a") else Effect.DESTROYS


def _finds(words: Words) -> Effect | None:
    deletes = {"-delete", "-fprint", "-fprintf", "-fls", "-fprint0"} & set(words)
    return Effect.DESTROYS if deletes else None


def _sql(words: Words) -> Effect | None:
    taking = {"drop", "delete", "truncate", "update", "alter", "replace", "revoke", "merge"}
    return Effect.DESTROYS if taking & set(words) else None


def _apt(words: Words) -> Effect | None:
    """`apt-get install nginx-` removes nginx."""
    removed = any(word.endswith("-") and not word.startswith("-") for word in words)
    return Effect.DESTROYS if removed else None


def _systemctl(words: Words) -> Effect | None:
    """`systemctl start reboot.target` ends everything, and other targets may."""
    stopping = any(w.endswith(".target") or w.partition(".")[0] in _UNITS_STOP for w in words)
    return Effect.STOPS if stopping else None


_SPECIAL: dict[str, Callable[[Words], Effect | None]] = {
    "tar": _tar,
    "cp": _copies,
    "install": _installs_files,
    "tee": _tees,
    "find": _finds,
    "sql": _sql,
    "systemctl": _systemctl,
    **dict.fromkeys(("apt", "apt-get", "aptitude"), _apt),
}


def gains(program: str, words: Words) -> tuple[str, ...] | None:
    """The things that are named where a program with these words only adds; None if it may do more.

    Only what is listed here counts: a program that nobody described may do anything.
    """
    if losses(program, words) is not None:
        return None
    options = {word for word in words if word.startswith("-")}
    plain = [word for word in words if not word.startswith("-")]
    if program in {"apt", "apt-get"} and plain[:1] == ["install"] and "--no-remove" in options:
        return None if options - _INSTALL - {"--no-remove"} else tuple(plain[1:])
    for verbs, allowed, modes in _ADDITIONS.get(program, ()):
        if options - allowed or plain[: len(verbs)] != list(verbs):
            continue
        things = plain[len(verbs) :]
        if modes is not None and (not things or not modes.fullmatch(things[0])):
            continue
        return tuple(things if modes is None else things[1:])
    if program == "service" and plain[1:] == ["start"] and not options:
        return (plain[0],)
    if program == "sql" and plain[:1] and plain[0] in _SQL_READS:
        return tuple(plain)
    return None


_QUIET = frozenset({"-y", "-q", "-qq", "-yq", "-qy", "-v", "--yes", "--quiet", "--verbose"})
_INSTALL = _QUIET | {"--no-install-recommends"}
_RUNNABLE = re.compile(r"[ua]?\+x")
_COPY = frozenset({"-n", "-a", "-r", "-R", "-p", "-v", "-an", "-rn", "-pn", "--no-clobber"})

_Addition = tuple[tuple[str, ...], frozenset[str], re.Pattern[str] | None]
"""The verbs, the options that change nothing about it, and the form of a mode before the things."""

_ADDITIONS: dict[str, tuple[_Addition, ...]] = {
    "mkdir": (((), frozenset({"-p", "-v", "--parents"}), None),),
    "touch": (((), frozenset({"-a", "-c", "-m"}), None),),
    "ln": (((), frozenset({"-s", "-n", "-v", "-sn", "--symbolic"}), None),),
    "cp": (((), _COPY, None),),
    "tee": (((), frozenset({"-a", "--append"}), None),),
    "install": (((), frozenset({"-d", "--directory", "-v"}), None),),
    "chmod": (((), frozenset({"-v"}), _RUNNABLE),),
    "groupadd": (((), frozenset({"-r", "--system"}), None),),
    "useradd": (((), frozenset({"-r", "-m", "-M", "--system"}), None),),
    "createdb": (((), frozenset(), None),),
    **dict.fromkeys(
        ("apt", "apt-get", "dnf", "yum", "microdnf", "apk"),
        ((("update",), _QUIET, None), (("makecache",), _QUIET, None)),
    ),
    "systemctl": (
        (("start",), frozenset({"--no-block", "-q", "--quiet"}), None),
        (("enable",), frozenset({"--now", "-q", "--quiet"}), None),
        (("daemon-reload",), frozenset(), None),
        (("reset-failed",), frozenset(), None),
    ),
    "git": ((("config", "safe.directory"), frozenset({"--global", "--system", "--add"}), None),),
    **dict.fromkeys(
        ("docker", "podman"),
        (
            (("start",), frozenset(), None),
            (("network", "create"), frozenset(), None),
            (("volume", "create"), frozenset(), None),
        ),
    ),
}
