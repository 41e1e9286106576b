"""Values in dumps, whose rows have a number in front and often the text behind (`xxd`, `od`)."""

import re
from collections.abc import Callable, Iterable, Iterator

from shared.secrets.encodings import SHORTEST_VALUE
from shared.secrets.marks import mask_of
from shared.secrets.value import Secret

MOST_ROWS = 4_096
"""Rows that a stream holds back at most: 64 KB of what is dumped."""

_NUMBER = rb"[ \t]*[0-9a-fA-F]{6,16}:?"
_CELL = rb"(?:(?:[0-9a-fA-F]{2}){1,4}|[0-7]{3}|[0-7]{6}|[01]{8})"
_CHARACTER = rb"(?:   [^\s]|   [ ]|  \\[0abtnvfr]| [0-7]{3})"
_CELLS = rb"[ \t]+" + _CELL + rb"(?=[ \t\r\n]|$)[^\r\n]*|" + _CHARACTER + rb"{1,32}[ \t]*"
_ROW = re.compile(rb"(?P<number>" + _NUMBER + rb")(?P<cells>" + _CELLS + rb")\r?\n?")
_LAST = re.compile(rb"[0-9a-fA-F]{6,16}[ \t]*\r?\n?")
_BEGUN = re.compile(rb"[ \t]*[0-9a-fA-F]{0,16}:?|" + _NUMBER + rb"[ \t][^\n]*")
_FIRST_ROW = re.compile(_NUMBER + rb"[ \t]")
_ANY_ROW = re.compile(rb"\n" + _NUMBER + rb"[ \t]")
_TEXT_BEHIND = re.compile(rb"  \|.*$")
_NAMED = {
    b"\\0": 0,
    b"\\a": 7,
    b"\\b": 8,
    b"\\t": 9,
    b"\\n": 10,
    b"\\v": 11,
    b"\\f": 12,
    b"\\r": 13,
}

Cells = list[bytes]
Layout = Callable[[bytes], int | None]


class DumpStream:
    """Takes bytes and masks the rows of dumps in which a known value lies.

    It holds back the rows at the end, which may go on.
    """

    def __init__(self, values: "DumpedValues") -> None:
        self._values = values
        self._pending = b""

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the stream; returns those that are safe to write, maybe none."""
        if not self._values:
            return data
        text = self._pending + data
        if not _FIRST_ROW.match(text) and _ANY_ROW.search(text) is None:
            cut = _unfinished_row(text)
            self._pending = text[cut:]
            return text[:cut]
        lines = _lines(text)
        held = len(lines)
        if _unfinished_row(lines[-1]) == 0:
            held -= 1
        elif not lines[-1].endswith(b"\n"):
            return self._keep(lines, held)
        while held and len(lines) - held < MOST_ROWS and _is_row(lines[held - 1]):
            held -= 1
        return self._keep(lines, held)

    def _keep(self, lines: list[bytes], held: int) -> bytes:
        self._pending = b"".join(lines[held:])
        return self._masked(lines[:held])

    def finish(self) -> bytes:
        """The bytes held back; the stream has ended."""
        text, self._pending = self._pending, b""
        return self._masked(_lines(text))

    def _masked(self, lines: list[bytes]) -> bytes:
        out: list[bytes] = []
        block: list[bytes] = []
        for line in lines:
            if _is_row(line):
                block.append(line)
                continue
            out += self._values.without(block)
            out.append(line)
            block = []
        return b"".join((*out, *self._values.without(block)))


class DumpedValues:
    """Finds values in what rows of a dump stand for."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._values = [
            (value.encode(), mask_of(secret.name).encode())
            for secret in sorted(secrets, key=lambda each: each.name)
            if len((value := secret.reveal().strip()).encode()) >= SHORTEST_VALUE
        ]

    def __bool__(self) -> bool:
        return bool(self._values)

    def without(self, rows: list[bytes]) -> Iterator[bytes]:
        """The rows, those masked in which a part of a value lies."""
        masks: dict[int, bytes] = {}
        for read in _LAYOUTS if rows else ():
            content, owners = _content(rows, read)
            for value, mask in self._values:
                start = content.find(value)
                while start >= 0:
                    for owner in set(owners[start : start + len(value)]):
                        masks.setdefault(owner, mask)
                    start = content.find(value, start + 1)
        for number, row in enumerate(rows):
            yield _hidden(row, masks[number]) if number in masks else row


