"""The forms in which a value appears in output: plain, and as programs encode it."""

import base64
import html
import json
import shlex
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST_VALUE = 6
"""Fewest bytes of a value that can be masked: a shorter one would occur in ordinary words."""

_BROKEN_AFTER = 57
"""Bytes after which `base64` breaks its line."""

SHORTEST_LINE = 8
"""Fewest bytes of a line of a longer value that is searched for by itself."""


def forms(value: str) -> frozenset[bytes]:
    """Every form to search for: of the whole, its bare text, and each line that is long enough.

    None is shorter than `SHORTEST_VALUE` bytes.
    """
    parts = {value, value.strip(), value.replace("\r\n", "\n").replace("\n", "\r\n")}
    parts |= {line for line in map(str.strip, value.splitlines()) if _is_looked_for(line)}
    found = {form for part in parts for form in _encodings(part)}
    return frozenset(form for form in found if len(form) >= SHORTEST_VALUE)


def _is_looked_for(line: str) -> bool:
    """The first line of a key is left out: other keys begin with it, too."""
    return len(line.encode()) >= SHORTEST_LINE and not line.startswith("----")


def _encodings(text: str) -> Iterator[bytes]:
    raw = text.encode()
    yield raw
    yield from _base64(raw)
    yield from _base32(raw)
    yield from _twice(raw)
    yield from _each_byte(raw)
    for wide in ("utf-16-le", "utf-16-be", "utf-32-le"):
        encoded = text.encode(wide)
        yield encoded
        yield encoded.hex().encode()
        yield from _base64(encoded)
    for written in (*_url(text), *_json(text), *_shell(text), *_entities(text)):
        yield written.encode()


def _each_byte(raw: bytes) -> Iterator[bytes]:
    """Written byte by byte, in hexadecimal or octal, as dumps and escapes do; and backwards."""
    pairs = [f"{byte:02x}" for byte in raw]
    for between in ("", ":", "-", ",", "\\x", "%", "0x", ",0x"):
        joined = between.join(pairs)
        whole = between + joined if between in ("\\x", "%", "0x") else joined
        yield whole.encode()
        yield "".join(c.upper() if c in "abcdef" else c for c in whole).encode()
    yield "".join(f"\\{byte:03o}" for byte in raw).encode()
    yield "".join(f"{byte:03o}" for byte in raw).encode()
    yield ",".join(map(str, raw)).encode()
    yield raw.strip()[::-1]  # a form that begins with a line end would hold lines back


def _base32(raw: bytes) -> Iterator[bytes]:
    """As `_base64`, for each of five positions in a group."""
    for before in range(5):
        encoded = base64.b32encode(bytes(before) + raw)
        first = (before * 8 + 4) // 5
        yield encoded[first : (before + len(raw)) * 8 // 5]


def _twice(raw: bytes) -> Iterator[bytes]:
    """Base64 of base64, and of hexadecimal, and hexadecimal of base64."""
    once = base64.b64encode(raw)
    for inner in (*_base64(raw), raw.hex().encode()):
        yield from _base64(inner)
        yield inner.hex().encode()
    yield once.hex().encode()
    yield base64.b64encode(once)
    if len(raw) > _BROKEN_AFTER:
        yield from _base64(base64.encodebytes(raw))


def _base64(raw: bytes) -> Iterator[bytes]:
    """The part that does not depend on its neighbours, for each of three positions in a group."""
    for before in range(3):
        padded = base64.b64encode(bytes(before) + raw)
        first = (before * 8 + 5) // 6
        last = (before + len(raw)) * 8 // 6
        stable = padded[first:last]
        yield stable
        yield stable.translate(bytes.maketrans(b"+/", b"-_"))


def _url(text: str) -> Iterator[str]:
    for safe in ("", "/"):
        for written in (quote(text, safe=safe), quote_plus(text, safe=safe)):
            yield written
            yield _lower_escapes(written)


def _lower_escapes(quoted: str) -> str:
    head, *rest = quoted.split("%")
    return "".join((head, *(f"%{part[:2].lower()}{part[2:]}" for part in rest)))


def _json(text: str) -> Iterator[str]:
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
    # Python's and many loggers' way of showing a text
    yield repr(text)[1:-1]


def _entities(text: str) -> Iterator[str]:
    """As HTML and XML write it, and as JSON does that escapes every character."""
    yield html.escape(text)
    yield html.escape(text, quote=False)
    yield "".join(f"&#{ord(c)};" for c in text)
    yield "".join(f"&#x{ord(c):x};" for c in text)
    yield "".join(f"\\u{ord(c):04x}" for c in text)


def _shell(text: str) -> Iterator[str]:
    """As `quote`, `printf %q`, `set -x` and double quotes write it."""
    yield shlex.quote(text)[1:-1] if shlex.quote(text) != text else text
    yield text.replace("'", "'\\''")
    yield "".join(f"\\{c}" if c in _SPECIAL else c for c in text)
    yield "".join(f"\\{c}" if c in '"$`\\' else c for c in text)


_SPECIAL = frozenset(" \t!\"#$&'()*;<>?[\\]^`{|}~,")
