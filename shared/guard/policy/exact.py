"""Rules of style `exact`: these words in this order, in this directory, and nothing on the input.

Nothing is read as an option, so nothing need be known about the program: a rule that holds the
very words that a person has seen allows no others.
"""

from collections.abc import Iterable, Iterator

from shared.guard.paths import canonical
from shared.guard.policy.ground import Ground
from shared.guard.policy.notation import Slot, quote, quoted_words
from shared.guard.policy.operands import kind_of
from shared.guard.words import HOME, Glob, Hole, Word


def mismatch(
    verbs: tuple[str, ...],
    slots: tuple[Slot, ...],
    directories: tuple[str, ...],
    words: tuple[Word, ...],
    ground: Ground,
) -> str | None:
    """Why the words after a program's name are not those of the rule; None if they are."""
    if ground.given:
        return "the text gives it its input, and the rule is for one without"
    for directory in ground.directories:
        if directory_name(directory) not in directories:
            return f"it runs in {directory}, and the rule is for {', '.join(directories)}"
    kinds = (*map(quote, verbs), *(slot.kind for slot in slots))
    if len(words) != len(kinds):
        return f"it has {len(words)} words, and the rule is for {len(kinds)}"
    return next(_reasons(zip(kinds, words, strict=True), ground), None)


def directory_name(directory: Word) -> str | None:
    """A directory as a rule names it; None when it is known only at run time."""
    literal = canonical(directory).literal
    return None if literal is None else literal.replace(HOME, "~")


def _reasons(pairs: Iterable[tuple[str, Word]], ground: Ground) -> Iterator[str]:
    for kind, word in pairs:
        holds = kind_of(kind)
        if holds is None:
            yield f"the policy names an unknown kind, {kind}"
        elif why := holds(word, ground):
            yield why
        elif quoted_words(kind) is None and _may_be_option(word):
            yield f"{word} is, or may be, an option"


def _may_be_option(word: Word) -> bool:
    first = word.pieces[0] if word.pieces else None
    unseen = isinstance(first, Glob) or (isinstance(first, Hole) and not first.below)
    return word.splits or unseen or word.prefix.startswith(("-", "+"))