def _hidden(row: bytes, mask: bytes) -> bytes:
    found = _ROW.fullmatch(row)
    if found is None:
        return row
    cells = found["cells"].rstrip()
    begin = found.start("cells") + len(cells) - len(cells.lstrip())
    return row[:begin] + mask + row[found.start("cells") + len(cells) :]


def _content(rows: list[bytes], read: Callable[[bytes], bytes]) -> tuple[bytes, list[int]]:
    """The bytes that the rows stand for, and the row of each."""
    content, owners = bytearray(), []
    for number, row in enumerate(rows):
        found = _ROW.fullmatch(row)
        given = b"" if found is None else read(_cells_of(found))
        content += given
        owners += [number] * len(given)
    return bytes(content), owners


def _cells_of(row: re.Match[bytes]) -> bytes:
    """The cells without the text behind them, which `xxd` sets off by two blanks."""
    cells = row["cells"].rstrip()
    if row["number"].endswith(b":"):
        return cells[: _end_of_cells(cells)]
    return _TEXT_BEHIND.sub(b"", cells)


def _end_of_cells(cells: bytes) -> int:
    end = cells.find(b"  ", 1)
    return end if end >= 0 else len(cells)


def _words(cells: bytes, form: re.Pattern[bytes]) -> Cells:
    """The cells up to the first of another form; the text behind them is not read."""
    found: Cells = []
    for cell in cells.split():
        if not form.fullmatch(cell):
            break
        found.append(cell)
    return found


_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){1,8}")
_OCTAL = re.compile(rb"[0-7]{3}")
_OCTAL_WORD = re.compile(rb"[0-7]{6}")
_BITS = re.compile(rb"[01]{8}")


def _big(cells: bytes) -> bytes:
    return bytes.fromhex(b"".join(_words(cells, _HEX)).decode())


def _little(cells: bytes) -> bytes:
    return b"".join(bytes.fromhex(cell.decode())[::-1] for cell in _words(cells, _HEX))


def _octal(cells: bytes) -> bytes:
    return bytes(int(cell, 8) & 0xFF for cell in _words(cells, _OCTAL))


def _octal_words(cells: bytes) -> bytes:
    words = (int(cell, 8) & 0xFFFF for cell in _words(cells, _OCTAL_WORD))
    return b"".join(word.to_bytes(2, "little") for word in words)


def _bits(cells: bytes) -> bytes:
    return bytes(int(cell, 2) for cell in _words(cells, _BITS))


def _characters(cells: bytes) -> bytes:
    """The cells of `od -c`: one character each, or its escape."""
    padded = cells.ljust(-(-len(cells) // 4) * 4)
    out = bytearray()
    for place in range(0, len(padded), 4):
        cell = padded[place : place + 4]
        bare = cell.strip()
        if bare in _NAMED:
            out.append(_NAMED[bare])
        elif _OCTAL.fullmatch(bare):
            out.append(int(bare, 8) & 0xFF)
        else:
            out += cell[-1:]
    return bytes(out)


_LAYOUTS = (_big, _little, _octal, _octal_words, _bits, _characters)


def _is_row(line: bytes) -> bool:
    return bool(_ROW.fullmatch(line) or _LAST.fullmatch(line))


def _unfinished_row(text: bytes) -> int:
    """Where a last line begins that has no end yet and may become a row; the length if none."""
    start = text.rfind(b"\n") + 1
    return start if start < len(text) and _BEGUN.fullmatch(text[start:]) else len(text)


def _lines(text: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", text)
