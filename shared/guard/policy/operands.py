"""The kinds of operands and values that a policy can name, and what each one refuses."""

import re
from collections.abc import Callable

from shared.guard.paths import canonical
from shared.guard.policy import configure_kinds
from shared.guard.policy.ground import Ground, Kind
from shared.guard.policy.literal_kinds import below, exactly
from shared.guard.policy.named import NAMED
from shared.guard.policy.notation import quoted_words
from shared.guard.policy.territory import Territory
from shared.guard.programs.readonly import (
    awk_only_looks,
    jq_only_looks,
    sed_only_edits,
    yq_only_looks,
)
from shared.guard.programs.sql import DIALECTS, SqlDialect
from shared.guard.programs.sql_looks import sql_only_looks
from shared.guard.words import Word, literal_word

REST = "rest"
"""The rest of the words is for a program that is judged as a whole."""
COMMAND = "command"
"""The rest of the words is a separate command, which is judged by itself."""
COPY = "copy-of-it"
"""The operand before it, with an ending that says that it is a copy."""
EXEC = "exec"
"""The value extends to `;` or `{} +`, like that of `find -exec`."""

_MODE = r"([ugoa]*[+=-][rxX]*|[ug]+[+=-][rwxX]*|[ugoa]*-[rwxX]*)"
_TOP = (
    r"State|NetworkSettings|RestartCount|Id|ID|Image|Created|Name|Mounts|RepoTags|RepoDigests|Size"
    r"|Architecture|Os|Driver|Platform|LogPath|HostConfig\.(RestartPolicy|Memory|NetworkMode"
    r"|PortBindings|Binds|NanoCpus|AutoRemove|Privileged)|Config\.(Image|Healthcheck|User|WorkingDir)"
)
_ITEM = "IPAddress|Gateway|Source|Destination|HostPort|HostIp|Type|Mode|ExitCode|Output|Status"
_FACT = (
    rf"\{{\{{-?\s*((json|range|if|with|len|println)\s+)?\.({_TOP}|{_ITEM})(\.\w+)*\s*-?\}}\}}"
    r"|\{\{-?\s*(end|else)\s*-?\}\}"
)
"""A fact about a container, as a template names it: none that may show its environment."""
_FORMS = {
    "known": (r".*", "is known only when it runs"),
    "number": (r"[+-]?\d+(\.\d+)?[smhdKMGTkBb%]*", "is not a number"),
    "count": (r"\d+|all", "is not a number"),
    "few": (r"\d{1,2}", "is not a small number"),
    "name": (r"[A-Za-z0-9_@%+=:,.][A-Za-z0-9_@%+=:,.-]*", "is not a plain name"),
    "names": (r"[A-Za-z0-9_@%+=:,./ -]*", "is not a list of plain names"),
    "account": (r"[a-z_][a-z0-9_-]*", "is not a plain name of an account"),
    "owner": (r"(?!0\b|root)[a-z_][a-z0-9_-]*(:([a-z_][a-z0-9_-]*)?)?|:[a-z_][a-z0-9_-]*",
              "is not a plain OWNER:GROUP"),
    "package": (r"(?i)(?!.*\.(?:rpm|deb|apk|udeb|pkg|txz|tar|xz|zst|gz|repo|ipk|snap|flatpak)$)"
                r"[A-Za-z0-9][A-Za-z0-9._+:~-]*(?<!-)(=[A-Za-z0-9.+:~_-]+\*?)?",
                "is not a name of a package"),
    "package-to-install": (r"(?i)(?!.*\.(?:rpm|deb|apk|udeb|pkg|txz|tar|xz|zst|gz|repo"
                r"|ipk|snap|flatpak)"
                r"$)"
                # the firewall, the network or a way into the host changes as soon as one is there
                r"(?!(?:g?ufw|firewalld|(?:iptables|netfilter|ipset)-persistent|shorewall.*|ferm"
                r"|arno-iptables.*|dropbear.*|telnetd.*|telnet-server|(?:inet)?utils-telnetd|rsh-.*"
                r"|network-?manager|connman|wicked|ifupdown.*|netplan.*|systemd-(?:resolved|networkd)"
                r"|resolvconf|openresolv|sysvinit-core|systemd-sysv|selinux-basics|xinetd|tftpd.*)"
                r"(?:[=:].*)?$)"
                r"[A-Za-z0-9][A-Za-z0-9._+:~-]*(?<!-)(=[A-Za-z0-9.+:~_-]+\*?)?",
                "is not a name of a package, or changes the network or the ways into the host"),
    "shown-property": (r"(?i)(?!.*(environ|credential|pass))[\w,]+",
                       "is not a plain property, or shows the environment"),
    "git-setting": (r"(?i)(?!.*(header|passw|token|credential|secret|proxy|cookie|smtp|key))"
                    r"[A-Za-z0-9._/-]+", "is not a plain setting, or holds a secret"),
    "task-name": (r"(?i)(?!.*(destroy|delet|drop|flush|purge|wipe|reset|remove|uninstall|clean-?all"
                  r"|truncate|nuke|rollback|publish|fresh|seed|shell|console|eval|exec))"
                  r"[A-Za-z0-9_@%+=:,.-]+", "is not the plain name of a task, or destroys"),
    "ps-format": (r"(?i)(?!.*env)[a-z0-9_,=%: ]+", "is not a plain format"),
    "shown-unit": (r"[A-Za-z0-9][A-Za-z0-9@_.:*\\-]*", "is not a plain name of a unit"),
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
    "near-url": (r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[\w./?=&%+,:~-]*)?",
                 "is not a plain address on this host"),
    "header": (r"(?i)(?!@)(?!\s*(x-)?(aws-|google-|azure-|oracle-)?(ec2-)?metadata)(?!.*imds).*",
               "is read from a file, or asks a machine for its credentials"),
    "curl-format": (r"(?!@)(?!.*%output\{).*", "is read from or written to a file"),
    "journal-match": (r"_?[A-Z][A-Z_]*=[A-Za-z0-9_.@:/-]+", "is not a FIELD=VALUE"),
    "kube-object": (r"(?!secrets?\b)[A-Za-z0-9][A-Za-z0-9._/-]*",
                    "is not a plain object, or a secret"),
    "git-key": (r"(?i)(?!.*(token|pass|secret|header|credential|url))"
                r"[a-z][a-z0-9-]*(\.[^\s]+)?\.[a-z][a-z0-9-]*",
                "is not a plain key, or one that may hold a secret"),
    "sudoers": (r"/etc/sudoers(\.d/[\w-]+)?", "is not one of the files of sudo"),
    "kube-output": (r"wide|yaml|json|name|(jsonpath(-as-json)?|custom-columns|go-template)=.*",
                    "is not a form of output, or is read from a file"),
    "system-program": (r"/(usr/)?(local/)?s?bin/[\w.+-]+|/(usr/)?lib(64)?/(?!.*\.\.)[\w./+-]+",
                       "does not lie where the system keeps its programs"),
    "container-fact": (rf"([^{{}}]|{_FACT})*", "may show the environment of the container"),
    # rpm expands `%(…)` and `%{lua:…}` in the names of files and packages
    "rpm-name": (r"[^%]*", "holds a `%`, and rpm runs macros"),
    "rpm-format": (r"([^%]|%%|%-?\d*\{[A-Z0-9_]+(:[a-z]+)?\})*",
                   "is not a format of plain tags, and rpm runs macros"),
    "find-place": (r"[^-].*|[!(),]", "is not a place"),
}  # fmt: skip


