"""Converts given values, text or TOML, to values of the right kind, or says why it cannot."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

from shared.settings.keys import Key, ValueKind
from shared.settings.server import BUCKET

Value = bool | float | str | Path | tuple[str, ...] | tuple[Path, ...] | None

_TRUE = frozenset({"true", "on", "yes", "1"})
_FALSE = frozenset({"false", "off", "no", "0"})


class Unfit(ValueError):
    """A value that its key does not accept; the message names the value and what is allowed."""


@dataclass(frozen=True, slots=True)
class PathBase:
    """What `~` means, and the base of relative folders."""

    home: Path
    base: Path

    def folder(self, text: str) -> Path:
        """The folder that a text names."""
        if text == "~" or text.startswith("~/"):
            return self.home / text[2:]
        return self.base / text


def from_text(key: Key, text: str, places: PathBase) -> Value:
    """The value of a text from the environment or from `--set`; raises Unfit.

    A list is TOML's `["a", "b"]`, or entries between commas (folders: between colons).
    """
    text = text.strip()
    match key.kind:
        case ValueKind.FLAG if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        case ValueKind.FLAG:
            raise _unfit(key, text)
        case ValueKind.TEXT if key.formerly and text.lower() in (_TRUE | _FALSE) - {"off"}:
            return key.formerly[text.lower() in _TRUE]
        case ValueKind.WHOLE | ValueKind.NUMBER:
            return _number(key, text)
        case ValueKind.TEXTS | ValueKind.PATHS:
            return from_toml(key, _list_items(key, text), places)
    return from_toml(key, text, places)


def from_toml(key: Key, value: object, places: PathBase) -> Value:
    """The value of a TOML value; raises Unfit."""
    match key.kind:
        case ValueKind.FLAG if isinstance(value, bool):
            return value
        case ValueKind.WHOLE | ValueKind.NUMBER:
            return _fits(key, value)
        case ValueKind.TEXT if key.formerly and isinstance(value, bool):
            return key.formerly[value]
        case ValueKind.TEXT if isinstance(value, str):
            return _text(key, value)
        case ValueKind.PATH if isinstance(value, str):
            return _folder(key, value, places)
        case ValueKind.PLACE if isinstance(value, str):
            return _place(key, value, places)
        case ValueKind.TEXTS if isinstance(value, list):
            return tuple(_plain(key, entry) for entry in value)
        case ValueKind.PATHS if isinstance(value, list):
            return tuple(_folder(key, entry, places) for entry in value)
    raise _unfit(key, value)


def _number(key: Key, text: str) -> float:
    try:
        return _fits(key, int(text) if key.kind is ValueKind.WHOLE else float(text))
    except ValueError:
        raise _unfit(key, text) from None


def _fits(key: Key, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise _unfit(key, given)
    if key.kind is ValueKind.WHOLE and not isinstance(given, int):
        raise _unfit(key, given)
    if not math.isfinite(given):
        raise _unfit(key, given)
    if key.limits is not None and not key.limits[0] <= given <= key.limits[1]:
        raise _unfit(key, given)
    return given if key.kind is ValueKind.WHOLE else float(given)


def _text(key: Key, text: str) -> str | None:
    if not text and key.optional:
        return None
    text = _plain(key, text)
    if key.choices and text not in key.choices:
        raise _unfit(key, text)
    beginnings = key.schemes or key.beginnings
    if beginnings and not text.startswith(beginnings):
        raise _unfit(key, text)
    return text


def _plain(key: Key, given: object) -> str:
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise _unfit(key, given)
    return given.strip()


def _folder(key: Key, given: object, places: PathBase) -> Path:
    return places.folder(_plain(key, given))


def _place(key: Key, text: str, places: PathBase) -> str | None:
    """A bucket's address as it is, or else a folder."""
    if not text and key.optional:
        return None
    if "://" not in text:
        return str(_folder(key, text, places))
    place = _plain(key, text)
    if not BUCKET.fullmatch(place):
        raise _unfit(key, place)
    return place


def _list_items(key: Key, text: str) -> list[object]:
    if text.startswith("["):
        try:
            listed: list[object] = tomllib.loads(f"entries = {text}")["entries"]
        except tomllib.TOMLDecodeError:
            raise _unfit(key, text) from None
        return listed
    separator = ":" if key.kind is ValueKind.PATHS else ","
    return [entry for entry in (part.strip() for part in text.split(separator)) if entry]


def _unfit(key: Key, value: object) -> Unfit:
    return Unfit(f"{_show(key, value)} is not allowed; allowed: {key.allowed}")


def _show(key: Key, value: object) -> str:
    """The value to show; of an address only the scheme, because the rest may contain a password."""
    if key.secret:
        return "what was given"
    has_address = key.schemes or key.kind is ValueKind.PLACE
    if has_address and isinstance(value, str):
        scheme, found, _ = value.partition("://")
        return repr(f"{scheme}://…") if found else "what was given"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
