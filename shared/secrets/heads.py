"""Finds many texts in one scan: first by how they begin, then each to its end."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation

Place = tuple[int, int]
"""A position, and the number of the beginning that stands there."""


class Heads:
    """Texts by their first bytes, as many as `length`; no text is shorter.

    The beginnings of thousands of long texts fit into a table that is scanned twice as fast as
    one of the whole texts, and few of them stand in other output.
    """

    def __init__(self, texts: Iterable[bytes], length: int) -> None:
        self._by_head: dict[bytes, list[bytes]] = {}
        for text in texts:
            self._by_head.setdefault(text[:length], []).append(text)
        self._texts = list(self._by_head.values())
        self._heads = BytesAhoCorasick(list(self._by_head), implementation=Implementation.DFA)

    def places(self, content: bytes) -> list[Place]:
        """Where a text may begin, in order."""
        found = self._heads.find_matches_as_indexes(content, overlapping=True)
        return [(start, number) for number, start, _ in found]

    def whole(self, content: bytes, places: Iterable[Place]) -> Iterator[tuple[int, bytes]]:
        """Where a text begins, and which: every one that is there to its end."""
        for start, number in places:
            for text in self._texts[number]:
                if content.startswith(text, start):
                    yield start, text


def continues(texts: list[bytes], begun: bytes) -> bool:
    """Whether what is begun is less than one of the texts, which are sorted."""
    place = bisect_left(texts, begun)
    if place < len(texts) and texts[place] == begun:
        place += 1  # it is a whole one; is it also the beginning of a longer one?
    return place < len(texts) and texts[place].startswith(begun)
