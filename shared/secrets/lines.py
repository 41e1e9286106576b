"""Masking by structure, line by line: the state that a stream carries from one line to the next."""

import re

from shared.secrets import keyblocks
from shared.secrets.kinds import Kind
from shared.secrets.marks import MARK, mask_for
from shared.secrets.rule import Rule
from shared.secrets.spans import joined
from shared.secrets.structure import Structure

LONGEST_LINE = 65_536
"""Bytes of one line that are looked at together; of a longer one, so many at a time."""

OVERLAP = 4_096
"""Bytes at the end of such a piece that are looked at again with the next."""

_LONGEST_KEY_LINE = 1_024
_KEY = mask_for(Kind.PRIVATE_KEY).encode()
_END_OF_LINE = re.compile(rb"\n|\r(?!\n)")


class Lines:
    """Takes bytes in pieces of any size and gives whole lines back, masked.

    A line ends at a newline or at a carriage return, as a progress bar writes it. What is given
    back depends on the bytes alone, not on where they were cut.
    """

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._pending = b""
        self._batch = b""
        self._done = 0
        self._out: list[bytes] = []
        self._in_key = False
        self._key_ends = False
        self._swallowed = b""

    def feed(self, data: bytes) -> bytes:
        """The next bytes; returns those that can be given away by now."""
        self._pending += data
        while (place := _long_line(self._pending)) is not None:
            self._take(self._pending[:place], last=True)
            self._take_piece(self._pending[place:])
        cut = _complete(self._pending)
        batch, rest = self._pending[:cut], self._pending[cut:]
        self._pending = self._take(batch, last=False) + rest
        return self._given()

    def finish(self) -> bytes:
        """What was still held back; the stream has ended."""
        self._take(self._pending, last=True)
        self._pending = b""
        if self._in_key:
            self._out.append(self._swallowed)
        return self._given()

    def _given(self) -> bytes:
        given = b"".join(self._out)
        self._out.clear()
        return given

    def _take_piece(self, text: bytes) -> None:
        """The beginning of a line that is too long; its last bytes are kept for the next piece."""
        window = text[:LONGEST_LINE]
        rules = [rule for each in self._structure.suspicions(window) for rule in each.rules]
        cut = LONGEST_LINE - OVERLAP
        for span in joined(self._structure.found(window, rules)):
            if span.begin < cut < span.end:
                cut = span.begin or span.end
        self._take(text[:cut], last=True)
        self._pending = text[cut:]

    def _take(self, batch: bytes, *, last: bool) -> bytes:
        """Mask whole lines; returns those at the end that may be a key's, unless it is the last."""
        self._batch, self._done = batch, 0
        if self._in_key:
            self._done = self._swallow(0)
        looked = self._done
        rules: list[Rule] = []
        start = end = looked
        for suspicion in self._structure.suspicions(batch):
            if suspicion.start >= end:
                looked = max(end, self._examine(start, end, rules))
                rules = []
                if suspicion.start >= looked:
                    start, end = _line_around(batch, suspicion.start, looked)
                else:
                    start = end = looked
            if suspicion.start >= start:
                rules.extend(suspicion.rules)
        self._examine(start, end, rules)
        held = len(batch) if last else _run_before(batch, len(batch), self._done)
        self._out.append(batch[self._done : held])
        return batch[held:]

    def _examine(self, start: int, end: int, rules: list[Rule]) -> int:
        """Mask one line; returns where to look on, which is behind a key that it begins."""
        if start == end:
            return end
        line = self._batch[start:end]
        ends = keyblocks.END.search(line)
        if ends and not keyblocks.BEGIN.search(line, 0, ends.start()):
            line = _KEY + line[ends.end() :]
            start = _run_before(self._batch, start, self._done)
        line, is_open = _keys_hidden(line)
        line = self._structure.masked(line, rules)
        if line != self._batch[start:end]:
            self._out += [self._batch[self._done : start], line]
            self._done = end
        if is_open:
            self._in_key, self._key_ends = True, False
            self._swallowed = _end_of(self._batch[start:end])
            self._done = self._swallow(end)
        return max(end, self._done)

    def _swallow(self, place: int) -> int:
        """Leave out the lines of a key; returns where it ends."""
        while place < len(self._batch):
            _, end = _line_around(self._batch, place, place)
            line = self._batch[place:end]
            if ends := keyblocks.END.search(line):
                self._in_key = False
                return place + ends.end()
            if not self._belongs_to_key(line):
                self._in_key = False
                self._out.append(self._swallowed)
                return place
            self._swallowed = _end_of(line)
            place = end
        return place

    def _belongs_to_key(self, line: bytes) -> bool:
        line = MARK.sub(b"", line)
        if keyblocks.is_around(line):
            return True
        if self._key_ends:
            return keyblocks.is_checksum(line)
        if keyblocks.is_full(line):
            return True
        self._key_ends = keyblocks.is_last(line)
        return self._key_ends


def _keys_hidden(line: bytes) -> tuple[bytes, bool]:
    """The line with every key in it replaced, and whether the last one goes on behind the line."""
    while True:
        begins, ends = keyblocks.BEGIN.search(line), keyblocks.END.search(line)
        if ends and (begins is None or ends.start() < begins.start()):
            line = line[: ends.start()] + _KEY + line[ends.end() :]
            continue
        if begins is None:
            return line, False
        ends = keyblocks.END.search(line, begins.end())
        if ends is None:
            return line[: begins.start()] + _KEY, True
        line = line[: begins.start()] + _KEY + line[ends.end() :]


def _long_line(text: bytes) -> int | None:
    """Where a line begins that is too long to wait for its end; None without one."""
    place = 0
    while len(text) - place >= LONGEST_LINE:
        cut = _complete(text[place : place + LONGEST_LINE])
        if not cut:
            return place
        place += cut
    return None


def _complete(text: bytes) -> int:
    """How much of it is whole lines; a carriage return at the end may belong to a newline."""
    return max(text.rfind(b"\n"), text.rfind(b"\r", 0, max(len(text) - 1, 0))) + 1


def _line_around(text: bytes, place: int, floor: int) -> tuple[int, int]:
    before = max(text.rfind(b"\n", floor, place), text.rfind(b"\r", floor, place)) + 1
    ends = _END_OF_LINE.search(text, place)
    return max(before, floor), ends.end() if ends else len(text)


def _end_of(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]


def _run_before(text: bytes, end: int, floor: int) -> int:
    """Where the lines of nothing but base64 begin that stand directly before `end`.

    The last of them may be a short one.
    """
    nearest = end
    start = _line_before(text, end, floor)
    if start < end and keyblocks.is_last(text[start:end]):
        nearest = start
    begin = nearest
    for _ in range(keyblocks.MOST_LINES):
        start = _line_before(text, begin, floor)
        if start >= begin or not keyblocks.may_precede_an_end(text[start:begin]):
            break
        begin = start
    return begin if begin < nearest else end


def _line_before(text: bytes, end: int, floor: int) -> int:
    """Where the line begins that ends there; at most a kilobyte before, where no key's line is."""
    floor = max(floor, end - _LONGEST_KEY_LINE)
    inside = max(floor, end - (2 if text[end - 2 : end] == b"\r\n" else 1))
    return max(text.rfind(b"\n", floor, inside), text.rfind(b"\r", floor, inside), floor - 1) + 1
