"""What a policy allows for one program: a sub-command, its options, its operands (X17)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from shared.guard.paths import canonical
from shared.guard.policy.configure_kinds import is_copy_of
from shared.guard.policy.exact import mismatch
from shared.guard.policy.ground import Ground
from shared.guard.policy.misfit import (
    Misfit,
    MissingOption,
    OtherSubCommand,
    UnknownOption,
    WrongCount,
)
from shared.guard.policy.notation import NUMBER, Options, OptionSpec, Slot
from shared.guard.policy.operands import COMMAND, COPY, EXEC, REST, kind_of
from shared.guard.programs.interpreters import shell_program
from shared.guard.programs.numbers import never_negative, prints_ids
from shared.guard.words import Glob, Hole, Word, literal_word

_WITH_ALL_BELOW = frozenset({"-r", "-R", "-a", "--recursive", "--archive"})
_INTO_ITSELF = frozenset({"-T", "--no-target-directory"})


@dataclass(frozen=True)
class Allowance:
    """A program with a sub-command, and its allowed arguments.

    `before` holds the options allowed before the sub-command. `words`: an option is a whole word
    (`find -name`). `pairs` are operands `KEY=VALUE`, by key. `loose`: no option of the program does
    harm, so a word that may turn out to be one does not matter. `runs_code`: it runs code from its
    directory; `brings`: it puts files there whose content nobody has seen. `consumes`: the ways in
    which it may be given a secret, `input` or names of variables. `idle_input`: its standard input
    has to be empty; `asks_input`: to hold nothing but plain questions. `within` are the options
    from whose directory the operands behind them count.
    `arrives`: the last operand is where the others come to lie under their own names.
    `directories`: the words are those of `slots` in their order, options too, and it runs only
    there (`exact`).
    `elsewhere`: the kinds of its operands say where it may write.
    """

    run: tuple[str, ...]
    options: Options
    before: Options
    slots: tuple[Slot, ...]
    words: bool = False
    bundle: bool = False
    shell: bool = False
    loose: bool = False
    runs_code: bool = False
    brings: bool = False
    within: tuple[str, ...] = ()
    arrives: bool = False
    elsewhere: bool = False
    pairs: tuple[tuple[str, str], ...] = ()
    needs: tuple[str, ...] = ()
    needs_one: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    idle_input: bool = False
    asks_input: bool = False
    directories: tuple[str, ...] = ()
    reason: str = ""
    source: str = ""

    @cached_property
    def told(self) -> bytes:
        """All of it in one line: shipped ones, which are most, are told for many policies."""
        return f"{self!r}\n".encode()

    @property
    def name(self) -> str:
        """The program and its sub-command, as the policy names them."""
        return " ".join(self.run)

    @property
    def is_bare(self) -> bool:
        """True for a program without a sub-command and operands: it may only have options."""
        return len(self.run) == 1 and not (self.slots or self.pairs or self.directories)

    @property
    def runs_another(self) -> bool:
        """Whether the rest of its words is a command that is judged by itself."""
        return any(slot.kind == COMMAND for slot in self.slots)

    def compare(
        self, words: tuple[Word, ...], ground: Ground
    ) -> "tuple[tuple[Held, ...], Misfit | None]":
        """What each operand and value is held to be, and why the words are not allowed, if so."""
        if self.is_bare and words and not words[0].prefix.startswith("-"):
            return (), OtherSubCommand(str(words[0]))
        if self.directories:
            why = mismatch(self.run[1:], self.slots, self.directories, words, ground)
            return (), None if why is None else Misfit(why)
        fitting = _Fitting(self, ground)
        try:
            fitting.fit(words)
        except Misfit as misfit:
            return (), misfit
        return tuple(fitting.held), None

    def misfit(self, words: tuple[Word, ...], ground: Ground) -> "Misfit | None":
        """Why the words after the program's name are not allowed; None if they all are."""
        return self.compare(words, ground)[1]


@dataclass(frozen=True, slots=True)
class Held:
    """A word, and the kind of operand or value that an allowance takes it for."""

    kind: str
    word: Word


_WORDS = re.compile(r"(?=.*\|)[A-Za-z0-9|-]+")


