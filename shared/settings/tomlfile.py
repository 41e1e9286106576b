"""The settings file: where to find it, and its entries."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shared.domain.errors import Misconfigured
from shared.domain.nearest import nearest
from shared.domain.next_step import edit_file
from shared.settings.keys import KEYS, KeyScope

SECTIONS = tuple(scope.value for scope in KeyScope)


def find_file(environ: Mapping[str, str], given: Path | None, home: Path) -> Path | None:
    """The file to read; raises Misconfigured if a named file does not exist."""
    named = given or (Path(environ["REPLAN_CONFIG"]) if environ.get("REPLAN_CONFIG") else None)
    if named is not None:
        if not named.is_file():
            raise _wrong(named, "there is no such file")
        return named
    config_home = Path(environ.get("XDG_CONFIG_HOME", ""))
    shared = config_home if config_home.is_absolute() else home / ".config"
    usual = (Path("replan.toml"), shared / "replan" / "config.toml")
    return next((path for path in usual if path.is_file()), None)


def read_file(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Each entry as (section, key, value); raises Misconfigured for an invalid file."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _wrong(path, f"cannot be read: {error}") from error
    for section, entries in data.items():
        if section not in SECTIONS:
            raise _wrong(path, _unknown(section))
        if not isinstance(entries, dict):
            raise _wrong(path, f"{section} must be a section: [{section}]")
        yield from ((section, name, value) for name, value in entries.items())


def _unknown(section: str) -> str:
    if section in KEYS:
        return f"{section} belongs under [{KEYS[section].scope.value}]"
    near = nearest(section, SECTIONS)
    meant = f"did you mean [{near}]? " if near else ""
    return f"[{section}] is unknown; {meant}known: [server], [agent]"


def _wrong(path: Path, told: str) -> Misconfigured:
    return Misconfigured(f"{path}: {told}", stage="config", next_step=edit_file(path))
