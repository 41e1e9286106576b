"""A script of answers: what a model would say, for tests, demonstrations and smoke checks.

    turns:
    - - text: I write the file.
      - tool: Bash
        input: {command: "echo hello > hello.txt"}
    - - {status: 529, headers: {retry-after: "1"}, times: 2}
      - text: Done.

A script has no memory: the turn that answers a request is the number of times that the model has
already spoken in it. So retries, resumed sessions and crashes get the same answers again. Only
`times` counts requests.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from shared.domain.errors import Rejected
from shared.domain.next_step import ShellCommand
from workers.gateway.protocols.protocol import Part, Text, ToolUse

LONGEST_SLEEP: Final = 3600.0


class InvalidScript(Exception):
    """A value that is not a valid script; the message says why."""


@dataclass(frozen=True, slots=True)
class Fails:
    """An error answer with that status: always, or for the first `times` requests of the turn."""

    status: int
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Sleeps:
    """A pause, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Awaits:
    """Nothing more comes until that file exists."""

    path: Path


@dataclass(frozen=True, slots=True)
class Hangs:
    """Nothing more comes, and the connection stays open."""


@dataclass(frozen=True, slots=True)
class BreaksOff:
    """The connection ends in the middle of the answer."""


@dataclass(frozen=True, slots=True)
class Uses:
    """The tokens that the answer tells; without it they are estimated from the texts."""

    input: int | None = None
    cached: int = 0
    output: int | None = None


Item = Part | Fails | Sleeps | Awaits | Hangs | BreaksOff | Uses
ScriptTurn = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The turns for requests in which the text `when` occurs, from the turn `offset` on."""

    turns: tuple[ScriptTurn, ...]
    when: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Script:
    """Answers for all requests: the first case that fits is taken."""

    cases: tuple[Case, ...]
    models: tuple[str, ...] = ("scripted",)

    def case_of(self, text: str) -> Case:
        """The case for a request with that text; one without turns if none fits."""
        return next((case for case in self.cases if case.when in text), Case(()))


def read_script(path: Path) -> Script:
    """Read a script, YAML or JSON; raises Rejected if it is not a valid one."""
    try:
        return parse_script(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise _wrong(path, error.strerror or "it cannot be read") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _wrong(path, f"it is not valid YAML: {error}") from error
    except InvalidScript as error:
        raise _wrong(path, str(error)) from error


def parse_script(value: Any) -> Script:
    """The script that a value of JSON describes; raises InvalidScript if it is not a valid one."""
    if isinstance(value, list):
        value = {"turns": value}
    if not isinstance(value, Mapping):
        raise InvalidScript("a script has `turns` or `cases`")
    _only(value, {"turns", "cases", "models", "offset"}, "script")
    cases = [_case(each) for each in _listed(value.get("cases", []), "cases")]
    if "turns" in value:
        cases.append(_case({"turns": value["turns"], "offset": value.get("offset", 0)}))
    if not cases:
        raise InvalidScript("a script has `turns` or `cases`")
    models = tuple(map(str, _listed(value.get("models", ["scripted"]), "models")))
    return Script(tuple(cases), models)


def _case(value: Any) -> Case:
    if not isinstance(value, Mapping):
        raise InvalidScript("each of `cases` has `when` and `turns`")
    _only(value, {"when", "turns", "offset"}, "case")
    offset = value.get("offset", 0)
    if not isinstance(offset, int):
        raise InvalidScript(f"offset {offset!r} is not a number of turns")
    turns = tuple(map(_turn, _listed(value.get("turns"), "turns")))
    return Case(turns, str(value.get("when", "")), offset)


def _turn(value: Any) -> ScriptTurn:
    return tuple(map(_item, value if isinstance(value, list) else [value]))


def _item(value: Any) -> Item:
    if not isinstance(value, Mapping):
        raise InvalidScript(f"{_shown(value)} is not a part of a turn: it has no `text` or `tool`")
    kinds = [name for name in _ITEMS if name in value]
    if len(kinds) != 1:
        raise InvalidScript(f"{_shown(value)}: name exactly one of {', '.join(_ITEMS)}")
    allowed, make = _ITEMS[kinds[0]]
    _only(value, {kinds[0], *allowed}, _shown(value))
    return make(value)


def _tool(value: Mapping[str, Any]) -> Item:
    arguments = value.get("input", {})
    if not isinstance(arguments, Mapping):
        raise InvalidScript(f"{_shown(value)}: the input of a tool is an object")
    return ToolUse(str(value["tool"]), dict(arguments))


def _fails(value: Mapping[str, Any]) -> Item:
    status, times = value["status"], value.get("times")
    if not isinstance(status, int) or not 400 <= status <= 599:  # noqa: PLR2004 - HTTP's errors
        raise InvalidScript(f"status {status!r} is not that of an error, 400 to 599")
    if times is not None and not isinstance(times, int):
        raise InvalidScript(f"times {times!r} is not a number of requests")
    headers = {str(name).lower(): str(each) for name, each in value.get("headers", {}).items()}
    return Fails(status, str(value.get("message", "scripted")), headers, times)


def _sleeps(value: Mapping[str, Any]) -> Item:
    seconds = value["sleep"]
    if not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_SLEEP:
        raise InvalidScript(f"sleep {seconds!r} is not a number of seconds up to {LONGEST_SLEEP:g}")
    return Sleeps(float(seconds))


def _uses(value: Mapping[str, Any]) -> Item:
    told = value["usage"]
    if not isinstance(told, Mapping) or not all(isinstance(n, int) for n in told.values()):
        raise InvalidScript("usage has `input`, `cached` and `output`, in tokens")
    _only(told, {"input", "cached", "output"}, "usage")
    return Uses(**told)


_ITEMS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any]], Item]]]] = {
    "text": ((), lambda value: Text(str(value["text"]))),
    "tool": (("input",), _tool),
    "custom": (
        ("input",),
        lambda value: ToolUse(str(value["custom"]), str(value.get("input", "")), custom=True),
    ),
    "status": (("headers", "times", "message"), _fails),
    "sleep": ((), _sleeps),
    "await": ((), lambda value: Awaits(Path(str(value["await"])))),
    "hang": ((), lambda _: Hangs()),
    "cut": ((), lambda _: BreaksOff()),
    "usage": ((), _uses),
}


def _listed(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise InvalidScript(f"`{name}` is not a list")
    return value


def _only(value: Mapping[str, Any], allowed: set[str], where: str) -> None:
    if unknown := sorted(map(str, value.keys() - allowed)):
        raise InvalidScript(f"{where}: {', '.join(unknown)} is not known")


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:80]


def _wrong(path: Path, why: str) -> Rejected:
    return Rejected(
        f"the script {path} is not valid: {why}",
        stage="input",
        next_step=ShellCommand(f"cat {path}"),
    )
