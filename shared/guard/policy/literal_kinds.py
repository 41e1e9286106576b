"""Kinds that a rule spells out: certain words, and what lies in a certain folder."""

from shared.guard.paths import canonical
from shared.guard.policy.ground import Ground, Kind
from shared.guard.words import HOME, Word


def exactly(texts: frozenset[str]) -> Kind:
    """One of these words and no other; `~/x` is in the home folder, as a shell has it."""
    known = frozenset(HOME + text[1:] if _at_home(text) else text for text in texts)

    def one_of(word: Word, ground: Ground) -> str | None:
        del ground
        if word.literal in known:
            return None
        return f"{word} is not {' or '.join(sorted(texts))}"

    return one_of


def _at_home(text: str) -> bool:
    return text == "~" or text.startswith("~/")


def below(folder: str, *, shown: bool = True) -> Kind | None:
    """A path in that folder, without a name that begins with a dot; None if it is not a folder.

    `shown` is False where the program does not print the file.
    """
    plain = folder.rstrip("/")
    if not plain.startswith(("/", "~/")) or plain in ("/", "~"):
        return None
    root = HOME + plain[1:] if _at_home(plain) else plain

    def inside(word: Word, ground: Ground) -> str | None:
        for directory in ground.directories:
            path = canonical(word, directory).literal
            if path is None:
                return f"{word} is known only when it runs"
            names = path.removeprefix(f"{root}/").split("/")
            if path == root or not path.startswith(f"{root}/"):
                return f"{word} is not in {plain}"
            if any(name.startswith(".") for name in names):
                return f"{word} has a name that begins with a dot"
        ask = ground.territory.no_read if shown else ground.territory.secret_in
        return ask(word, ground.directories)

    return inside
