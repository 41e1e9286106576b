"""The kinds of operands and values that a policy can name, and what each one refuses."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.guard.policy.territory import Territory
from shared.guard.programs.readonly import (
    awk_only_looks,
    jq_only_looks,
    sed_only_edits,
    sql_only_looks,
)
from shared.guard.words import Word


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a program runs, and what its policy says about places and variables."""

    territory: Territory
    directories: tuple[Word, ...]
    variables: re.Pattern[str]


Kind = Callable[[Word, Ground], str | None]
"""Why a word is not of this kind, or None when it is."""

REST = "rest"
"""The rest of the words is for a program that is judged as a whole."""
COMMAND = "command"
"""The rest of the words is a separate command, which is judged by itself."""
EXEC = "exec"
"""The value extends to `;` or `{} +`, like that of `find -exec`."""

_MODE = r"([ugoa]*[+=-][rxX]*|[ug]+[+=-][rwxX]*|[ugoa]*-[rwxX]*)"
_FORMS = {
    "known": (r".*", "is known only when it runs"),
    "number": (r"[+-]?\d+(\.\d+)?[smhdKMGTkBb%]*", "is not a number"),
    "count": (r"\d+|all", "is not a number"),
    "name": (r"[A-Za-z0-9_@%+=:,.][A-Za-z0-9_@%+=:,.-]*", "is not a plain name"),
    "names": (r"[A-Za-z0-9_@%+=:,./ -]*", "is not a list of plain names"),
    "account": (r"[a-z_][a-z0-9_-]*", "is not a plain name of an account"),
    "owner": (r"(?!0\b|root)[a-z_][a-z0-9_-]*(:([a-z_][a-z0-9_-]*)?)?|:[a-z_][a-z0-9_-]*",
              "is not a plain OWNER:GROUP"),
    "package": (r"[A-Za-z0-9][A-Za-z0-9._+:~-]*(?<!-)(=[A-Za-z0-9.+:~_-]+\*?)?",
                "is not a name of a package"),
    "unit": (r"(?!(systemd|dbus|ssh|network|NetworkManager|rescue|emergency|debug|getty|init|polkit"
             r"|udev|halt|reboot|poweroff|shutdown|suspend|hibernate|hybrid|sleep|kexec|user@|user-"
             r"|firewalld|nftables|iptables|ip6tables|ufw|cloud|plymouth|console|quota|initrd|replan"
             r"|packagekit|system|default|multi-user|graphical|ctrl|autovt|serial|exit|final|umount"
             r"|local-fs|basic|sysinit|open-vm|wpa|ifup|connman|auditd|sudo))"
             r"[A-Za-z0-9][A-Za-z0-9@_.:-]*(?<!\.target)(?<!\.mount)(?<!\.swap)(?<!\.slice)"
             r"(?<!\.scope)(?<!\.device)(?<!\.automount)",
             "is not a plain unit, or one on which the host or the way to it depends"),
    "shown-unit": (r"[A-Za-z0-9][A-Za-z0-9@_.:*\\-]*", "is not a plain name of a unit"),
    "host": (r"[A-Za-z0-9][A-Za-z0-9.:_-]*", "is not a plain name of a host"),
    "url": (r"(?i)(https?://)?(localhost|127\.0\.0\.1)(:\d+)?(/[^\s@\\`$|;<>{}\[\]]*)?"
            r"|https?://(?!169\.254\.|100\.100\.100|metadata\b|\d+[:/?]|\d+$|0)"
            r"[A-Z0-9][A-Z0-9.-]*"
            r"(:\d+)?([/?][^\s@\\`$|;<>{}\[\]]*)?",
            "is not a plain http address that is known beforehand"),
    "mode": (rf"0?[0-7][0-7][0145]|{_MODE}(,{_MODE})*",
             "is not a mode without special bits that keeps others from writing"),
    "suffix": (r"[A-Za-z0-9._~-]*", "is not a plain suffix"),
    "setting": (r"[A-Za-z0-9][A-Za-z0-9._/-]*", "is not a name of a setting that is only read"),
    "date-format": (r"\+[^`$]*", "is not a format"),
    "signal": (r"(SIG)?(TERM|HUP|INT|KILL|QUIT|USR1|USR2|\d+)", "is not a signal"),
    "kube": (r"(?!.*secret)[a-z][a-z0-9.,-]*(/[A-Za-z0-9.-]+)?",
             "is not a plain kind, or a secret"),
    "target": (r"test|tests|check|lint|build|all|clean|format|docs|help",
               "is not a target that only builds or tests"),
    "nologin": (r"(/usr)?/s?bin/(nologin|false)", "is a shell to log in with"),
    "remote": (r"[A-Za-z0-9_][A-Za-z0-9_.-]*", "is not a plain name of a remote repository"),
    "near": (r"localhost|127\.0\.0\.1|::1|/(var/)?run/postgresql", "is another host"),
    "header": (r"(?!@).*", "is read from a file"),
    "curl-format": (r"(?!@)(?!.*%output\{).*", "is read from or written to a file"),
    "journal-match": (r"_?[A-Z][A-Z_]*=[A-Za-z0-9_.@:/-]+", "is not a FIELD=VALUE"),
    "dig": (r"[@+]?[A-Za-z0-9._:=-]+", "is not a plain name"),
    "git-word": (r"(?![-/~\ue000])(?!.*(^|/)\.\.(/|$))(?!ext::)\S*",
                 "leads out of the repository"),
    "kube-object": (r"(?!secrets?\b)[A-Za-z0-9][A-Za-z0-9._/-]*",
                    "is not a plain object, or a secret"),
    "find-place": (r"[^-].*|[!(),]", "is not a place"),
}  # fmt: skip
_PATTERNS = {name: (re.compile(form, re.DOTALL), why) for name, (form, why) in _FORMS.items()}


