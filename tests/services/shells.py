"""The shells that hosts have: those of this machine, and unpacked packages of those it lacks."""

import shlex
import shutil
from functools import cache
from pathlib import Path
from typing import Final

from tests.services.availability import UnavailableError, give_up
from tests.services.packages import library_path, unpacked

BINARIES: Final = {
    "bash": "bin/bash",
    "busybox": "bin/busybox",
    "dash": "bin/dash",
    "fish": "bin/fish",
    "ksh": "bin/ksh93",
    "tcsh": "bin/tcsh",
    "zsh": "bin/zsh",
}
"""Each package is named like its shell; where its program lies, with or without `usr/` before."""


def shell_for_tests(name: str) -> Path:
    """The program of a shell; the test fails or is skipped (`give_up`) where there is none."""
    try:
        return shell(name)
    except UnavailableError as reason:
        give_up(reason)


@cache
def shell(name: str) -> Path:
    """The program of a shell, installed or unpacked; UnavailableError if neither can be had."""
    installed = shutil.which(name)
    if installed is not None:
        return Path(installed)
    root = unpacked(name)
    for folder in (root, root / "usr"):
        program = folder / BINARIES[name]
        if program.exists():
            return with_libraries(program, root)
    raise UnavailableError(f"the package {name} has no {BINARIES[name]}")


def with_libraries(program: Path, root: Path) -> Path:
    """The program, or a script beside its files that starts it with the libraries it came with."""
    if not any(root.glob("**/lib/**/*.so.*")):
        return program
    script = root / program.name
    text = (
        "#!/bin/sh\n"
        f"LD_LIBRARY_PATH={shlex.quote(library_path(root))} exec {shlex.quote(str(program))} "
        '"$@"\n'
    )
    if not script.exists() or script.read_text() != text:
        fresh = script.with_name(f".{script.name}.new")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)
    return script
