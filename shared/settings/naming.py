"""Names of keys as people type them, with suggestions for misspelt ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from shared.domain.nearest import nearest
from shared.domain.secret import VARIABLE
from shared.settings.keys import KEYS, Key, KeyScope


@dataclass(frozen=True, slots=True)
class KeyFault:
    """What is wrong with a key, and where it was set."""

    name: str
    told: str
    source: str = ""

    def __str__(self) -> str:
        place = f" (in {self.source})" if self.source else ""
        return f"{self.name}: {self.told}{place}"


def find_key(name: str, place: str, source: str) -> Key | KeyFault:
    """The key of that name (`agent.planner`, too) in the scope that `place` names."""
    scope, dot, bare = name.partition(".")
    if dot and scope in {s.value for s in KeyScope} and place in {scope, KeyScope.AGENT.value}:
        place, name = scope, bare
    key = KEYS.get(name)
    if key is None:
        return KeyFault(name, _unknown(name, place), source)
    if key.scope.value != place:
        return KeyFault(name, _wrong_scope(key, source), source)
    return key


def lookalike(variable: str, known: Iterable[str]) -> str | None:
    """The known variable that this one was probably meant to be; None if it is known or far off.

    Variables that resemble none are ignored: other programs may use REPLAN_ too, and secrets have
    names of their owners' choice.
    """
    if variable.startswith(VARIABLE):
        return None
    names = {*known, "REPLAN_CONFIG"}
    if variable in names:
        return None
    return next(iter(get_close_matches(variable, sorted(names), n=1, cutoff=0.88)), None)


def _unknown(name: str, place: str) -> str:
    known = sorted(key.name for key in KEYS.values() if key.scope.value == place)
    near = nearest(name, KEYS)
    meant = f"did you mean {near}? " if near else ""
    return f"is unknown; {meant}known: {', '.join(known)}"


def _wrong_scope(key: Key, source: str) -> str:
    if source == "--set":
        return f"belongs to the {key.scope.value} scope and cannot be set for a task"
    return f"belongs under [{key.scope.value}]"
