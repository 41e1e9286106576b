"""Programs of coding agents that are installed together with replan (`replan[agents]`)."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_PACKAGE: Final = "claude_agent_sdk"
"""Its wheel brings the program of Claude Code."""


def search_path(path: str) -> str:
    """A PATH on which programs of this installation are found that are not on the given one."""
    folder = _bundled()
    return path if folder is None else f"{path}:{folder}"


@cache
def _bundled() -> Path | None:
    """The folder with `claude` in it; None if the extra is not installed."""
    found = find_spec(_PACKAGE)
    for folder in (found and found.submodule_search_locations) or ():
        if (place := Path(folder, "_bundled")).joinpath("claude").is_file():
            return place
    return None
