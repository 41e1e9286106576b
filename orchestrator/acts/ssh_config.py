"""What a person's own SSH configuration says of a host, read by OpenSSH itself."""

import os
import re
import subprocess
from dataclasses import fields, replace
from getpass import getuser
from pathlib import Path
from typing import Final

from orchestrator.acts.hosts import NAME_SHAPE, SshOptions, check_name
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep

PATIENCE: Final = 30.0
"""Seconds that reading may take: a `Match exec` of the file may start programs."""

_TOKEN: Final = re.compile(r"%.")
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")

_Values = dict[str, list[str]]


def with_ssh_config(name: str, file: Path, said: SshOptions) -> SshOptions:
    """The options that were said, the others as `ssh -F FILE NAME` would have them.

    Raises Rejected where the file cannot be read, or needs what replan does not do.
    """
    check_name(name)
    values = _read(name, file)
    found = SshOptions(
        address=_first(values, "hostname"),
        port=int(_first(values, "port") or "22"),
        user=_first(values, "user"),
        key_path=said.key_path or (None if said.password else _key(name, values)),
        jump=said.jump or _jump(name, file, values),
    )
    given = {each.name: getattr(said, each.name) for each in fields(said)}
    return replace(found, **{option: value for option, value in given.items() if value is not None})


def _read(name: str, file: Path) -> _Values:
    try:
        asked = subprocess.run(
            ["ssh", "-G", "-F", str(file), "--", name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise _refusal("there is no program ssh on this machine, which reads it", name) from None
    except subprocess.TimeoutExpired:
        raise _refusal(f"ssh has not read it within {PATIENCE:.0f} s", name) from None
    if asked.returncode != 0:
        said = [line for line in asked.stderr.splitlines() if str(file) in line]
        why = said[0] if said else asked.stderr.strip() or f"ssh exited with {asked.returncode}"
        raise _refusal(why, name)
    values: _Values = {}
    for line in asked.stdout.splitlines():
        keyword, _, value = line.partition(" ")
        values.setdefault(keyword, []).append(value)
    return values


def _refusal(why: str, name: str) -> Rejected:
    return Rejected(
        f"the SSH configuration cannot be used: {why}",
        stage="input",
        next_step=NextStep.of(
            "host add", name, address=Blank("ADDRESS"), user=Blank("USER"), key=Blank("FILE")
        ),
    )


def _first(values: _Values, keyword: str) -> str | None:
    return next(iter(values.get(keyword, ())), None)


def _key(name: str, values: _Values) -> str | None:
    """The first key file that is there; where only one is named, that one in any case."""
    named = [_expand(name, each, values) for each in values.get("identityfile", ())]
    files = [str(Path(each).expanduser().absolute()) for each in named if each != "none"]
    there = (each for each in files if Path(each).is_file())
    return next(there, files[0] if len(files) == 1 else None)


def _expand(name: str, file: str, values: _Values) -> str:
    """The name of a key file without its tokens, which `ssh -G` leaves as they are written."""
    tokens = {
        "%%": "%",
        "%d": str(Path.home()),
        "%h": _first(values, "hostname") or name,
        "%n": name,
        "%p": _first(values, "port") or "22",
        "%r": _first(values, "user") or "",
        "%u": getuser(),
        "%i": str(os.getuid()),
    }
    told = _TOKEN.sub(lambda found: tokens.get(found[0], found[0]), file)
    return _VARIABLE.sub(lambda found: os.environ.get(found[1], found[0]), told)


def _jump(name: str, file: Path, values: _Values) -> str | None:
    """The enrolled host of the name that ProxyJump gives."""
    if _first(values, "proxycommand") not in {None, "none"}:
        raise _refusal(f"it reaches {name} by a ProxyCommand, which replan does not run", name)
    jump = _first(values, "proxyjump")
    if jump in {None, "none"}:
        return None
    if re.fullmatch(NAME_SHAPE, jump or ""):
        return jump
    raise Rejected(
        f"{file} reaches {name} through {jump}: enrol that under a name of its own, and give the "
        "name with --jump",
        stage="input",
        next_step=NextStep.of("host add", name, ssh_config=str(file), jump=Blank("NAME")),
    )