def _of_form(name: str) -> Kind:
    form, why = _FORMS[name]
    return _form(form, why)


def _form(form: str, why: str) -> Kind:
    pattern = re.compile(form, re.DOTALL)

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


def _in_dialect(dialect: SqlDialect) -> Callable[[str], bool]:
    return lambda text: sql_only_looks(text, dialect)


def _place(ask: Callable[[Territory, Word, tuple[Word, ...]], str | None]) -> Kind:
    def kind(word: Word, ground: Ground) -> str | None:
        if word.literal == "-":
            return None
        return ask(ground.territory, word, ground.directories)

    return kind


_EVERY_NAME = re.compile(r"\*(\.[A-Za-z0-9]+)?")


def no_writing(word: Word, ground: Ground) -> str | None:
    """Why a file may not be written, or None: a usual place, or configuration that was read."""
    changing = ground.changing
    paths = {canonical(word, directory).literal or "" for directory in ground.directories}
    if changing.placed and paths <= changing.placed:
        return None
    why = _place(Territory.no_write)(word, ground)
    refused = (changing.refused.get(path) for path in paths) if why else ()
    return next((told for told in refused if told), why)


def _copy_source(word: Word, ground: Ground) -> str | None:
    name = str(word).rstrip("/").rpartition("/")[2]
    if name.startswith((".", "[")):
        return f"{word} would bring a name that begins with a dot"
    return ground.territory.no_read(_one_of(word, name), ground.directories)


