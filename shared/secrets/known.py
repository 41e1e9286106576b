"""Known values: every form of every secret, found in one scan, whatever their number."""

from bisect import bisect_left
from collections.abc import Iterable

from ahocorasick_rs import BytesAhoCorasick

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.secrets.encodings import SHORTEST_VALUE, forms
from shared.secrets.kinds import SecretKind
from shared.secrets.marks import CLOSE, OPEN, mask_for, mask_of
from shared.secrets.spans import Span, merge
from shared.secrets.value import Secret

SHORTEST_CUT = 8
"""Bytes of the beginning of a value that are hidden where a stream ends in the middle of it."""

_HEAD = SHORTEST_VALUE


class KnownValues:
    """Finds the values of secrets in bytes; longest first, and overlapping ones as one.

    Raises Misconfigured for a value that cannot be hidden.
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
        self._whole = BytesAhoCorasick(self._forms)
        self._heads = BytesAhoCorasick({form[:_HEAD] for form in self._forms})

    def __bool__(self) -> bool:
        return bool(self._forms)

    def spans(self, text: bytes) -> list[Span]:
        """Where values stand, in order and apart from each other."""
        if not self._forms:
            return []
        found = self._whole.find_matches_as_indexes(text, overlapping=True)
        return merge(
            Span(start, start, end, self._owners[self._forms[number]])
            for number, start, end in found
        )

    def names_in(self, text: bytes) -> tuple[str, ...]:
        """Whose values stand in it, each once."""
        return tuple(dict.fromkeys(self._names[span.mask] for span in self.spans(text)))

    def open_from(self, text: bytes) -> int:
        """Where a value may have begun that goes on behind the end; the length if none has."""
        offset = max(0, len(text) - self._longest + 1)
        tail = text[offset:]
        found = self._heads.find_matches_as_indexes(tail, overlapping=True)
        begins = sorted({start for _, start, _ in found})
        begins.extend(range(max(0, len(tail) - _HEAD + 1), len(tail)))
        for begin in begins:
            if self._begins_a_form(tail[begin:]):
                return offset + begin
        return len(text)

    def cut_off(self, text: bytes, offset: int = 0) -> list[Span]:
        """Where the text ends in the middle of a value, moved by `offset`; none if it is little."""
        begin = self.open_from(text)
        rest = text[begin:]
        if len(rest) < SHORTEST_CUT:
            return []
        form = self._forms[bisect_left(self._forms, rest)]
        return [Span(offset + begin, offset + begin, offset + len(text), self._owners[form])]

    def _begins_a_form(self, text: bytes) -> bool:
        place = bisect_left(self._forms, text)
        if place < len(self._forms) and self._forms[place] == text:
            place += 1  # it is one; does it begin a longer one, too?
        return place < len(self._forms) and self._forms[place].startswith(text)


def refuse_what_cannot_be_hidden(secrets: Iterable[Secret]) -> None:
    """Raise Misconfigured for a value that is too short, or made of what masks are made of."""
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
        return f"it holds {OPEN} or {CLOSE}, which mark what is hidden"
    if any(value.strip() in mask for mask in masks):
        return "it is a part of the words that stand in place of what is hidden"
    return ""