def _of_form(name: str) -> Kind:
    pattern, why = _PATTERNS[name]

    def kind(word: Word, ground: Ground) -> str | None:
        del ground
        text = word.literal
        if text is None:
            return f"{word} is known only when it runs"
        return None if pattern.fullmatch(text) else f"{word} {why}"

    return kind


def _program(language: str, harmless: Callable[[str], bool]) -> Kind:
    def kind(word: Word, ground: Ground) -> str | None:
        del ground
        text = word.literal
        if text is None:
            return f"the {language} that it runs is known only when it runs"
        return None if harmless(text) else f"the {language} may do more than read: {text[:80]}"

    return kind


def _place(ask: Callable[[Territory, Word, tuple[Word, ...]], str | None]) -> Kind:
    def kind(word: Word, ground: Ground) -> str | None:
        if word.literal == "-":
            return None
        return ask(ground.territory, word, ground.directories)

    return kind


def _copy_source(word: Word, ground: Ground) -> str | None:
    name = str(word).rstrip("/").rpartition("/")[2]
    if name.startswith((".", "[")):
        return f"{word} would bring a name that begins with a dot"
    return ground.territory.no_read(word, ground.directories)


def _copied_tree(word: Word, ground: Ground) -> str | None:
    return _copy_source(word, ground) or ground.territory.no_reading_below(word, ground.directories)


def _move_source(word: Word, ground: Ground) -> str | None:
    return _copy_source(word, ground) or ground.territory.no_delete(word, ground.directories)


def _not_remote(kind: Kind) -> Kind:
    def local(word: Word, ground: Ground) -> str | None:
        if ":" in str(word):
            return f"{word} may be on another host"
        return kind(word, ground)

    return local


def _script_root(word: Word, ground: Ground) -> str | None:
    if word.literal == ".":
        return None
    if "://" in str(word) or str(word).startswith("git@"):
        return f"{word} may be on another host"
    return _script(word, ground)


def _script(word: Word, ground: Ground) -> str | None:
    if word.literal == "-":
        return "it runs what it reads"
    return ground.territory.no_code(word, ground.directories)


def _variable(word: Word, ground: Ground) -> str | None:
    name = word.prefix.partition("=")[0]
    if word.literal is None and "=" not in word.prefix:
        return f"the variable is not known: {word}"
    if "=" not in word.prefix or ground.variables.fullmatch(name):
        return None
    return f"no rule lists the variable {name}"


def _bare_variable(word: Word, ground: Ground) -> str | None:
    del ground
    text = word.literal
    return None if text and re.fullmatch(r"[A-Za-z_]\w*", text) else f"{word} is not a name"


def _anything(word: Word, ground: Ground) -> str | None:
    del word, ground
    return None


KINDS: dict[str, Kind] = {
    **{name: _of_form(name) for name in _FORMS},
    "any": _anything,
    "look": _anything,
    "read": _place(Territory.no_read),
    "tree": _place(Territory.no_reading_below),
    "write": _place(Territory.no_write),
    "delete": _place(Territory.no_delete),
    "purge": _place(Territory.no_purge),
    "inside": _place(Territory.no_change),
    "into": _place(Territory.no_unpacking),
    "script": _script,
    "copied": _copy_source,
    "copied-tree": _copied_tree,
    "variable": _variable,
    "variable-name": _bare_variable,
    "awk": _program("awk program", awk_only_looks),
    "sed": _program("sed script", sed_only_edits),
    "jq": _program("jq program", jq_only_looks),
    "sql": _program("SQL", sql_only_looks),
    COMMAND: _anything,
    REST: _anything,
    "moved": _move_source,
    "local-read": _not_remote(_place(Territory.no_read)),
    "local-tree": _not_remote(_copied_tree),
    "local-write": _not_remote(_place(Territory.no_write)),
    "delete-root": _place(Territory.no_write),
    "script-root": _script_root,
    EXEC: _anything,
}
"""Every kind by its name. A name with `|` or `/` means the words between the bars."""


def kind_of(name: str) -> Kind | None:
    """The kind of that name; None when there is none."""
    if "|" not in name and "/" not in name:
        return KINDS.get(name)
    words = frozenset(name.split("|"))

    def one_of(word: Word, ground: Ground) -> str | None:
        del ground
        return None if word.literal in words else f"{word} is none of {', '.join(sorted(words))}"

    return one_of
