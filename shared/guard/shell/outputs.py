"""What programs print, where all of it is known beforehand: echo, printf, cat."""

import re

from shared.guard.programs.numbers import prints_numbers, prints_one
from shared.guard.shell.parse import Dialect
from shared.guard.shell.quoting import echo_escapes, printf_escapes
from shared.guard.words import Hole, Text, Word, join, literal_word, number_word

_PRINT_A_NAME = frozenset({"date", "hostname", "nproc", "id", "whoami", "uname", "arch", "getconf"})
"""Programs that print a name or a number, never a path out of a directory."""

_CONVERSION = re.compile(r"%(?:(%)|([sbdi])|(.))", re.DOTALL)


def output(
    program: str, words: tuple[Word, ...], given: Word | None, dialect: Dialect
) -> Word | None:
    """The standard output of a run, or None when it is not known; `given` is its input."""
    if prints_numbers(program, words, given):
        one = program in _PRINT_A_NAME or prints_one(program, words)
        one = one or (given is not None and given.filled and not given.splits)
        return number_word(several=not one)
    match program:
        case "echo":
            return _echo(words, dialect)
        case "printf":
            return _printf(words)
        case "cat" | "tee" if all(
            word.literal in ("-", "-u") or program == "tee" for word in words
        ):
            return given
        case "mktemp":
            return _mktemp(words)
        case "git" if _names_a_revision(words):
            return Word((Hole(below=True),))
        case _ if program in _PRINT_A_NAME:
            return Word((Hole(below=True),))
        case "true" | ":" | "cd" | "export" | "set" | "test" | "[" | "sleep" | "exit":
            return literal_word("")
        case _:
            return None


def _names_a_revision(words: tuple[Word, ...]) -> bool:
    """`git rev-parse --short HEAD`, `git describe --tags`: one name, without blanks and `..`."""
    texts = [word.literal or "" for word in words]
    plain = [text for text in texts if not text.startswith("-")]
    options = {text for text in texts if text.startswith("-")}
    return (plain in (["rev-parse", "HEAD"], ["describe"])) and options <= {
        *("--short", "--verify", "--tags", "--always", "--abbrev=0", "--long"),
    }


def _mktemp(words: tuple[Word, ...]) -> Word | None:
    operands = [word for word in words if not word.prefix.startswith("-")]
    if any(word.prefix.startswith(("-p", "-t", "--tmpdir", "--suffix")) for word in words):
        return None
    template = operands[0].literal if operands else "/tmp/tmp.X"  # noqa: S108 - only its shape
    if template is None:
        return None
    return Word((Text(template.rstrip("X")), Hole(below=True)))


def _echo(words: tuple[Word, ...], dialect: Dialect) -> Word | None:
    escapes = False
    newline = Text("\n")
    while words and (option := words[0].literal) and re.fullmatch("-[neE]+", option):
        if dialect is Dialect.POSIX and option != "-n":
            return None  # some shells print it
        escapes = escapes or "e" in option
        if "n" in option:
            newline = Text("")
        words = words[1:]
    if any("\\" in piece.value for w in words for piece in w.pieces if isinstance(piece, Text)):
        if dialect is Dialect.POSIX:
            return None  # some shells decode it
        if escapes:
            return _decode(words, newline)
    return Word((*join(words).pieces, newline))


def _decode(words: tuple[Word, ...], newline: Text) -> Word | None:
    literal = join(words).literal
    text = None if literal is None else echo_escapes(literal)
    return None if text is None else literal_word(text + newline.value)


def _printf(words: tuple[Word, ...]) -> Word | None:
    if words and words[0].literal == "--":
        words = words[1:]
    if not words or words[0].literal is None or words[0].literal.startswith("-"):
        return None
    given = [word.literal for word in words[1:]]
    texts = [text for text in given if text is not None]
    if len(texts) != len(given):
        return None
    return _format(words[0].literal, texts)


def _format(form: str, given: list[str]) -> Word | None:
    out: list[str] = []
    while True:
        used = 0
        position = 0
        for found in _CONVERSION.finditer(form):
            percent, kind, other = found.groups()
            plain = printf_escapes(form[position : found.start()])
            if plain is None or other:
                return None
            position = found.end()
            value = "%" if percent else (given[used] if used < len(given) else "")
            if kind == "b" or (kind in ("d", "i") and not value.isdecimal()):
                return None
            used += not percent
            out += [plain, value]
        plain = printf_escapes(form[position:])
        if plain is None:
            return None
        out.append(plain)
        given = given[used:]
        if not given or not used:
            return literal_word("".join(out))
