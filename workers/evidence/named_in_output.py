"""What outputs, journals and logs name where they say that something is wrong; pure."""

import re
from collections.abc import Iterator

from workers.evidence.things import Thing, ThingKind, thing

_TEXT = 65_536
"""How many characters of an output, from its end, are read."""


def things_in_output(text: str) -> tuple[Thing, ...]:
    """What an output, a journal or a log names where it says that something is wrong."""
    plain = text[-_TEXT:].replace("\u2018", "'").replace("\u2019", "'")
    found: list[Thing | None] = []
    for kind, patterns in _SAID.items():
        for pattern in patterns:
            for match in pattern.finditer(plain):
                found += [thing(kind, name) for name in match.groups() if name]
    found += [thing(ThingKind.PATH, name) for name in _paths_in(plain)]
    return tuple(dict.fromkeys(each for each in found if each is not None))


_UNIT = r"([A-Za-z0-9][\w@:.\\-]*\.(?:service|socket|timer|mount|path|target))\b"
_NAME = r"['\"]?([\w.+:-]+)['\"]?"

_SAID: dict[ThingKind, tuple[re.Pattern[str], ...]] = {
    kind: tuple(re.compile(pattern, re.ASCII | re.MULTILINE) for pattern in patterns)
    for kind, patterns in {
        ThingKind.UNIT: (
            rf"(?:Job for|job for|Unit|unit|Dependency failed for|Failed to \w+) {_UNIT}",
            rf"^{_UNIT} is not active",
            rf"\bsystemctl status {_UNIT}",
        ),
        ThingKind.PORT: (
            r"\b[Pp]ort[ :=]{1,2}(\d{1,5})\b",
            r"(?:\b(?:\d{1,3}\.){3}\d{1,3}|\blocalhost|\]|\*|::|address):(\d{2,5})\b",
            r"(?:EADDRINUSE|bind|listen)\b[^\n]*?[: ](\d{2,5})\b",
        ),
        ThingKind.LOG: (
            r"(?:^|[\s'\"(=])(/[\w./+@%-]*(?:\.log|_log|/log/[\w.+@%-]+))(?=$|[\s'\").,;:])",
            r"(?:[Ss]ee|log(?:s|file)?(?: is| are)? (?:in|at|to)?:?) ['\"]?(/[\w./+@%-]+log)\b",
        ),
        ThingKind.PACKAGE: (
            r"Unable to locate package ([\w.+-]+)",
            r"Package '?([\w.+-]+)'? (?:has no installation|is not available|is held)",
            r"dpkg: error processing package ([\w.+:-]+)",
            r"(?:No match for argument:|No package) ([\w.+-]+)",
            r"^The following held packages will be changed:\n +([\w.+-]+)",
            r"^ +([\w.+-]+) : (?:Depends|Conflicts|Breaks|PreDepends):",
            r": (?:Depends|PreDepends): ([\w.+-]+)",
            r"^  ([\w.+-]+) \(no such package\)",
        ),
        ThingKind.HOST: (
            r"[Cc]ould not resolve host(?:name)?:? ['\"]?([\w.-]+)",
            r"(?:[Tt]emporary failure resolving|unable to resolve host(?: address)?) '?([\w.-]+)",
            r"lookup ([\w.-]+)(?: on \S+)?: ",
            r"(?:getaddrinfo|host not found|[Uu]nknown host):?(?: E\w+| in upstream)? \"?([\w.-]+)",
            r"^\S*?:? ?([\w.-]+): (?:Name or service not known|Temporary failure in name)",
            r"could not translate host name \"([\w.-]+)\"",
        ),
        ThingKind.ACCOUNT: (
            r"(?:unknown|invalid|no such) user:? (?!ID)['\"]?([\w.-]+)",
            rf"\b[Uu]ser {_NAME} does not exist",
            r"(?:^|[ '\"])([\w.-]+)['\"]?: no such user",
            r"getpwnam\(\"([\w.-]+)\"\)",
        ),
        ThingKind.GROUP: (
            rf"(?:unknown|invalid|no such) group:? {_NAME}",
            rf"\b[Gg]roup {_NAME} does not exist",
            r"invalid (?:user|group): '[\w.-]*:([\w.-]+)'",
            r"getgrnam\(\"([\w.-]+)\"\)",
        ),
    }.items()
}

PATH_TROUBLE = re.compile(
    r"No such file|Permission denied|Read-only file system|No space left|Not a directory"
    r"|Is a directory|not permitted|Too many levels|bad interpreter|Text file busy|File exists"
    r"|[Cc]annot (?:open|access|create|stat|write|read)|can't (?:open|cd|create)"
    r"|nonexistent|Failed to (?:open|locate|load)|[Ss]ee |quota"
)
_QUOTED = re.compile(r"['\"](/[^'\"\n]+|[\w.+@%-]+(?:/[\w.+@%-]+)*)['\"]")
_PLAIN = re.compile(r"(?<![\w.:/])(/[\w.+@%,~/-]*[\w+@%~-])")
_BEFORE_TROUBLE = re.compile(
    r"(?:^|[\s:])((?:\.{1,2}/)?[\w.+@%-]+(?:/[\w.+@%-]+)*):"
    r" (?:No such file|Permission denied|Not a directory|Is a directory|cannot open)"
)
_TRACED = re.compile(r"^\s*(?:File \"|at )")
_PROGRAM_BEFORE = re.compile(r"^[\w.+/-]+: (?:\d+: |line \d+: )?(?=\S)")


def _paths_in(text: str) -> Iterator[str]:
    """The paths that stand in lines that say what is wrong with a path."""
    for line in text.splitlines():
        if not PATH_TROUBLE.search(line) or _TRACED.match(line):
            continue
        said = _PROGRAM_BEFORE.sub("", line, count=1)
        yield from _QUOTED.findall(said)
        yield from _PLAIN.findall(_QUOTED.sub("", said))
        yield from (name for name in _BEFORE_TROUBLE.findall(said) if name != "interpreter")
