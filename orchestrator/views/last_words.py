"""The line of a program's output that says why it failed; pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

MOST = 300
"""Characters of the line; a program may write everything on one."""

_READ = 60
"""Lines of a stream, from its end, that are read."""

_SAYS_NOTHING = re.compile(
    r"\W*|Traceback \(most recent call last\):|(?:hint|note): .*|\[notice\].*|Aborting\.?"
    r"|See .*\bfor details\.?|See ['\"]?systemctl status.*|Check the logs?\b.*"
    r"|(?:Try|Run) ['\"`].*--help.*|(?:try|see|use) .*--help.*"
    r"|(?:make|gmake)(?:\[\d+\])?: \*\*\* .*Error \d+|npm (?:ERR!|error)\W*"
    r"|npm (?:ERR!|error) .*(?:complete log of this run|_logs/\S*|errno -?\d+)\W*"
    r"|(?:exit(?:ed)? (?:with )?(?:status|code)|Error:? code)\W*-?\d+\.?",
    re.IGNORECASE,
)
"""Lines from which nobody learns what is wrong."""

_WARNING = re.compile(r"W: |\W*(?:\w[\w.-]*: )?warn(?:ing)?\b", re.IGNORECASE)

_OF_THE_SYSTEM = re.compile(
    r"Permission denied|not permitted|No such file or directory|command not found|: not found$"
    r"|No space left|Read-only file system|Address already in use|Connection (?:refused|reset)"
    r"|Resource temporarily unavailable|Cannot allocate memory|Too many open files|File exists"
    r"|Could not resolve|No route to host|is unreachable|Device or resource busy|timed out"
    r"|Is a directory|Not a directory|held by process"
)
"""What the system told the program: the cause of what the program says after it."""

_PROGRAM = re.compile(r"\S[^:\s]*:")


def last_words(streams: Iterable[str]) -> str:
    """The line that says why, in the words of the program; empty if none of them has any.

    Of the first stream that says something it is the last line, warnings aside, unless the lines
    of the same program right before it name an error of the system: then that is the cause.
    """
    for stream in streams:
        lines = [line.rstrip() for line in stream.splitlines()[-_READ:]]
        telling = [line for line in lines if not _SAYS_NOTHING.fullmatch(line.strip())]
        errors = [line for line in telling if not _WARNING.match(line)]
        if telling:
            return _cause(errors or telling).strip()[:MOST]
    return ""


def said_in(row: Any) -> str:
    """The line of what the attempt in a row has written that says why it failed."""
    of_agent = row.body is not None  # its runner's own streams are for programs
    streams = (row.check_output, row.body.get("summary", "")) if of_agent else ()
    return last_words(streams or (row.stderr, row.check_output, row.stdout))


def _cause(lines: Sequence[str]) -> str:
    block = _last_block(lines)
    return next((each for each in reversed(block) if _OF_THE_SYSTEM.search(each)), _head(block))


def _head(block: Sequence[str]) -> str:
    """The last line that is not the continuation of another."""
    return next((each for each in reversed(block) if not each[0].isspace()), block[-1])


def _last_block(lines: Sequence[str]) -> Sequence[str]:
    """The lines at the end that begin with the same program's name, with their continuations."""
    names = [None if each[0].isspace() else _PROGRAM.match(each) for each in lines]
    last = next((n for n in range(len(lines) - 1, -1, -1) if not lines[n][0].isspace()), 0)
    found, first = names[last], last
    while found is not None and first > 0:
        before, name = lines[first - 1], names[first - 1]
        if not before[0].isspace() and (name is None or name[0] != found[0]):
            break
        first -= 1
    return lines[first:] if not lines[first][0].isspace() else lines[last:]
