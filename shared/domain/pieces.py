"""Commands cut into pieces, some of which may differ when the same is done elsewhere; pure.

A piece is a run of letters, digits and `_ . + ~ % -`; the text between pieces is kept. So
`/srv/app1/data` has three pieces, `--port=8080` has two, `postgresql-16` is one.
"""

import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.folders import OWN_PATH, ROOT, without_folders


class Varies(StrEnum):
    """Why a piece may differ; the value replaces it in a normal form."""

    NUMBER = "<number>"
    VERSION = "<version>"
    HOST = "<host>"
    ID = "<id>"
    PATH = "<path>"  # below a folder where everybody lays out things as they like
    NAME = "<name>"  # of a package or a unit
    WORD = "<word>"  # stands in a command and in what its output or check says


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece, the text before it, and why it may differ (None if it may not)."""

    before: str
    text: str
    varies: Varies | None


_PIECE = re.compile(r"[\w.+~%-]+")
_WORD = re.compile(r"(?P<end>[;&|\n(){}`])|[^\s;&|(){}`]+")
_VERB = re.compile(r"[a-z][a-z-]*")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_NUMBER = re.compile(r"[+-]?\d[\d.,%-]*(?:ms|[smhd]|[kKMGT]?i?B?)?")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+[\w.+~-]*")
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_ID = re.compile(r"0x[0-9a-fA-F]{4,}|(?=[0-9a-f-]*\d)(?=[0-9a-f-]*[a-f])[0-9a-f-]{8,}")
_TEMPORARY = re.compile(r"sed[A-Za-z0-9]{6}|tmp\.[A-Za-z0-9]{10}|tmp[a-z0-9_]{8}")
"""Names that sed, mktemp and Python give to their temporary files."""
_DOMAIN = re.compile(
    r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|local|internal|lan|home|example|test|invalid)\.?"
)

_FINDERS = frozenset({"which", "type", "hash"})
_WITH_VERBS = frozenset(
    {
        *("git", "docker", "podman", "systemctl", "kubectl", "helm", "cargo", "go", "terraform"),
        *("npm", "yarn", "pip", "pip3", "apt", "apt-get", "dnf", "yum", "apk", "ip", "openssl"),
        *("journalctl", "loginctl", "hostnamectl", "service", "snap", "gem", "bundle", "dotnet"),
    }
)
"""Programs whose first operand says what to do."""

_USUAL = frozenset(
    {
        *("a", "an", "the", "is", "are", "be", "of", "in", "on", "to", "for", "from", "by", "as"),
        *("at", "or", "and", "not", "no", "with", "it", "was", "has", "had", "such", "already"),
        *(
            "file",
            "directory",
            "folder",
            "error",
            "errors",
            "failed",
            "failure",
            "fatal",
            "warning",
        ),
        *("cannot", "could", "unable", "invalid", "unknown", "missing", "found", "exist", "exists"),
        *("open", "read", "write", "access", "create", "remove", "permission", "denied", "refused"),
        *("use", "used", "command", "option", "argument", "input", "output", "process", "exit"),
        *("true", "false", "null", "none", "ok", "left", "long", "too", "many"),
        *("srv", "opt", "home", "tmp", "var", "etc", "usr", "bin", "sbin", "lib", "mnt", "media"),
        *("run", "dev", "root", "data", "select", "from", "where", "insert", "into", "table"),
        *(
            "test",
            "then",
            "else",
            "fi",
            "if",
            "do",
            "done",
            "for",
            "while",
            "until",
            "case",
            "esac",
        ),
    }
)
"""Words of messages and of shells: that both sides use them means nothing."""

_BEFORE_A_PROGRAM = frozenset(
    {"sudo", "env", "nohup", "nice", "time", "exec", "if", "then", "else", "do", "while", "!"}
)
_PACKAGES = frozenset(
    {
        *("apt", "apt-get", "aptitude", "dnf", "yum", "microdnf", "zypper", "apk", "snap", "brew"),
        *("pip", "pip3", "npm", "gem", "dpkg-reconfigure", "apt-mark", "apt-cache"),
    }
)
_PACKAGE_VERBS = frozenset(
    {
        *("install", "reinstall", "add", "upgrade", "update", "download", "remove", "purge"),
        *("hold", "unhold", "uninstall", "policy", "show"),
    }
)
_UNIT_VERBS = frozenset(
    {
        *("start", "stop", "restart", "reload", "try-restart", "enable", "disable", "status"),
        *("is-active", "is-enabled", "is-failed", "reset-failed", "mask", "unmask"),
    }
)


def pieces(command: str) -> tuple[Piece, ...]:
    """The pieces of a command in order; `rest` gives the text after the last one."""
    names = _names(command)
    paths = [found.span("rest") for found in OWN_PATH.finditer(command)]
    listed: list[Piece] = []
    at = 0
    for found in _PIECE.finditer(command):
        varies = variety(found[0])
        if _within(names, found.start()):
            varies = Varies.NAME
        elif _within(paths, found.start()):
            varies = Varies.PATH
        elif found[0].startswith("-"):
            varies = None
        listed.append(Piece(command[at : found.start()], found[0], varies))
        at = found.end()
    return tuple(listed)


def rest(command: str) -> str:
    """The text after the last piece of a command."""
    ends = [found.end() for found in _PIECE.finditer(command)]
    return command[ends[-1] :] if ends else command


def variety(piece: str) -> Varies | None:
    """What kind of piece it looks like; None for a plain word."""
    if _ADDRESS.fullmatch(piece) or _DOMAIN.fullmatch(piece):
        return Varies.HOST
    if _VERSION.fullmatch(piece):
        return Varies.VERSION
    if _NUMBER.fullmatch(piece):
        return Varies.NUMBER
    return Varies.ID if _ID.fullmatch(piece) or _TEMPORARY.fullmatch(piece) else None


def shape(command: str, words: Container[str] = ()) -> str:
    """The normal form of a command: pieces that may differ become their kind, spaces one space.

    An own path is one piece, whatever its depth; `words` may differ as well.
    """
    text = without_folders(command)
    parts = [p.before + (_kind(p, words) or p.text) for p in pieces(text)]
    whole = "".join(parts) + rest(text)
    return " ".join(whole.replace(f"{ROOT}/{Varies.PATH}", Varies.PATH).split())


def _kind(piece: Piece, words: Container[str]) -> str | None:
    if piece.varies is not None:
        return piece.varies.value
    return Varies.WORD.value if piece.text in words else None


def things(command: str) -> frozenset[str]:
    """The plain words of a command that may name a thing: no programs, verbs, usual words."""
    found: set[str] = set()
    listed = pieces(command)
    for program, *arguments in _simple_commands(command):
        operands = [a for a in arguments if not a[0].startswith("-") or "=" in a[0]]
        if program[0].rpartition("/")[2] in _WITH_VERBS:
            verb = next((a for a in operands if _VERB.fullmatch(a[0])), None)
            operands = [a for a in operands if a != verb]
        spans = sorted((start, start + len(text)) for text, start in operands)
        at = 0
        for piece in listed:
            start = at + len(piece.before)
            at = start + len(piece.text)
            if piece.varies is None and _within(spans, start) and _may_name(piece.text):
                found.add(piece.text)
    return frozenset(found)


def program_of(command: str) -> str:
    """The first program of a command, without its folder and whatever stands before it."""
    first = next(_simple_commands(command), None)
    return "" if first is None else first[0][0].rpartition("/")[2]


def _may_name(word: str) -> bool:
    return len(word) > 1 and not word.startswith("-") and word.casefold() not in _USUAL


def exchange(text: str, given: dict[str, str]) -> str:
    """The text with each piece that is a key of `given` replaced by its value there."""
    return _PIECE.sub(lambda found: given.get(found[0], found[0]), text)


def texts(text: str) -> tuple[str, ...]:
    """The pieces of a text, without what surrounds them."""
    return tuple(_PIECE.findall(text))


def _within(spans: list[tuple[int, int]], at: int) -> bool:
    """Whether a position lies in one of the spans, which are sorted."""
    nearest = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return nearest >= 0 and at < spans[nearest][1]


def _names(command: str) -> list[tuple[int, int]]:
    """The spans of the names of packages and units."""
    spans: list[tuple[int, int]] = []
    for words in _simple_commands(command):
        program, *arguments = words
        named = _words_of_name(program[0].rpartition("/")[2], arguments)
        spans += [(start, start + len(text)) for text, start in named]
    return spans


_Words = list[tuple[str, int]]
"""The words of a command with their positions."""


def _words_of_name(program: str, arguments: _Words) -> _Words:
    plain = [argument for argument in arguments if not argument[0].startswith("-")]
    if not plain:
        return []
    verb = plain[0][0]
    if program in _PACKAGES and verb in _PACKAGE_VERBS:
        return plain[1:]
    if program == "systemctl" and verb in _UNIT_VERBS:
        return plain[1:]
    if program in _FINDERS:
        return plain
    if program == "command":
        looks = any(argument[0] in {"-v", "-V"} for argument in arguments)
        return plain if looks else []
    return plain[:1] if program == "service" else []


def _simple_commands(command: str) -> Iterator[_Words]:
    """The commands of a text, roughly: each from its program on, without any wrapper before it."""
    words: _Words = []
    for found in _WORD.finditer(command):
        if found["end"] is None:
            word = found[0]
            before = word in _BEFORE_A_PROGRAM or _ASSIGNED.match(word) or word.startswith("-")
            if words or not before:
                words.append((word, found.start()))
        else:
            if words:
                yield words
            words = []
    if words:
        yield words
