"""Names of secrets, as plans and host entries write them: `${secret:NAME}`."""

import re

VARIABLE = "REPLAN_SECRET_"
"""The prefix of the environment variable that holds a secret, for a command and in a vault."""

LONGEST_NAME = 64

_NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{LONGEST_NAME - 1}}}")
_BEGIN = re.compile(r"\$\{\s*secret\s*:", re.IGNORECASE)
_HELD = re.compile(rf"\b{VARIABLE}({_NAME.pattern})")
_REFERENCE = re.compile(rf"\$\{{secret:({_NAME.pattern})\}}")


class BadName(ValueError):
    """A text that looks like `${secret:NAME}` but is not valid; the message says what to write."""


def is_name(text: str) -> bool:
    """True for a letter followed by letters, digits and underscores, 64 characters at most."""
    return _NAME.fullmatch(text) is not None


def reference(name: str) -> str:
    """How a plan writes the secret of that name."""
    return f"${{secret:{name}}}"


def name_of(text: str) -> str | None:
    """NAME, when the text is `${secret:NAME}` and nothing else."""
    found = _REFERENCE.fullmatch(text)
    return None if found is None else found[1]


def secret_names(text: str) -> tuple[str, ...]:
    """The names in a text, each once, in order of first appearance.

    Raises BadName for a reference that is not valid: wrong case, a blank, a bad name, a missing
    end. Otherwise it would reach a host unchanged.
    """
    names: dict[str, None] = {}
    for begin in _BEGIN.finditer(text):
        names[name_at(text, begin.start())[0]] = None
    return tuple(names)


def named_anywhere(text: str) -> frozenset[str]:
    """The names of all secrets that a text refers to, as a plan writes them or as commands do."""
    return frozenset((*_REFERENCE.findall(text), *_HELD.findall(text)))


def names_secret(text: str) -> bool:
    """Whether it has a reference to a secret, valid or not."""
    return _BEGIN.search(text) is not None


def name_at(text: str, position: int) -> tuple[str, int]:
    """The name at a position, and where it ends; raises BadName."""
    found = _REFERENCE.match(text, position)
    if found is None:
        raise BadName(_explain(text, position))
    return found[1], found.end()


def begins_at(text: str, position: int) -> bool:
    """True if the text contains `${secret:…`, valid or not."""
    return _BEGIN.match(text, position) is not None


def _explain(text: str, position: int) -> str:
    end = text.find("}", position)
    line = text.find("\n", position)
    if end < 0 or 0 <= line < end:
        return "a `${secret:` has no `}` on its line; write ${secret:NAME}"
    written = text[position : end + 1]
    shown = written if len(written) <= LONGEST_NAME else f"{written[:LONGEST_NAME]}…"
    return (
        f"{shown!r} is not a valid name of a secret; write ${{secret:NAME}}, where NAME is "
        f"a letter, then letters, digits and underscores, {LONGEST_NAME} characters at most"
    )
