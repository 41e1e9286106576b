"""Which words of a plan would be others elsewhere: what a runbook made of it asks for; pure.

Only what is plain to see is taken: what the prompt itself says and the commands repeat, the name of
the host, a port where it stands as one, and the folder that everything lies in. A word that is
missed stays as it was; one that is taken wrongly would change what is meant.
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
_PORT = re.compile(
    r"(?:--?port[= ]|\bport[= :]+|(?:localhost|0\.0\.0\.0|127\.0\.0\.1|\[::1?\]):)(\d{2,5})\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"([A-Za-z]{3,20}):? $")
_HOMES = ("/home", "/run/user")
_TELLING = re.compile(r"[\d.-]")
"""A host called `web` is called like many other things."""

_NO_NAMES = frozenset({"the", "and", "with", "for", "from", "into", "than", "all", "least", "most"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A word that may be another one, what it is called, and the forms that its value can have.

    `said` is true when the prompt says it.
    """

    name: str
    value: str
    form: str
    said: bool

    @property
    def place(self) -> re.Pattern[str]:
        """Where it stands as a word of its own; a folder also where something lies in it."""
        if self.value.startswith("/"):
            return re.compile(rf"(?<![\w.~/-]){re.escape(self.value)}(?![\w.+~%@-])")
        return re.compile(rf"(?<![\w.+~%-]){re.escape(self.value)}(?![\w+~%-]|\.\w)")


def candidates(prompt: str, commands: Sequence[str], hosts: Iterable[str]) -> tuple[Parameter, ...]:
    """The words to try, the plainest first; no two have one name."""
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
            yield _name_before(prompt[: found.start()]), found[0], "[0-9]+", True
    for host in hosts:
        if host in whole and _TELLING.search(host):
            yield "host", host, r"[\w.:-]+", host in prompt.split()
    for found in _PORT.finditer(whole):
        yield "port", found[1], "[0-9]+", False
    folder = _folder(whole)
    if folder is not None:
        yield "folder", folder, r"/\S+", False


def _name_before(before: str) -> str:
    """What a number is called by the word that stands before it."""
    found = _BEFORE.search(before)
    word = found[1].lower() if found else ""
    return word if word and word not in _NO_NAMES else "number"


def _folder(text: str) -> str | None:
    """The folder that every path of one's own lies in; None when they have none in common."""
    paths = [found[0] for found in _PATH.finditer(text)]
    if not paths:
        return None
    shared = commonpath(paths)
    if shared in paths and not any(path.startswith(f"{shared}/") for path in paths):
        shared = shared.rpartition("/")[0]  # one file and nothing else
    own = _PATH.fullmatch(shared) is not None
    return shared if own and shared.rpartition("/")[0] not in _HOMES else None


def _free(name: str, taken: Iterable[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