def _one_of(word: Word, name: str) -> Word:
    """One of the files that a pattern for all names stands for: a copy of each keeps its name."""
    found = _EVERY_NAME.fullmatch(name)
    if found is None or word.unknown:
        return word
    return literal_word(f"{word.with_placeholder('')[: -len(name)]}x{found[1] or ''}")


def _copied_tree(word: Word, ground: Ground) -> str | None:
    one = _one_of(word, str(word).rpartition("/")[2])
    return _copy_source(word, ground) or ground.territory.no_reading_below(one, ground.directories)


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


def _project_script(word: Word, ground: Ground) -> str | None:
    if word.literal == "-":
        return "it runs what it reads"
    return ground.territory.no_program(word, ground.directories)


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


_CONFIGURATION = tuple(
    inside
    for place in ("/etc", "/usr/local/etc", "/var/named")
    if (inside := below(place, shown=False))
)


def _configuration(word: Word, ground: Ground) -> str | None:
    """A file where only the host's own configuration lies: any other may name code to load."""
    if all(inside(word, ground) for inside in _CONFIGURATION):
        return f"{word} is not known to be the host's own configuration, and may name code to load"
    return None


KINDS: dict[str, Kind] = {
    **configure_kinds.kinds(_form),
    **{name: _of_form(name) for name in _FORMS},
    "any": _anything,
    **NAMED,
    "look": _anything,
    "read": _place(Territory.no_read),
    "tree": _place(Territory.no_reading_below),
    "public-tree": _place(Territory.no_showing_below),
    "write": no_writing,
    "environment": no_writing,
    "delete": _place(Territory.no_delete),
    "purge": _place(Territory.no_purge),
    "inside": _place(Territory.no_change),
    "into": _place(Territory.no_unpacking),
    "script": _project_script,
    "code-file": _script,
    "copied": _copy_source,
    "copied-tree": _copied_tree,
    "variable": _variable,
    "variable-name": _bare_variable,
    "awk": _program("awk program", awk_only_looks),
    "sed": _program("sed script", sed_only_edits),
    "jq": _program("jq program", jq_only_looks),
    "sql": _program("SQL", sql_only_looks),
    **{name: _program("SQL", _in_dialect(dialect)) for name, dialect in DIALECTS.items()},
    "config": _configuration,
    "yq": _program("yq program", yq_only_looks),
    COMMAND: _anything,
    REST: _anything,
    "moved": _move_source,
    "link-target": _anything,  # it counts from where the link lies (`policy/links.py`)
    "local-read": _not_remote(_place(Territory.no_read)),
    "local-tree": _not_remote(_copied_tree),
    "local-write": _not_remote(_place(Territory.no_write)),
    "delete-root": _place(Territory.no_write),
    "script-root": _script_root,
    EXEC: _anything,
}
"""Every kind by its name. A name with `|` or `/` means the words between the bars."""


BELOW = "below:"
"""`below:/srv/app` holds the paths in that folder, whatever they are called."""


def kind_of(name: str) -> Kind | None:
    """The kind of that name; None when there is none."""
    if (quoted := quoted_words(name)) is not None:
        return exactly(quoted)
    if name.startswith(BELOW):
        return below(name.removeprefix(BELOW))
    if "|" not in name and "/" not in name:
        return KINDS.get(name)
    words = frozenset(name.split("|"))

    def one_of(word: Word, ground: Ground) -> str | None:
        del ground
        return None if word.literal in words else f"{word} is none of {', '.join(sorted(words))}"

    return one_of


WRITING = frozenset({"write", "local-write", "into", "archive"})
"""The kinds of words at which something is left behind."""

CHANGING = WRITING | {"delete", "purge", "inside", "moved", "delete-root", "environment"}
"""The kinds of words at which something changes."""

ENTERED = frozenset({"script-root"})
"""The kinds of words that name a directory to work in."""
