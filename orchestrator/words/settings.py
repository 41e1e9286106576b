"""The page of all settings: each with its default, its unit, what is allowed, and its meaning."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shared.settings import KEYS, Key, KeyScope

_HEAD = """\
# Settings

Written by `make settings-page`; do not edit it.

A value comes from `replan.toml` (`[server]`, `[agent]`; `--config FILE` names another), or from
the environment, which wins: `REPLAN_` and the key in capitals (`REPLAN_LEASE=60`). Keys of tasks
can also be given with `task submit --set key=value`, which wins over both; a task keeps the
settings that it was submitted with. `replan config show` lists every key, its value here, and
where the value comes from; `replan config explain KEY` explains one. A list is `["a", "b"]`, in
the environment also `a,b`; folders are divided by colons. A flag is true or false.
"""

_SECTIONS = {
    "server": (
        "Of the installation: `[server]`",
        "Read once when a process starts: after a change, restart `replan up` or the services.",
    ),
    "agent": ("Of a task: `[agent]`, or `--set`", "Read when a task is submitted."),
}

_SECRETS = """\
## Keys and tokens

Read only from the environment of the process that needs them, under exactly these names.

| variable | |
|---|---|
"""


def page() -> str:
    """The whole page."""
    return "\n".join((_HEAD, *map(_section, KeyScope), _SECRETS + "\n".join(_secrets()))) + "\n"


def _section(scope: KeyScope) -> str:
    title, told = _SECTIONS[scope.value]
    rows = (_row(key) for key in KEYS.values() if key.scope is scope and not key.secret)
    head = "| key | default | allowed | |\n|---|---|---|---|"
    return f"## {title}\n\n{told}\n\n{head}\n" + "\n".join(rows) + "\n"


def _row(key: Key) -> str:
    default = _shown(key, key.default)
    return f"| `{key.name}` | {default} | {_allowed(key)} | {key.about} |"


def _secrets() -> Iterator[str]:
    for key in KEYS.values():
        if key.secret:
            yield f"| `{key.variables[0]}` | {key.about} |"


def _allowed(key: Key) -> str:
    if key.choices:
        return ", ".join(f"`{choice}`" for choice in key.choices)
    if key.limits is not None:
        low, high = (f"{limit:,.10g}".replace(",", " ") for limit in key.limits)
        return f"{low} to {high} {key.unit}"
    return key.allowed


def _shown(key: Key, value: Any) -> str:
    """A default as a person would type it, with its unit."""
    if key.name == "data_dir":
        return "`~/.local/share/replan`"
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g} {key.unit}"
    return f"`{', '.join(value)}`" if isinstance(value, tuple) else f"`{value}`"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page into a file."""
    parser = argparse.ArgumentParser(prog="python -m orchestrator.words.settings")
    parser.add_argument("--write", metavar="FILE", type=Path, required=True)
    parser.parse_args(arguments).write.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
