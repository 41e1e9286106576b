"""Which words and which runs hold the value of a secret, or something made from it."""

from collections.abc import Iterable

from shared.guard.words import Hole, Run, Word

NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
PRINTS = frozenset({"echo", "printf"})


def secret_in(words: Iterable[Word]) -> str:
    """The variable of a secret whose value is a part of one of the words; empty when none is."""
    for word in words:
        for piece in word.pieces if word.literal is None else ():
            if isinstance(piece, Hole):
                name = piece.secret or _printed_secret(piece)
                if name:
                    return name
    return ""


def secret_behind(words: Iterable[Word]) -> str:
    """The same, but also of a secret that one of the words may have been made from."""
    unknown = [word for word in words if word.literal is None]
    return (secret_in(unknown) or derived_secret(unknown)) if unknown else ""


def derived_secret(words: Iterable[Word]) -> str:
    """A secret that the words may have been made from."""
    makers = (maker for word in words for maker in word.makers)
    contents = tuple(
        piece.content
        for word in words
        for piece in word.pieces
        if isinstance(piece, Hole) and piece.content is not None
    )
    return next((maker.carries for maker in makers if maker.carries), "") or secret_in(contents)


def unknown_like(*values: Word) -> Word:
    """A word that is unknown, but as secret as these values."""
    secret = secret_in(values)
    makers = tuple(m for value in values for m in value.makers if m.carries)
    return Word((Hole(secret=secret, makers=makers),))


def spill(content: Word, makers: Iterable[Run], paths: Iterable[Word]) -> str:
    """The secret that a redirection would leave in one of the files; empty when it leaves none."""
    if all(str(path) in NO_FILES for path in paths):
        return ""
    return secret_in((content,)) or next((m.carries for m in makers if m.carries), "")


def _printed_secret(piece: Hole) -> str:
    """The secret that `$(printf '%s' "$SECRET")` puts out, and nothing but prints it."""
    if not piece.makers or any(maker.program not in PRINTS for maker in piece.makers):
        return ""
    return next((found for m in piece.makers if (found := secret_in(m.argv))), "")
