"""What `find` may change: all that it finds is as much as the whole directory (X17)."""

import re

from shared.guard.policy.territory import Territory
from shared.guard.programs.find import Search, search
from shared.guard.words import Run, Word

_LOOK = frozenset(
    {
        *("cat", "ls", "stat", "file", "wc", "head", "tail", "grep", "egrep", "fgrep", "zgrep"),
        *("du", "md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "cksum", "echo", "printf"),
        *("test", "[", "basename", "dirname", "readlink", "realpath", "true", "false", "diff"),
        *("cmp", "cut", "sort", "awk", "getfacl", "lsattr", "namei", "strings", "openssl", "jq"),
    }
)
_OF_MODES = frozenset({"chmod", "chown", "chgrp", "touch", "setfacl", "chcon", "restorecon"})
_NAMES = frozenset({"-name", "-iname"})
_AGES = frozenset({"-mtime", "-mmin", "-ctime", "-cmin", "-atime", "-amin"})
_OTHERWISE = frozenset({"-o", "-or", ",", "!", "-not"})
_LEFTOVER = re.compile(
    r"(?i).*(?:\.(?:log|tmp|temp|bak|old|orig|rej|swp|sw[a-z]|pyc|pyo|cache|gz|xz|bz2|zst|pid|core"
    r"|\d+)|~|\.log\.\*|\.tmp\.\*)|__pycache__|\.DS_Store|core\.[\d*?]+|npm-debug\.log.*"
)
_SHORTEST = 3


def strange_search(run: Run, territory: Territory) -> str | None:
    """Why what find changes may not be changed without a person, or None."""
    if run.program != "find":
        return None
    words = run.argv[1:]
    found = search(words)
    programs = {str(inner[0]).rpartition("/")[2] for inner in found.runs if inner}
    changing = programs - _LOOK
    if not changing and not found.deletes:
        return None
    if found.deletes and _deletes_first(words):
        return "it deletes before it looks at the names: put the tests before -delete"
    for start in found.starts:
        if why := _strange_start(start, found, changing, run, territory):
            return f"all that find gets there is as much as the directory: {why}"
    return None


def _strange_start(
    start: Word, found: Search, changing: set[str], run: Run, territory: Territory
) -> str | None:
    here, words = run.directories, run.argv[1:]
    if any(_overwrites(inner) for inner in found.runs):
        return "it puts something else in the place of all that it finds"
    if any(str(w) in ("-d", "-t", "-r") for inner in found.runs for w in _of_touch(inner)):
        return "it makes all that it finds look older or newer than it is"
    if changing and changing <= _OF_MODES and not found.deletes:
        return territory.no_change(start, here)
    names = _names(words)
    if names and all(map(_LEFTOVER.fullmatch, names)):
        return territory.no_delete(start, here) and territory.no_write(start, here)
    if names and territory.no_change(start, here) is None:
        return None
    if _by_age(words) and territory.no_throwing_away(start, here) is None:
        return None
    if names and start.literal in (".", "./"):
        return None
    return territory.no_purge(start, here)


def _of_touch(inner: tuple[Word, ...]) -> tuple[Word, ...]:
    is_touch = bool(inner) and str(inner[0]).rpartition("/")[2] == "touch"
    return inner[1:] if is_touch else ()


def _overwrites(inner: tuple[Word, ...]) -> bool:
    """Whether each match is the target of a copy: `find -exec cp blank {} ;`."""
    if len(inner) < _SOURCE_AND_TARGET or inner[-1].literal is not None:
        return False
    program = str(inner[0]).rpartition("/")[2]
    return program in ("cp", "mv", "install", "ln") and inner[-2].literal is not None


_SOURCE_AND_TARGET = 3


def _deletes_first(words: tuple[Word, ...]) -> bool:
    """Whether a test stands behind the action, where it picks out nothing any more."""
    texts = [word.literal for word in words]
    behind = texts[texts.index("-delete") + 1 :] if "-delete" in texts else []
    return any(text in _NAMES | _AGES | {"-type", "-size", "-user", "-empty"} for text in behind)


def _names(words: tuple[Word, ...]) -> list[str]:
    """The patterns of names by which find picks out; none where something else is found as well."""
    if any(word.literal in _OTHERWISE for word in words):
        return []
    given = [
        words[at + 1].literal or "" for at, word in enumerate(words[:-1]) if word.literal in _NAMES
    ]
    known = [name for name in given if len(re.sub(r"\[[^]]*\]|[*?]", "", name)) >= _SHORTEST]
    return known if len(known) == len(given) else []


def _by_age(words: tuple[Word, ...]) -> bool:
    texts = [word.literal for word in words]
    return any(
        text in _AGES and re.fullmatch(r"\+[1-9]\d*", texts[at + 1] or "")
        for at, text in enumerate(texts[:-1])
    ) and not _OTHERWISE & set(texts)
