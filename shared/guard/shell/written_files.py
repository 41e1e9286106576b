"""Files that a command text writes and may run later."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shared.guard.findings import Written
from shared.guard.paths import canonical
from shared.guard.programs.inline_code import option_values
from shared.guard.words import Word, join, literal_word

_OUTPUT_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sort": ("o", ("output",)),
    "curl": ("o", ("output",)),
    "wget": ("O", ("output-document",)),
    "pv": ("o", ("output",)),
    "git": ("", ("output",)),
    "gcc": ("o", ()),
    "cp": ("t", ("target-directory",)),
    "mv": ("t", ("target-directory",)),
    "ln": ("t", ("target-directory",)),
    "install": ("t", ("target-directory",)),
}
_NO_FOLDER = re.compile(r"-[a-zA-Z]*T[a-zA-Z]*|--no-target-directory")
_WRITE_ALL = frozenset({"tee", "shred", "badblocks", "sponge"})
_WRITE_LAST = frozenset({"cp", "mv", "ln", "install", "rsync", "scp"})
_COPY = frozenset({"cp", "mv", "ln", "install"})
_WRITE_BUT_FIRST = frozenset({"ddrescue", "dcfldd", "dd_rescue"})
_TRUNCATE_VALUE = re.compile(r"-[co]*[sr]|--(?:s[a-z]*|r[a-z]*)")
_SED_OPTION = re.compile(r"-.")
_SED_SCRIPT = re.compile(
    r"-[nErsuz]*[ef](?P<short>.*)|--(?:e[a-z]*|fi[a-z]*)(?:=(?P<long>.*))?", re.DOTALL
)
_SED_IN_PLACE = re.compile(r"-[nErsuz]*i|--i")
_SED_LENGTH = re.compile(r"-[nErsuz]*l|--line-length")
_PREDICATES_THAT_WRITE = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})


@dataclass(frozen=True, slots=True)
class File:
    """What a file may hold: a text, or what another file holds."""

    content: Word
    copy_of: Word | None = None


class Files:
    """The files written so far; each may have several contents, of which any may be the last."""

    def __init__(self) -> None:
        self._known: dict[str, list[File]] = {}
        self._commands: dict[str, list[File]] = {}
        self._ran: set[str] = set()
        self._late: set[str] = set()
        self.written: list[Written] = []
        """Every write, in its order."""

    def write(self, path: Word, directory: Word, file: File, *, append: bool = False) -> None:
        """A file is written."""
        name = canonical(path, directory).literal
        if name is None:
            return
        self.written.append(Written(name, file.content, append))
        before = self._known.setdefault(name, [])
        if append and before and file.copy_of is None:
            file = File(join((before[-1].content, file.content), ""))
        before.append(file)
        if name in self._ran:
            self._late.add(name)
        place, _, program = name.rpartition("/")
        if place.endswith("bin"):
            self._commands.setdefault(program, []).append(file)

    def ran(self, path: Word, directory: Word) -> None:
        """A file is run; should it be written later, it may be the other way round."""
        name = canonical(path, directory).literal
        if name is not None:
            self._ran.add(name)

    def run_before_written(self) -> list[str]:
        """Files that were run, at a time when this text had not yet written them."""
        return sorted(self._late)

    def run_as(self, program: Word, directory: Word) -> list[File]:
        """What a program may be, given by its path or found on PATH, that this text has written."""
        name = program.literal
        if name is None or "/" in name:
            return self.at(program, directory)
        return self._commands.get(name, [])

    def at(self, path: Word, directory: Word) -> list[File]:
        """Everything that the file may hold; empty if this text has not written it."""
        name = canonical(path, directory).literal
        return self._known.get(name, []) if name is not None else []


def operands(words: tuple[Word, ...]) -> list[Word]:
    """The words that are not options."""
    return [word for word in words if not word.prefix.startswith("-") or word.literal == "-"]


def files_of_dd(words: Iterable[Word], key: str = "of=") -> list[Word]:
    """The files that `dd` writes; with the key `if=`, those that it reads."""
    return [word.after(len(key)) for word in words if word.prefix.startswith(key)]


def output_files(program: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The files that a program opens for writing, as far as its arguments tell."""
    found = list(option_values(words, *_OUTPUT_OPTIONS.get(program, ("", ()))))
    plain = operands(words)
    if program in _WRITE_ALL:
        found += plain
    elif program == "truncate":
        found += _truncated(words)
    elif program == "sed" and _in_place(words):
        found += _edited(words)
    elif program in _WRITE_LAST:
        found += plain[-1:]
    elif program in _WRITE_BUT_FIRST:
        found += plain[1:]
    elif program == "dd":
        found += files_of_dd(plain)
    elif program == "find":
        found += [
            words[i + 1] for i, w in enumerate(words[:-1]) if w.literal in _PREDICATES_THAT_WRITE
        ]
    return tuple(found)


def _truncated(words: tuple[Word, ...]) -> list[Word]:
    """The files that `truncate` changes: no size is one of them, and no file to take it from."""
    if any(word.splits for word in words):
        return operands(words)
    rest = iter(words)
    files: list[Word] = []
    for word in rest:
        if word.prefix == "--":
            return [*files, *rest]
        if word.literal is not None and _TRUNCATE_VALUE.fullmatch(word.literal):
            next(rest, None)
        elif not word.prefix.startswith("-"):
            files.append(word)
    return files


def _in_place(words: tuple[Word, ...]) -> bool:
    return any(_SED_IN_PLACE.match(word.prefix) for word in words)


def _edited(words: tuple[Word, ...]) -> list[Word]:
    """The files that `sed -i` changes: its script is none of them, even if it begins with `/`."""
    if any(word.splits for word in words):
        return operands(words)
    files: list[Word] = []
    scripted = options_ended = False
    rest = iter(words)
    for word in rest:
        prefix = word.prefix
        if prefix == "--" and not options_ended:
            options_ended = True
        elif options_ended or not _SED_OPTION.match(prefix):
            files.append(word)
        elif given := _SED_SCRIPT.fullmatch(prefix):
            scripted = True
            if word.literal is not None and not given["short"] and given["long"] is None:
                next(rest, None)
        elif _SED_LENGTH.fullmatch(prefix):
            next(rest, None)
    return files if scripted else files[1:]


def copies(program: str, words: tuple[Word, ...]) -> list[tuple[Word, Word]]:
    """(source, copy) pairs that cp, mv, ln and install make."""
    *from_where, target = operands(words) or [literal_word("")]
    if program not in _COPY:
        return []
    pairs = []
    for source in from_where:
        pairs.append((source, target))
        if source.literal is not None and not any(map(_NO_FOLDER.fullmatch, map(str, words))):
            name = literal_word(source.literal.rpartition("/")[2])
            pairs.append((source, join((target, name), "/")))
    return pairs


def downloads(program: str, words: tuple[Word, ...]) -> list[Word]:
    """The names that wget and curl give to downloads, where no option names one."""
    if program not in ("wget", "curl"):
        return []
    names = [str(word).partition("?")[0].rpartition("/")[2] for word in operands(words)]
    return [literal_word(name) for name in names if name]