class _Fitting:
    """One comparison of words with an allowance."""

    def __init__(self, allowance: Allowance, ground: Ground) -> None:
        self.held: list[Held] = []
        self._allowed = allowance
        self._ground = ground
        self._verbs = list(allowance.run[1:])
        self._operands: list[Word] = []
        self._from: list[tuple[Word, ...]] = []
        self._here = ground.directories
        self._given: set[str] = set()
        self._inner = False

    def fit(self, words: tuple[Word, ...]) -> None:
        """Raise Misfit for the first word that is not allowed."""
        if self._allowed.shell:
            words = self._without_program(words)
        elif self._allowed.bundle and words and not words[0].prefix.startswith("-"):
            words = (Word((literal_word("-").pieces[0], *words[0].pieces)), *words[1:])
        rest = iter(words)
        options = True
        for word in rest:
            if self._rest_is(REST):
                return self._finish()
            if options and word.literal == "--" and not self._allowed.words:
                options = False
            elif options and self._may_be_option(word):
                self._option(word, rest)
            elif self._rest_is(COMMAND):
                self._inner = True
                return self._finish()
            elif self._verbs:
                self._verb(word)
            else:
                self._operands.append(word)
                self._from.append(self._here)
        return self._finish()

    def _without_program(self, words: tuple[Word, ...]) -> tuple[Word, ...]:
        """A shell's words without its program, which is judged itself; a script is an operand."""
        program = shell_program(words)
        if program.source == "file":
            return words
        count = len(program.arguments) + (program.name is not None) + (program.word is not None)
        return words[: len(words) - count]

    def _rest_is(self, kind: str) -> bool:
        """True if the remaining operand is a separate command, or is for another program."""
        slots = self._allowed.slots
        at = len(self._operands)
        return not self._verbs and at < len(slots) and slots[at].kind == kind

    def _may_be_option(self, word: Word) -> bool:
        prefix = word.prefix
        if len(prefix) > 1 and prefix[0] in "-+":
            return prefix[0] == "-" or self._plus_options()
        if prefix and not word.splits:
            return self._allowed.words and self._listed_option(prefix) is not None
        first = word.pieces[0] if word.pieces else None
        uncertain = (
            word.splits or isinstance(first, Glob) or (isinstance(first, Hole) and not first.below)
        )
        if not uncertain or self._allowed.loose or self._options is None or prints_ids(word):
            return False
        if word.lacks_numbers and never_negative(word):
            return False
        if isinstance(first, Glob) and first.pattern[:1] not in ("*", "?", "["):
            return False
        raise Misfit(f"{word} may be an option at run time")

    @property
    def _options(self) -> Options:
        return self._allowed.before if self._verbs else self._allowed.options

    def _plus_options(self) -> bool:
        return any(name.startswith("+") for name in self._options or ())

    def _listed_option(self, name: str) -> OptionSpec | None:
        options = self._options
        return None if options is None else options.get(name)

    def _verb(self, word: Word) -> None:
        wanted = self._verbs.pop(0)
        if word.literal != wanted:
            raise OtherSubCommand(*self._matched[:-1], str(word))

    @property
    def _matched(self) -> tuple[str, ...]:
        """The sub-commands that were asked for so far."""
        return self._allowed.run[1 : len(self._allowed.run) - len(self._verbs)]

    def _option(self, word: Word, rest: Iterator[Word]) -> None:
        if self._options is None:
            return
        prefix = word.prefix
        if self._allowed.words:
            self._whole(word, prefix, rest)
        elif prefix.startswith("--"):
            self._long(word, prefix, rest)
        elif prefix[1:].isdecimal() and word.literal is not None and self._listed_option(NUMBER):
            return
        else:
            self._letters(word, prefix, rest)

    def _whole(self, word: Word, prefix: str, rest: Iterator[Word]) -> None:
        option = self._listed_option(prefix) if word.literal is not None else None
        name, equals, _ = prefix.partition("=")
        named = self._listed_option(name) if equals and option is None else None
        if named is not None and named.value and named.value != EXEC:
            self._value(name, named, word.after(len(name) + 1))
            self._given.add(name)
            return
        if option is None:
            raise self._misfit_of(word)
        if option.value == EXEC:
            self._skip_command(rest)
        elif option.value:
            self._value(prefix, option, next(rest, None))
        self._given.add(prefix)

    @staticmethod
    def _skip_command(rest: Iterator[Word]) -> None:
        before = ""
        for word in rest:
            text = word.literal or ""
            if text == ";" or (text == "+" and before == "{}"):
                return
            before = text
        raise Misfit("the command that it runs for each match has no end")

    def _long(self, word: Word, prefix: str, rest: Iterator[Word]) -> None:
        name, equals, _ = prefix.partition("=")
        option = self._listed_option(name)
        if option is None or (word.unknown and not equals):
            raise self._misfit_of(word)
        self._given.add(name)
        if equals:
            if not option.value:
                raise Misfit(f"{name} is given a value")
            self._value(name, option, word.after(len(name) + 1))
        elif option.value and not option.attached:
            self._value(name, option, next(rest, None))

    def _letters(self, word: Word, prefix: str, rest: Iterator[Word]) -> None:
        whole = self._listed_option(prefix)
        if whole is not None and word.literal is not None and not whole.value:
            self._given.add(prefix)
            return
        for index, letter in enumerate(prefix[1:], start=1):
            name = f"{prefix[0]}{letter}"
            option = self._listed_option(name)
            if option is None:
                raise self._misfit_of(word, name)
            self._given.add(name)
            if option.value:
                attached = word.after(index + 1)
                if attached.pieces and str(attached):
                    self._value(name, option, attached)
                elif not option.attached:
                    self._value(name, option, next(rest, None))
                return
        if word.literal is None:
            raise Misfit(f"{word} may be another option at run time")

    def _misfit_of(self, word: Word, name: str = "") -> Misfit:
        shown = f"{word}" if not name or str(word) == name else f"{name} (in {word})"
        name_of = self._allowed.run[0] if self._verbs else self._allowed.name
        return UnknownOption(f"the option {shown} is not among those allowed for `{name_of}`")

    def _value(self, name: str, option: OptionSpec, value: Word | None) -> None:
        if value is None:
            raise Misfit(f"{name} has no value")
        if value.splits:
            raise Misfit(f"the value of {name} may become several words: {value}")
        self._hold(option.value, value, f"the value of {name}")
        if name in self._allowed.within:
            self._here = tuple(canonical(value, at) for at in self._here)

    def _hold(
        self, kind: str, word: Word, what: str, directories: tuple[Word, ...] | None = None
    ) -> None:
        holds = kind_of(kind)
        if holds is None:
            raise Misfit(f"{what}: the policy names an unknown kind, {kind}")
        ground = self._ground
        if directories is not None and directories is not ground.directories:
            ground = replace(ground, directories=directories)
        is_id = kind == "name" and prints_ids(word)
        if not is_id and (why := holds(word, ground)):
            raise Misfit(why if why.startswith(what) else f"{what}: {why}")
        self.held.append(Held(kind, word))

    def _finish(self) -> None:
        if self._verbs:
            raise OtherSubCommand(*self._matched)
        for need in self._allowed.needs:
            if need not in self._given:
                raise MissingOption(f"without {need} it does more than is allowed")
        if self._allowed.needs_one and not self._given & set(self._allowed.needs_one):
            wanted = ", ".join(self._allowed.needs_one)
            raise MissingOption(f"without one of {wanted} it does more than is allowed")
        if self._allowed.pairs:
            self._fit_pairs()
        else:
            self._fit_slots()

    def _asks_for_another(self, kind: str, operand: Word) -> bool:
        """Whether the first operand is one of a few words, as sub-commands are, and another."""
        holds = kind_of(kind) if _WORDS.fullmatch(kind) else None
        return holds is not None and holds(operand, self._ground) is not None

    def _fit_pairs(self) -> None:
        kinds = dict(self._allowed.pairs)
        for operand in self._operands:
            key, equals, _ = operand.prefix.partition("=")
            if not equals or key not in kinds:
                raise Misfit(
                    f"{operand} is not among the operands allowed for `{self._allowed.name}`"
                )
            self._hold(kinds[key], operand.after(len(key) + 1), key)

    def _fit_slots(self) -> None:
        slots = [slot for slot in self._allowed.slots if slot.kind not in (COMMAND, REST)]
        if not self._inner and any(slot.kind == COMMAND for slot in self._allowed.slots):
            raise WrongCount(f"`{self._allowed.name}` is given no command")
        needed = sum(slot.count in ("1", "+") for slot in slots)
        spare = len(self._operands) - needed
        if spare < 0:
            raise WrongCount(f"`{self._allowed.name}` is given too few operands")
        # numbers that fall apart in the last slot are more operands of the same kind
        last = len(slots) - 1 if slots and slots[-1].count in "*+" else len(self._operands)
        several = any(
            operand.splits and not (at >= last and operand.lacks_numbers)
            for at, operand in enumerate(self._operands)
        )
        if several and len({slot.kind for slot in slots}) > 1:
            raise Misfit("a word may become several")
        waiting = iter(zip(self._operands, self._from, strict=True))
        before: Word | None = None
        for slot in slots:
            taken = {"1": 1, "?": min(1, spare), "*": spare, "+": 1 + spare}[slot.count]
            spare -= taken - (slot.count in ("1", "+"))
            for _ in range(taken):
                operand, here = next(waiting)
                if slot is slots[0] and taken == 1 and self._asks_for_another(slot.kind, operand):
                    raise OtherSubCommand(*self._matched, str(operand))
                self._hold(slot.kind, operand, f"{operand}", here)
                if slot.kind == COPY and (before is None or not is_copy_of(operand, before)):
                    raise Misfit(f"{operand} is not beside what it copies, under its name")
                before = operand
        extra = next(waiting, None)
        if extra is not None:
            raise WrongCount(f"{extra[0]} is one operand too many for `{self._allowed.name}`")
        if self._allowed.arrives and self._operands:
            self._fit_arrivals()

    def _fit_arrivals(self) -> None:
        """Names that a copy brings may be none that steers a program, whatever they are there."""
        *sources, target = self._operands
        whole = bool(self._given & _WITH_ALL_BELOW)
        merged = whole and bool(self._given & _INTO_ITSELF)
        for source in sources:
            contents = merged or (self._allowed.run[0] == "rsync" and str(source).endswith("/"))
            told = self._ground.territory.no_arrival(
                source, target, self._ground.directories, contents=contents
            )
            if told:
                raise Misfit(f"{target}: {told}")
