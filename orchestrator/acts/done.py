"""The result of an act."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.domain.next_step import Advice

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Note:
    """Something else that the caller should know; `next_step` is what to do about it."""

    reason: str
    next_step: Advice | None = None


@dataclass(frozen=True, slots=True)
class Done(Generic[T_co]):
    """The result of an act: a value that every face renders in its own way.

    `taken` is false when facts were recorded but no coordinator has read them in time; the value
    then shows the state before the act.
    """

    value: T_co
    taken: bool = True
    notes: tuple[Note, ...] = ()
