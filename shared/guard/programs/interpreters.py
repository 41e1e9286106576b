"""Where a shell or an interpreter takes its program from, by its arguments."""

from dataclasses import dataclass
from typing import Literal as Choice

from shared.guard.words import Hole, Word

_TAKES_NEXT = frozenset({"rcfile", "init-file"})


@dataclass(frozen=True, slots=True)
class Program:
    """`text`: the program itself; `file`: the path of it; `input`: standard input.

    `name` is its `$0`, `arguments` are its `$1` and so on. `startup` is a file that is read before.
    """

    source: Choice["text", "file", "input"]
    word: Word | None = None
    arguments: tuple[Word, ...] = ()
    name: Word | None = None
    startup: Word | None = None


def shell_program(words: tuple[Word, ...]) -> Program:
    """What `sh WORDS…` runs."""
    at = 0
    text = from_input = False
    startup = None
    while at < len(words):
        prefix = words[at].prefix
        if words[at].literal in ("-", "--"):
            at += 1
            break
        if prefix.startswith("--"):
            takes_next = prefix[2:] in _TAKES_NEXT
            startup = words[at + 1] if takes_next and at + 1 < len(words) else startup
            at += 2 if takes_next else 1
            continue
        if prefix[:1] not in ("-", "+") or not prefix[1:]:
            break
        text = text or (prefix[0] == "-" and "c" in prefix)
        from_input = from_input or (prefix[0] == "-" and "s" in prefix)
        at += 1 + sum(letter in "oO" for letter in prefix)
    rest = words[at:]
    if text:
        name = rest[1] if len(rest) > 1 else None
        return Program("text", rest[0] if rest else None, rest[2:], name, startup)
    if from_input or not rest:
        return Program("input", None, rest, None, startup)
    if rest[0].literal in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return Program("input", None, rest[1:], None, startup)
    return Program("file", rest[0], rest[1:], rest[0], startup)


def script_program(words: tuple[Word, ...]) -> Program:
    """What an interpreter such as `python WORDS…` runs, its inline programs aside."""
    for word in words:
        if word.literal in ("-", "/dev/stdin"):
            return Program("input")
        first_unknown = bool(word.pieces) and isinstance(word.pieces[0], Hole)
        if first_unknown or not word.prefix.startswith("-"):
            return Program("file", word)
        if word.prefix.startswith("-") and word.prefix[1:2] in ("m", "c", "e", "V", "v", "h"):
            return Program("text")
        if word.prefix.startswith("--"):
            return Program("text")
    return Program("input")
