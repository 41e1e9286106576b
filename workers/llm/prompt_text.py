"""The text of a question to a model: what replan says itself, and what others wrote between marks.

A question is built of `PromptText`, and there are three ways to make one: `own` for our sentences,
`set_apart` for everything else (of people, planners, hosts, the fix memory), `fill` for a file of
this package. So text of a host cannot stand in a question outside marks: a plain `str` does not
fit the type, and `tests/architecture/test_prompt_text.py` holds `own` and `fill` to our own texts.
"""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptText:
    """Text that a model may read as it stands; made by `own`, `set_apart`, `fill` and `join`."""

    text: str

    def __str__(self) -> str:
        return self.text


NOTHING = PromptText("")


def own(sentence: str, **numbers: float) -> PromptText:
    """Our own sentence; only numbers can be put into it, in the place of their names in braces."""
    for name, number in numbers.items():
        sentence = sentence.replace("{" + name + "}", f"{number:.15g}")
    return PromptText(sentence)


def set_apart(name: str, text: str) -> PromptText:
    """The text of others between two marks, which it cannot contain: they hold its digest."""
    mark = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return PromptText(f"<{mark}>\n{text}\n</{mark}>")


def fill(file: str, **blocks: PromptText) -> PromptText:
    """The text of a file of this package with each block in the place of its name in braces."""
    for name, block in blocks.items():
        file = file.replace("{" + name + "}", block.text)
    return PromptText(file)


def join(*parts: PromptText, between: str = "\n\n") -> PromptText:
    """The parts that say something, one below the other."""
    return PromptText(between.join(part.text for part in parts if part.text))
