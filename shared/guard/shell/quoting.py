"""What backslashes mean in each kind of quoting."""

import re

_SIMPLE = {
    "a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11,
    "\\": 92, "'": 39, '"': 34, "?": 63,
}  # fmt: skip
_ANSI_C = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})"
    r"|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.))",
    re.DOTALL,
)
_PRINTF = re.compile(r"\\(?:([abfnrtv\\\"])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_ECHO = re.compile(r"\\(?:([abeEfnrtv\\])|0([0-7]{0,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_UNICODE_END = 0x110000


def unquoted_pieces(text: str) -> list[tuple[str, bool]]:
    """Unquoted text as (text, quoted) pieces: a backslash quotes the character behind it."""
    pieces: list[tuple[str, bool]] = []
    plain_from = 0
    position = 0
    while (position := text.find("\\", position)) != -1:
        if position > plain_from:
            pieces.append((text[plain_from:position], False))
        following = text[position + 1 : position + 2]
        if following != "\n":  # an escaped newline joins two lines
            pieces.append((following or "\\", True))
        position += 2
        plain_from = position
    if plain_from < len(text):
        pieces.append((text[plain_from:], False))
    return pieces


def double_quote(text: str) -> str:
    """The text inside double quotes, where a backslash is special before five characters only."""
    return re.sub(r'\\([$`"\\]|\n)', lambda found: found[1].strip("\n"), text)


def heredoc(text: str) -> str:
    """The text of a heredoc whose delimiter is not quoted."""
    return re.sub(r"\\([$`\\]|\n)", lambda found: found[1].strip("\n"), text)


def ansi_c(text: str) -> str:
    """The text inside `$'…'`; it ends at an escaped NUL, as in bash."""
    out = bytearray()
    position = 0
    for found in _ANSI_C.finditer(text):
        out += text[position : found.start()].encode("utf-8", "surrogateescape")
        position = found.end()
        code = _ansi_c_bytes(found)
        if code == b"\0":
            return out.decode("utf-8", "surrogateescape")
        out += code
    out += text[position:].encode("utf-8", "surrogateescape")
    return out.decode("utf-8", "surrogateescape")


def _ansi_c_bytes(found: re.Match[str]) -> bytes:
    simple, octal, hexa, short, long, control = found.groups()
    if simple:
        return bytes([_SIMPLE[simple]])
    if octal:
        return bytes([int(octal, 8) & 0xFF])
    if hexa:
        return bytes([int(hexa, 16)])
    if control:
        return bytes([ord(control[:1].upper()) & 0x1F])
    code = int(short or long, 16)
    return chr(code).encode("utf-8", "surrogatepass") if code < _UNICODE_END else b"?"


def printf_escapes(text: str) -> str | None:
    """What printf makes of the escapes in its format; None where shells differ."""
    return _escapes(_PRINTF, text)


def echo_escapes(text: str) -> str | None:
    """What `echo -e` makes of escapes; None where shells differ, or the output is cut."""
    return _escapes(_ECHO, text)


def _escapes(pattern: re.Pattern[str], text: str) -> str | None:
    out = bytearray()
    position = 0
    for found in pattern.finditer(text):
        out += text[position : found.start()].encode("utf-8", "surrogateescape")
        position = found.end()
        simple, octal, hexa, other = found.groups()
        if other is not None:
            return None
        if simple:
            out.append(_SIMPLE[simple])
        else:
            out.append(int(hexa, 16) if hexa else int(octal or "0", 8) & 0xFF)
    out += text[position:].encode("utf-8", "surrogateescape")
    return None if 0 in out else out.decode("utf-8", "surrogateescape")
