"""Masking by structure, line by line, with the state that a stream carries between lines."""

from itertools import chain

from shared.secrets import keyblocks
from shared.secrets.colours import TRIGGER, hidden_across_colours
from shared.secrets.kinds import SecretKind
from shared.secrets.known import KnownValues
from shared.secrets.marks import MARK, mask_for
from shared.secrets.spans import merge
from shared.secrets.structure import Structure

LONGEST_LINE = 65_536
"""Bytes of one line that are searched at once; a longer line is searched in pieces."""

OVERLAP = 4_096
"""Bytes at the end of a piece that are searched again with the next one."""

_LONGEST_KEY_LINE = 1_024
_KEY = mask_for(SecretKind.PRIVATE_KEY).encode()


class Lines:
    """Takes bytes in pieces of any size and gives whole lines back, masked.

    A line ends at a newline or at a carriage return, as a progress bar writes it. The result
    depends only on the bytes, not on where the pieces were cut.
    """

    def __init__(self, structure: Structure, known: KnownValues) -> None:
        self._structure = structure
        self._known = known
        self._pending = b""
        self._out: list[bytes] = []
        self._in_key = False
        self._key_ends = False
        self._head = b""
        self._swallowed = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes; returns those that are safe to write by now."""
        self._pending += data
        while (place := _long_line(self._pending)) is not None:
            self._take(self._pending[:place], last=True)
            self._take_piece(self._pending[place:])
        cut = _complete(self._pending)
        batch, rest = self._pending[:cut], self._pending[cut:]
        self._pending = self._take(batch, last=False) + rest
        return self._emit()

    def finish(self) -> bytes:
        """The bytes that were still held back; the stream has ended."""
        self._take(self._pending, last=True)
        self._pending = b""
        if self._in_key:
            self._in_key = False
            self._take(self._head + self._swallowed, last=True)
        return self._emit()

    def _emit(self) -> bytes:
        given = b"".join(self._out)
        self._out.clear()
        return given

    def _take_piece(self, text: bytes) -> None:
        """Mask the start of a line that is too long; its last bytes wait for the next piece."""
        window = text[:LONGEST_LINE]
        rules = [rule for _, asked in self._structure.suspicions(window) for rule in asked]
        cut = LONGEST_LINE - OVERLAP
        for span in merge(self._structure.spans(window, rules)):
            if span.begin < cut < span.end:
                cut = span.begin or span.end
        self._take(text[:cut], last=True)
        self._pending = text[cut:]

    def _take(self, batch: bytes, *, last: bool) -> bytes:
        """Mask whole lines; returns those at the end that may belong to a key, unless `last`."""
        while batch:
            if self._in_key:
                batch = self._behind_key(batch)
            if not self._in_key:
                batch = self._before_key(batch, last=last)
                if not self._in_key:
                    return batch
        return b""

    def _before_key(self, batch: bytes, *, last: bool) -> bytes:
        """Mask lines; returns the text after the first that begins a key, else the held lines."""
        done = looked = 0
        waiting = self._structure.suspicions(batch)
        waiting.reverse()
        while waiting:
            start, looked = _line_around(batch, waiting[-1][0], looked)
            rules = []
            while waiting and waiting[-1][0] < looked:
                rules.append(waiting.pop()[1])
            line = whole = batch[start:looked]
            if () in rules:
                if TRIGGER in line:
                    line = hidden_across_colours(line, self._known)
                line, is_open = _keys_hidden(line)
                if _ends_a_key(whole):
                    line = line[line.index(_KEY) :]
                    start = _run_before(batch, start, done)
                if is_open:
                    self._out.append(batch[done:start])
                    self._in_key, self._key_ends = True, False
                    self._head, self._swallowed = line, _end_of(whole)
                    return batch[looked:]
            line = self._structure.mask(line, chain.from_iterable(rules))
            if line is not whole:
                self._out += [batch[done:start], line]
                done = looked
        held = len(batch) if last else _run_before(batch, len(batch), done)
        self._out.append(batch[done:held])
        return batch[held:]

    def _behind_key(self, batch: bytes) -> bytes:
        """Replace the lines of a key by a mask; the text before and after it stays."""
        place = 0
        while place < len(batch):
            _, end = _line_around(batch, place, place)
            line = batch[place:end]
            if ends := keyblocks.END.search(line):
                self._in_key = False
                return self._head + batch[place + ends.end() :]
            if not self._belongs_to_key(line):
                self._in_key = False
                return self._head + self._swallowed + batch[place:]
            self._swallowed = _end_of(line)
            place = end
        return b""

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
    """The line with every key in it masked, and whether the last key continues after the line."""
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


def _ends_a_key(line: bytes) -> bool:
    """True for a line with the end of a key that began before it."""
    begins, ends = keyblocks.BEGIN.search(line), keyblocks.END.search(line)
    return ends is not None and (begins is None or ends.start() < begins.start())


def _long_line(text: bytes) -> int | None:
    """The start of a line that is too long to wait for its end; None if there is none."""
    place = 0
    while len(text) - place >= LONGEST_LINE:
        cut = _complete(text[place : place + LONGEST_LINE])
        if not cut:
            return place
        place += cut
    return None


def _complete(text: bytes) -> int:
    """The length of its whole lines; a carriage return at the end may belong to a newline."""
    return max(text.rfind(b"\n"), text.rfind(b"\r", 0, max(len(text) - 1, 0))) + 1


def _line_around(text: bytes, place: int, floor: int) -> tuple[int, int]:
    before = max(text.rfind(b"\n", floor, place), text.rfind(b"\r", floor, place)) + 1
    return max(before, floor), _end_of_line(text, place)


def _end_of_line(text: bytes, place: int) -> int:
    """Behind the next line end; a carriage return before a newline is a part of it."""
    newline = text.find(b"\n", place)
    end = len(text) if newline < 0 else newline + 1
    returned = text.find(b"\r", place, end)
    return end if returned < 0 or returned + 1 == newline else returned + 1


def _end_of(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]


def _run_before(text: bytes, end: int, floor: int) -> int:
    """The start of the lines of pure base64 directly before `end`.

    The last of them may be short.
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
    """The start of the line that ends there, at most a kilobyte before; no key has longer lines."""
    floor = max(floor, end - _LONGEST_KEY_LINE)
    inside = max(floor, end - (2 if text[end - 2 : end] == b"\r\n" else 1))
    return max(text.rfind(b"\n", floor, inside), text.rfind(b"\r", floor, inside), floor - 1) + 1
