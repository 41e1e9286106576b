"""Values that were broken into lines, letters or rows of a dump, or encoded more than once."""

import base64
import subprocess
from collections.abc import Callable, Iterator

import pytest

from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from tests.unit.secrets.given import in_pieces

SHORT = "S3cr3tC@nary/Val+ue=9zQ"
LONG = "The-L0ng/est+Canary=ofthemall" * 5
MASKER = Masker([Secret("SHORT", SHORT), Secret("LONG", LONG)])
VALUES = pytest.mark.parametrize("value", [SHORT, LONG], ids=["short", "long"])
FRAGMENT = 6
"""Bytes of a value of which a piece that is not hidden is a leak."""


def xxd(value: bytes, size: int = 16) -> Iterator[str]:
    """Rows as xxd writes them."""
    for at in range(0, len(value), size):
        row = value[at : at + size]
        pairs = " ".join(row[n : n + 2].hex() for n in range(0, len(row), 2))
        yield f"{at:08x}: {pairs:<39}  {row.decode()}\n"


def hexdump(value: bytes) -> Iterator[str]:
    """Rows as `hexdump -C` writes them."""
    for at in range(0, len(value), 16):
        row = value[at : at + 16]
        pairs = "  ".join(part.hex(" ") for part in (row[:8], row[8:]))
        yield f"{at:08x}  {pairs:<48}  |{row.decode()}|\n"
    yield f"{len(value):08x}\n"


WRITTEN: dict[str, Callable[[str], str]] = {
    "one letter a line": "\n".join,
    "carriage returns": "\r".join,
    "one in the middle": lambda v: v[:9] + "\r" + v[9:],
    "blanks": "  ".join,
    "backspaces": lambda v: v[:5] + "\b" + v[5:],
    "wrapped base64": lambda v: base64.encodebytes(v.encode()).decode(),
    "narrow base64": lambda v: "\n".join(base64.b64encode(v.encode()).decode()),
    "base64 twice": lambda v: base64.b64encode(base64.b64encode(v.encode())).decode(),
    "base64 of lines": lambda v: base64.b64encode(base64.encodebytes(v.encode())).decode(),
    "base64 of hex": lambda v: base64.b64encode(v.encode().hex().encode()).decode(),
    "hex of base64": lambda v: base64.b64encode(v.encode()).hex(),
    "base32": lambda v: base64.b32encode(v.encode()).decode(),
    "base32 behind something": lambda v: base64.b32encode(b"ab" + v.encode()).decode()[4:],
    "hex in blocks": lambda v: v.encode().hex(" ", 4),
    "hex with colons": lambda v: v.encode().hex(":").upper(),
    "percent": lambda v: "".join(f"%{byte:02X}" for byte in v.encode()),
    "percent in small letters": lambda v: "".join(f"%{byte:02x}" for byte in v.encode()),
    "escapes": lambda v: "".join(f"\\x{byte:02x}" for byte in v.encode()),
    "C": lambda v: ", ".join(f"0x{byte:02x}" for byte in v.encode()),
    "octal escapes": lambda v: "".join(f"\\{byte:03o}" for byte in v.encode()),
    "numbers": lambda v: str(list(v.encode())),
    "entities": lambda v: "".join(f"&#{ord(c)};" for c in v),
    "unicode escapes": lambda v: "".join(f"\\u{ord(c):04x}" for c in v),
    "UTF-16": lambda v: v.encode("utf-16-le").decode("latin-1"),
    "UTF-16 in base64": lambda v: base64.b64encode(v.encode("utf-16-le")).decode(),
    "backwards": lambda v: v[::-1],
    "xxd": lambda v: "".join(xxd(v.encode())),
    "narrow xxd": lambda v: "".join(xxd(v.encode(), 4)),
    "hexdump -C": lambda v: "".join(hexdump(v.encode())),
}


def leaks(written: str, masked: str) -> list[str]:
    """Pieces of what was written that are still there: more than their ends, and rows' numbers."""
    shown = masked.replace("‹secret:SHORT›", " ").replace("‹secret:LONG›", " ").split()
    bare = "".join(written.split())
    rows = {line.split()[0] for line in written.splitlines() if line[:5] == "00000"}
    return [each for each in shown if len(each) >= FRAGMENT and each in bare and each not in rows]


@VALUES
@pytest.mark.parametrize("way", WRITTEN)
def test_what_was_broken_up_or_encoded_is_hidden(value: str, way: str) -> None:
    """At its borders, at most three bytes stay."""
    written = f"before it\n{WRITTEN[way](value)}\nbehind it\n"
    masked = MASKER.text(written)
    assert "‹secret:" in masked, masked
    assert leaks(WRITTEN[way](value), masked) == []
    assert masked.startswith("before it\n")
    assert masked.endswith("behind it\n")


@VALUES
@pytest.mark.parametrize(
    "command",
    [
        "od -c",
        "od -An -c",
        "od -tx1",
        "od",
        "od -b",
        "od -x",
        "od -w8 -tx1",
        "od -An -tx1",
        "fold -w4",
    ],
)
def test_what_programs_make_of_it_is_hidden(value: str, command: str) -> None:
    """Rows keep their numbers."""
    done = subprocess.run(command.split(), input=value.encode(), capture_output=True, check=True)
    masked = MASKER.bytes(done.stdout).decode()
    assert "‹secret:" in masked
    numbers = {line.split()[0] for line in done.stdout.decode().splitlines()}
    left = [word for word in masked.replace("‹", " ‹").split() if "‹" not in word]
    assert [word for word in left if word not in numbers and len(word) > 1] == []


@VALUES
@pytest.mark.parametrize("way", ["one letter a line", "wrapped base64", "xxd", "hexdump -C"])
def test_cuts_change_nothing(value: str, way: str) -> None:
    """Wherever the stream is cut."""
    output = f"before it\n{WRITTEN[way](value)}\nbehind it\n".encode()
    whole = MASKER.bytes(output)
    for size in (1, 2, 3, 7, 50):
        assert in_pieces(MASKER, output, list(range(0, len(output), size))) == whole


@pytest.mark.parametrize(
    "line",
    [
        "20261123 10:00:01 started 12 34 56",
        "deadbeef add the first file",
        "00000000: 7f45 4c46 0201 0100 0000 0000 0000 0000  .ELF............",
        "0000000 127 105 114 106",
        "S3 cr 3t is no secret",
    ],
)
def test_other_lines_are_as_they_were(line: str) -> None:
    """Dumps of something else, logs, and words that begin as a value does."""
    assert MASKER.text(f"{line}\n") == f"{line}\n"
