"""The value of a secret, in a wrapper that no log, error or message shows."""

import hmac
from typing import NoReturn, final

from shared.secrets.marks import mask_of


@final
class Secret:
    """A name with its value, which only `reveal` returns.

    Printed, formatted or logged, it shows its mask; it cannot be pickled or written as JSON.
    """

    __slots__ = ("_value", "name")

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self._value = value

    def reveal(self) -> str:
        """The value itself; call it only where the value goes to the command."""
        return self._value

    def __repr__(self) -> str:
        return mask_of(self.name)

    def __format__(self, _spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        same = hmac.compare_digest(self._value.encode(), other.reveal().encode())
        return same and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, _memo: object) -> "Secret":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"the secret {self.name} must not be stored or sent")

    def __getstate__(self) -> NoReturn:
        raise TypeError(f"the secret {self.name} must not be stored or sent")
