"""Known values: every form of every secret, found in a single scan."""

from bisect import bisect_left
from collections.abc import Iterable

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.secrets.encodings import SHORTEST_VALUE, forms
from shared.secrets.heads import Heads, Place, continues
from shared.secrets.kinds import SecretKind
from shared.secrets.marks import CLOSE, OPEN, mask_for, mask_of
from shared.secrets.spans import Span, merge
from shared.secrets.value import Secret

SHORTEST_CUT = 8
"""Fewest bytes of the start of a value that are masked when a stream ends inside the value."""

_HEAD = SHORTEST_VALUE


class KnownValues:
    """Finds the values of secrets in bytes, the longest first; overlapping ones count as one.

    Raises Misconfigured for a value that cannot be masked.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._owners: dict[bytes, bytes] = {}
        known = sorted(secrets, key=lambda secret: secret.name)
        refuse_what_cannot_be_hidden(known)
        self._names = {mask_of(secret.name).encode(): secret.name for secret in known}
        for secret in known:
            for form in forms(secret.reveal()):
                self._owners.setdefault(form, mask_of(secret.name).encode())
        self._forms = sorted(self._owners)
        self._longest = max(map(len, self._forms), default=0)
        self._heads = Heads(self._forms, _HEAD)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def spans(self, text: bytes) -> list[Span]:
        """The spans of values, in order and without overlap."""
        return self._spans(text, self._heads.places(text)) if self._forms else []

    def spans_and_open(self, text: bytes) -> tuple[list[Span], int]:
        """The spans, and the start of a value that may continue after the end, in one scan.

        The start is the length of the text if there is none.
        """
        places = self._heads.places(text)
        return self._spans(text, places), self._open_from(text, places)

    def _spans(self, text: bytes, places: list[Place]) -> list[Span]:
        return merge(
            Span(start, start, start + len(form), self._owners[form])
            for start, form in self._heads.whole(text, places)
        )

    def names_in(self, text: bytes) -> tuple[str, ...]:
        """The names of the secrets whose values occur in it, each once."""
        return tuple(dict.fromkeys(self._names[span.mask] for span in self.spans(text)))

    def _open_from(self, text: bytes, places: list[Place]) -> int:
        offset = max(0, len(text) - self._longest + 1)
        begins = [start for start, _ in places if start >= offset]
        begins.extend(range(max(offset, len(text) - _HEAD + 1), len(text)))
        for begin in begins:
            if continues(self._forms, text[begin:]):
                return begin
        return len(text)

    def cut_off(self, text: bytes, offset: int = 0) -> list[Span]:
        """The span of a value cut off by the end, shifted by `offset`; none if it is short."""
        begin = self._open_from(text, self._heads.places(text))
        rest = text[begin:]
        if len(rest) < SHORTEST_CUT:
            return []
        form = self._forms[bisect_left(self._forms, rest)]
        return [Span(offset + begin, offset + begin, offset + len(text), self._owners[form])]


def refuse_what_cannot_be_hidden(secrets: Iterable[Secret]) -> None:
    """Raise Misconfigured for a value that is too short or looks like part of a mask."""
    listed = list(secrets)
    masks = [mask_of(secret.name) for secret in listed] + [mask_for(kind) for kind in SecretKind]
    for secret in listed:
        why = _unfit(secret.reveal(), masks)
        if why:
            raise Misconfigured(
                f"the value of the secret {secret.name} cannot be hidden in output: {why}",
                stage="secrets",
                next_step=NextStep.of("secret set", secret.name),
            )


def _unfit(value: str, masks: list[str]) -> str:
    if len(value.strip().encode()) < SHORTEST_VALUE:
        return f"it is shorter than {SHORTEST_VALUE} characters, and would hide parts of words"
    if OPEN in value or CLOSE in value:
        return f"it holds {OPEN} or {CLOSE}, which delimit masks"
    if any(value.strip() in mask for mask in masks):
        return "it is part of the text of a mask"
    return ""
