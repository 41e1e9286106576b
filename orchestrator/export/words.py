"""Finds the words of a plan that differ elsewhere: the parameters of its runbook; pure.

Only clear cases count: words of the prompt that the commands repeat, the name of the host, a port
that is written as one, and the common folder of all paths. A missed word stays unchanged; a wrong
one would change the meaning.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import commonpath

_PATH = re.compile(
    r"(?<![\w.~/-])/(?:srv|opt|home|tmp|var/tmp|data|mnt|media|run/user|dev/shm)"
    r"(?:/[\w.+~%@-]*[\w~%@-])+"
)
_NUMBER = re.compile(r"(?<![\w./:=-])\d{2,}(?![\w/:-]|\.\d)")
NUMBER = "[0-9]+"
"""The form of numbers, ports among them."""

_PORT = re.compile(
    r"(?:--?port[= ]|\bport[= :]+|\blisten +|\bhttp\.server +|://[\w.-]+:"
    r"|(?:localhost|0\.0\.0\.0|127\.0\.0\.1|\[::1?\]):)(\d{2,5})\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"([A-Za-z]{3,20}):? $")
_HOMES = ("/home", "/run/user")
_TELLING = re.compile(r"[\d.-]")
"""A host name like `web` means many other things."""

_NO_NAMES = frozenset({"the", "and", "with", "for", "from", "into", "than", "all", "least", "most"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A word that may differ: its name, its value, and the pattern of its values.

    `said` is true when the prompt contains it.
    """

    name: str
    value: str
    form: str
    said: bool

    @property
    def place(self) -> re.Pattern[str]:
        """Where it occurs as a whole word; a folder also as the start of a path."""
        if self.value.startswith("/"):
            return re.compile(rf"(?<![\w.~/-]){re.escape(self.value)}(?![\w.+~%@-])")
        return re.compile(rf"(?<![\w.+~%-]){re.escape(self.value)}(?![\w+~%-]|\.\w)")


def candidates(prompt: str, commands: Sequence[str], hosts: Iterable[str]) -> tuple[Parameter, ...]:
    """The parameters to try, the clearest first, each with a unique name."""
    named: dict[str, Parameter] = {}
    seen: set[str] = set()
    for name, value, form, said in _find_words(prompt, commands, hosts):
        if value not in seen:
            seen.add(value)
            free = _free(name, named)
            named[free] = Parameter(free, value, form, said)
    return tuple(named.values())


def _find_words(
    prompt: str, commands: Sequence[str], hosts: Iterable[str]
) -> Iterator[tuple[str, str, str, bool]]:
    whole = "\n".join(commands)
    for found in _PATH.finditer(prompt):
        if found[0] in whole:
            yield "folder", found[0], r"/\S+", True
    for found in _NUMBER.finditer(prompt):
        if found[0] in whole:
            yield _name_before(prompt[: found.start()]), found[0], NUMBER, True
    for host in hosts:
        if host in whole and _TELLING.search(host):
            yield "host", host, r"[\w.:-]+", host in prompt.split()
    for found in _PORT.finditer(whole):
        yield "port", found[1], NUMBER, False
    folder = _folder(whole)
    if folder is not None:
        yield "folder", folder, r"/\S+", False


def _name_before(before: str) -> str:
    """The name of a number: the word before it."""
    found = _BEFORE.search(before)
    word = found[1].lower() if found else ""
    return word if word and word not in _NO_NAMES else "number"


def _folder(text: str) -> str | None:
    """The common folder of all paths; None when there is none."""
    paths = [found[0] for found in _PATH.finditer(text)]
    if not paths:
        return None
    shared = commonpath(paths)
    if shared in paths and not any(path.startswith(f"{shared}/") for path in paths):
        shared = shared.rpartition("/")[0]  # a single file
    own = _PATH.fullmatch(shared) is not None
    return shared if own and shared.rpartition("/")[0] not in _HOMES else None


def _free(name: str, taken: Iterable[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
