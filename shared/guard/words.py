"""Programs with their words as a host would see them; unknown parts stay unknown."""

import re
from dataclasses import dataclass, field, replace

HOME = "\ue000"
"""Stands for the unknown home directory inside texts; a command that holds it is never read."""

"""The prefix of variables that hold secrets; the rest is the name of the secret."""

_WILD = re.compile(r"[*?\[]")
_NUMBERS = re.compile(r"[-+0-9 \t\n]*")


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that are known. Unquoted ones may still be matched against file names."""

    value: str
    quoted: bool = True


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern that stands for the file names it will match."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Hole:
    """Text that is known only when the command runs.

    `split`: it may turn into any number of words. `below`: it names something beneath the
    directory before it, so it holds no `..`. `makers`: the commands whose output it is. `content`:
    the text of the file that it names, where that is known. `secret`: the variable of a secret
    whose value, or a part of it, this is. `number`: it holds nothing but numbers.
    """

    split: bool = False
    below: bool = False
    makers: tuple["Run", ...] = ()
    content: "Word | None" = None
    secret: str = ""
    number: bool = False


Piece = Text | Glob | Hole


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its pieces, in order.

    `literal` is the exact text, or None when any of it is unknown; `prefix` is the known text at
    its beginning. Both are asked for far more often than words are made.
    """

    pieces: tuple[Piece, ...]
    literal: str | None = field(init=False, repr=False, compare=False)
    prefix: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what is known of it."""
        pieces = self.pieces
        if len(pieces) == 1 and isinstance(pieces[0], Text):
            prefix, known = pieces[0].value, True
        else:
            texts: list[str] = []
            for piece in pieces:
                if not isinstance(piece, Text):
                    break
                texts.append(piece.value)
            prefix, known = "".join(texts), len(texts) == len(pieces)
        object.__setattr__(self, "prefix", prefix)
        object.__setattr__(self, "literal", prefix if known else None)

    @property
    def unknown(self) -> bool:
        """True when part of it is known only at run time, file names aside."""
        return self.literal is None and any(isinstance(piece, Hole) for piece in self.pieces)

    @property
    def numeric(self) -> bool:
        """True when it can hold nothing but numbers: no shell finds code in it."""
        return all(
            piece.number if isinstance(piece, Hole) else _NUMBERS.fullmatch(_known_text(piece))
            for piece in self.pieces
        )

    @property
    def lacks_numbers(self) -> bool:
        """True when nothing but numbers is unknown in it, and some are."""
        holes = [piece for piece in self.pieces if isinstance(piece, Hole)]
        return bool(holes) and all(hole.number and not hole.secret for hole in holes)

    @property
    def filled(self) -> bool:
        """True when it is certainly not empty."""
        return any(
            piece.below if isinstance(piece, Hole) else bool(_known_text(piece).strip())
            for piece in self.pieces
        )

    @property
    def splits(self) -> bool:
        """True when it may turn into several words, or none."""
        return self.literal is None and any(
            isinstance(piece, Hole) and piece.split for piece in self.pieces
        )

    @property
    def makers(self) -> tuple["Run", ...]:
        """The commands whose output is part of it."""
        if self.literal is not None:
            return ()
        return tuple(m for piece in self.pieces if isinstance(piece, Hole) for m in piece.makers)

    def __str__(self) -> str:
        """The word for a message: unknown parts are shown as an ellipsis."""
        shown = self.with_placeholder("…") if self.literal is None else self.literal
        return shown.replace(HOME, "~")

    def with_placeholder(self, placeholder: str) -> str:
        """The text with `placeholder` in the place of every unknown part."""
        if self.literal is not None:
            return self.literal
        shown = []
        for piece in self.pieces:
            match piece:
                case Text(value):
                    shown.append(value)
                case Glob(pattern):
                    shown.append(pattern)
                case Hole():
                    shown.append(placeholder)
        return "".join(shown)

    def without_last_newlines(self) -> "Word":
        """The word as `$(…)` leaves it."""
        pieces = list(self.pieces)
        while pieces and isinstance(last := pieces[-1], Text):
            kept = last.value.rstrip("\n")
            pieces.pop()
            if kept:
                pieces.append(Text(kept, last.quoted))
                break
        return Word(tuple(pieces) or (Text(""),))

    def after(self, count: int) -> "Word":
        """The word without its first `count` characters, all of which are known text."""
        pieces = list(self.pieces)
        while count and pieces:
            first = pieces.pop(0)
            if not isinstance(first, Text):
                raise TypeError(f"{self} has fewer than {count} known characters")
            if len(first.value) > count:
                pieces.insert(0, Text(first.value[count:], first.quoted))
                count = 0
            else:
                count -= len(first.value)
        return Word(tuple(pieces))

    def with_globs(self) -> "Word":
        """The word when its unquoted `*`, `?` and `[…]` are matched against file names."""
        pieces: list[Piece] = []
        wild = False
        for piece in self.pieces:
            if isinstance(piece, Text) and not piece.quoted and _WILD.search(piece.value):
                pieces.append(Glob(piece.value))
                wild = True
            else:
                pieces.append(piece)
        if not wild or self.literal == "[":
            return self
        return Word(tuple(pieces))


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One program with its arguments, as the host's kernel would see it.

    `directories` are those it may run in, the likeliest first. `writes` are the files it opens for
    writing. `feeders` are the runs whose output it takes as its program (shells, interpreters) or
    as its input (all others). `part` is the piece of the text that it comes from. `sure` is False
    where another reading of the text is as likely. `reads` are the files that a redirection opens
    for reading, `sets` the variables that are handed to a program. `appends` is True where a
    redirection keeps what the file holds. `fed` is the variable of a secret whose value, or
    something made from it, may be its standard input; `handed` are the variables that hand it a
    secret, each with that secret's; `carries` is the one that it may put out. `idle_input`: its
    standard input holds nothing. `given` is True where the text says, or may say, what comes in on
    its standard input; `input` is the file that it has there.
    """

    argv: tuple[Word, ...]
    program: str
    directories: tuple[Word, ...]
    writes: tuple[Word, ...] = ()
    feeders: tuple["Run", ...] = ()
    part: str = ""
    sure: bool = True
    reads: tuple[Word, ...] = ()
    sets: tuple[str, ...] = ()
    appends: bool = False
    fed: str = ""
    carries: str = ""
    handed: tuple[tuple[str, str], ...] = ()
    idle_input: bool = False
    given: bool = False
    input: Word | None = None


def literal_word(text: str) -> Word:
    """A word that is known completely."""
    return Word((Text(text),))


def number_word(*, several: bool = False, makers: tuple["Run", ...] = ()) -> Word:
    """A number that is known only at run time, or `several`, each a word of its own."""
    return Word((Hole(below=not several, makers=makers, number=True),))


def made_by(word: Word, makers: tuple[Run, ...]) -> Word:
    """The word, whose numbers remember where they come from."""
    return Word(
        tuple(
            replace(piece, makers=makers)
            if isinstance(piece, Hole) and piece.number and not piece.makers
            else piece
            for piece in word.pieces
        )
    )


def _known_text(piece: Text | Glob) -> str:
    return piece.value if isinstance(piece, Text) else piece.pattern


def unknown_word(*, split: bool = False, makers: tuple["Run", ...] = ()) -> Word:
    """A word that is completely unknown."""
    return Word((Hole(split=split, makers=makers),))


def join(words: list[Word] | tuple[Word, ...], separator: str = " ") -> Word:
    """The words as one, as `eval` and `ssh` join theirs."""
    pieces: list[Piece] = []
    for index, word in enumerate(words):
        if index:
            pieces.append(Text(separator))
        pieces += word.pieces
    return Word(tuple(pieces))
