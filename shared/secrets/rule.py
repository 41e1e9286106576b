"""A rule: which lines to search, and which part of them is a secret."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.secrets.kinds import SecretKind

Found = re.Match[bytes]


def _always(_found: Found) -> bool:
    return True


@dataclass(frozen=True, slots=True, eq=False)
class MaskRule:
    """What a kind of secret looks like.

    Lines without any of the `triggers` (lower case; they match either case) or without `needs` are
    not searched, nor those in which `near` is not found when they are in lower case: a part of the
    pattern that is compared faster. `pattern` matches within a line, never without a trigger, and
    names the secret `value`; `holds` has the last word.
    """

    kind: SecretKind
    triggers: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    holds: Callable[[Found], bool] = _always
    needs: bytes = b""
    near: re.Pattern[bytes] | None = None
