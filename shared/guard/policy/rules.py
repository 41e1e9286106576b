"""Rules about argv: what a `forbidden_commands` entry forbids (X17)."""

from dataclasses import dataclass
from typing import Protocol

from shared.guard.globs import Match, Pattern
from shared.guard.paths import START, Places, canonical
from shared.guard.programs.options import Arguments, Flag, Operand, arguments, operand_text
from shared.guard.words import HOME, Run, Word, literal_word

SHELLS = frozenset(
    {"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "rbash", "eval", "source", "."}
)


_SCRIPTS = frozenset({"sh", "bash", "py", "pl", "rb", "js", "php", "bat", "exe"})


def names_of(program: str) -> tuple[str, ...]:
    """The names under which rules know a program: `mkfs.ext4` is an `mkfs`, `mkfs.sh` is not."""
    family, _, suffix = program.partition(".")
    if not family or not suffix or suffix in _SCRIPTS:
        return (program,)
    return (program, family)


class Rule(Protocol):
    """One entry, ready to be compared with runs."""

    @property
    def entry(self) -> str:
        """The entry as the operator wrote it."""

    @property
    def programs(self) -> frozenset[str] | None:
        """The only programs that it can match, or None for any."""

    def match(self, run: Run, given: Arguments) -> Match:
        """Whether the rule forbids the run; `given` holds its sorted arguments."""


class PathPattern:
    """A place in the file system, by whatever path it is named.

    `*` is a part of one name; at the end, `PLACE/*` is the place and all that is below it. An
    unknown directory with a known name in it is taken as an ordinary one.
    """

    def __init__(self, text: str) -> None:
        home = text == "~" or text.startswith("~/")
        shown = HOME + text[1:] if home else text
        parent, slash, last = shown.rpartition("/")
        whole = slash and last == "*"
        plain = (
            canonical(literal_word(parent or "/") if whole else literal_word(shown), START).literal
            or shown
        )
        self._place = Pattern(plain, path=True)
        self._below = Pattern(f"{plain}/*") if whole and parent else None

    def match(self, word: Word, directories: tuple[Word, ...], places: Places) -> Match:
        """Whether the word names that place; a directory that is less likely gives MAYBE."""
        best = Match.NO
        for index, directory in enumerate(directories):
            found = self._match_one(places.of(word, directory))
            best = max(best, min(found, Match.MAYBE) if index else found)
        return best

    def _match_one(self, paths: tuple[Word, ...]) -> Match:
        found = max(map(self._place.match, paths))
        if self._below is not None and not paths[0].unknown:
            found = max(found, *map(self._below.match, paths))
        return found


class OperandPattern:
    """What a rule asks of one operand: a text, a path, or `key=` with a path behind it."""

    def __init__(self, program: str, text: str) -> None:
        self._program = program
        self._text = Pattern(operand_text(program, text))
        key, equals, value = text.partition("=")
        keyed = bool(equals) and key.isidentifier() and value.startswith(("/", "~"))
        self._key = f"{key}=" if keyed else ""
        path = value if keyed else text
        is_path = path.startswith(("/", "~")) or path in (".", "..")
        is_path = is_path or path.startswith(("./", "../"))
        self._path = PathPattern(path) if is_path else None
        self.verb = not is_path and not text.startswith("*")
        """True when it has to stand right behind what is before it, as sub-commands do."""

    def match(self, word: Word, directories: tuple[Word, ...], places: Places) -> Match:
        """Whether the operand is, or may be, the one meant."""
        if self._path is not None and not self._key:
            return self._path.match(word, directories, places)
        literal = word.literal
        if literal is None:
            found = self._text.match(word)
        else:
            fits = self._text.holds(operand_text(self._program, literal))
            found = Match.YES if fits else Match.NO
        if not self._key:
            return found
        if self._path is not None and word.prefix.startswith(self._key):
            path = word.after(len(self._key))
            found = max(found, self._path.match(path, directories, places))
        return found


@dataclass(frozen=True, slots=True)
class CommandRule:
    """A program with all of these options and operands, whatever else it is given."""

    entry: str
    program: Pattern
    flags: tuple[Flag, ...]
    operands: tuple[OperandPattern, ...]

    @property
    def programs(self) -> frozenset[str] | None:
        """The program's name when it is not a pattern."""
        name = self.program.text
        return None if any(sign in name for sign in "*?[") else frozenset({name})

    def match(self, run: Run, given: Arguments) -> Match:
        """Whether the run hits. A name covers its dotted forms: `mkfs` is `mkfs.ext4` too."""
        if not any(map(self.program.holds, names_of(run.program))):
            return Match.NO
        missing = [flag for flag in self.flags if not given.has(flag)]
        if not missing:
            return self._align(run, given, given.operands)
        if not given.loose:
            return Match.NO
        if any(word.splits for word in given.loose):
            return min(Match.MAYBE, self._align(run, given, given.operands))
        # an unknown word is the missing option or the operand, not both
        for loose in given.loose:
            rest = [operand for operand in given.operands if operand.word is not loose]
            if self._align(run, given, rest):
                return Match.MAYBE
        return Match.NO

    def _align(self, run: Run, given: Arguments, operands: list[Operand]) -> Match:
        """The best match of the rule's operands, in order, with those given."""
        reached = {0: Match.YES}  # how well the rule's operands so far fit, by next position
        for pattern in self.operands:
            following: dict[int, Match] = {}
            for start, so_far in reached.items():
                for end, found in self._fitting(pattern, run, given, operands[start:], start):
                    following[end] = max(following.get(end, Match.NO), min(so_far, found))
            reached = following
        return max(reached.values(), default=Match.NO)

    @staticmethod
    def _fitting(
        pattern: OperandPattern, run: Run, given: Arguments, operands: list[Operand], start: int
    ) -> list[tuple[int, Match]]:
        fitting = []
        for index, operand in enumerate(operands, start):
            found = pattern.match(operand.word, run.directories, given.places)
            if found:
                fitting.append((index if operand.word.splits else index + 1, found))
            if pattern.verb and not operand.after_option:
                break
        return fitting


@dataclass(frozen=True, slots=True)
class WriteRule:
    """`> PATH`: a file that nothing may write to, by a redirection or by a program."""

    entry: str
    path: PathPattern

    @property
    def programs(self) -> frozenset[str] | None:
        """Any program may write."""
        return None

    def match(self, run: Run, given: Arguments) -> Match:
        """Whether the run writes there."""
        found = (self.path.match(word, run.directories, given.places) for word in run.writes)
        return max(found, default=Match.NO)


@dataclass(frozen=True, slots=True)
class PipeRule:
    """`A | B`: a run that takes its input, or its program, from what another puts out."""

    entry: str
    first: CommandRule
    then: CommandRule

    @property
    def programs(self) -> frozenset[str] | None:
        """Those of the last command; `sh` stands for every shell."""
        return SHELLS if self._into_a_shell else self.then.programs

    @property
    def _into_a_shell(self) -> bool:
        return self.then.program.text == "sh"

    def match(self, run: Run, given: Arguments) -> Match:
        """Whether one of its feeders is the first command and the run is the second."""
        if not run.feeders:
            return Match.NO
        shell = self._into_a_shell and run.program in SHELLS
        hit = Match.YES if shell else self.then.match(run, given)
        return min(hit, max(map(self._feeds, run.feeders)))

    def _feeds(self, feeder: Run) -> Match:
        return self.first.match(feeder, arguments(feeder.program, feeder.argv[1:]))
