"""The shell text that starts an agent in a containment of its host's kernel."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from shared.domain.containment import Hidden, Networks
from workers.shells.remote.runner_text import join_scripts

LOOPBACK: Final = "127.0.0.1"
"""Where a contained agent finds the gateway that it reaches through the relay."""

_NOWHERE: Final = f"{LOOPBACK} 9"
_START: Final = "start_contained"
_TRIAL: Final = """
trial=$(mktemp -d) && mkdir -p "$trial/home/temporary" || refuse records
trap 'rm -rf "$trial"' EXIT
replan_home=$trial/home replan_shown="rw $trial/home"
"""
_COMMENT = re.compile(r"^\s*#.*|(?<=\(\) \{) # .*")


@dataclass(frozen=True, slots=True)
class Place:
    """What an agent that runs contained may write to and see, by absolute paths on the host.

    It writes to `writable` and to `home`, the folder of its attempt; what `readable` names is shown
    even where what lies around it is hidden. Nothing is seen of the other workspaces below
    `workspaces`. `gateway` is the URL that is reachable whatever `networks` says.
    """

    home: str = ""
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    workspaces: str = ""
    hidden: Hidden = Hidden()  # noqa: RUF009 - it is frozen
    networks: Networks = Networks.ALL
    gateway: str | None = None


def place_of_workspace(path: str, home: str) -> Place:
    """The place of an agent in the workspace of that path (`workspaces/prepare.sh`)."""
    repository = PurePosixPath(path).parents[2]
    objects = repository / "ours.git" / "objects"
    return Place(home, (path,), (str(objects),), str(repository.parent))


def reachable_gateway(url: str) -> str | None:
    """The URL of a gateway as an agent reaches it through the relay; None if it cannot.

    The relay carries bytes, and so no names that a certificate vouches for.
    """
    address = urlsplit(url)
    if address.scheme != "http":
        return None
    return f"http://{LOOPBACK}:{address.port or 80}"


def contained(program: str, words: Iterable[str], place: Place) -> str:
    """A text for sh that has `program` run contained, and ends with its exit code.

    `program` is a text for sh; `words` are the programs that it starts. If it cannot run contained,
    it does not run: the exit code is 125, and the last line of the errors is `uncontained`, the
    reason (`Missing`) and the words of the host.
    """
    own = tuple(f"{each}/" for each in (*place.writable, place.home))
    others = [word for word in words if not word.startswith(own)]
    return "\n".join((_values(program, others, place), _script("ids", "start"), _START))


def trial(program: str, place: Place) -> str:
    """The same in a home of its own, of which nothing is kept; that of `place` does not count."""
    text = _values(program, (), place)
    return "\n".join((text, _script("ids", "start"), _TRIAL, _START))


def _values(program: str, words: Iterable[str], place: Place) -> str:
    shown = [f"rw {each}" for each in (*place.writable, place.home)]
    shown += [f"ro {each}" for each in place.readable]
    given = {
        "home": place.home,
        "shown": "\n".join(shown),
        "words": "\n".join(words),
        "program": program,
        "workspaces": place.workspaces,
        "networks": place.networks,
        "gateway": _address(place.gateway),
        "hidden": "\n".join(place.hidden.places),
        "names": place.hidden.names,
        "public": place.hidden.public,
        "stage": _script("ids", "sealing", "stage"),
        "first": _script("ids", "first"),
        "python": "" if place.networks is Networks.ALL else _relay("relay.py"),
        "perl": "" if place.networks is Networks.ALL else _relay("relay.pl"),
    }
    return "\n".join(f"replan_{name}={shlex.quote(value)}" for name, value in given.items())


def _address(url: str | None) -> str:
    if url is None:
        return _NOWHERE
    address = urlsplit(url)
    return f"{address.hostname} {address.port or 80}"


@cache
def _script(*names: str) -> str:
    shared = {"ids", "sealing"}
    return "\n".join(
        join_scripts(f"{name}.sh") if name in shared else _own(f"{name}.sh") for name in names
    )


@cache
def _own(name: str) -> str:
    lines = (_COMMENT.sub("", line.lstrip(" ")) for line in _read(name).splitlines())
    return "\n".join(line for line in lines if line)


@cache
def _relay(name: str) -> str:
    return "\n".join(
        line for line in _read(name).splitlines() if line and not line.lstrip().startswith("#")
    )


def _read(name: str) -> str:
    return files("workers.agents.containment").joinpath(name).read_text(encoding="utf-8")
