"""Words of ours in the text of a query."""

from collections.abc import Iterable
from enum import StrEnum


def sql_list(words: Iterable[StrEnum]) -> str:
    """The values of an enumeration for `IN (…)`, in order; they hold no quotes."""
    return ", ".join(f"'{word.value}'" for word in sorted(words))
