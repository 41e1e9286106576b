"""Settings from their sources: `--set` overrides the environment, which overrides the file."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shared.domain.config import ModelProvider, Policy, union
from shared.domain.errors import Misconfigured
from shared.domain.next_step import Advice, NextStep, ShellCommand, edit_file
from shared.settings.connection import ConnectionFile, RunningElsewhere
from shared.settings.keys import KEYS, Key, KeyScope
from shared.settings.naming import KeyFault, find_key, lookalike
from shared.settings.server import ServerSettings
from shared.settings.tomlfile import find_file, read_file
from shared.settings.values import PathBase, Unfit, Value, from_text, from_toml

OVERRIDE = "--set"

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


class Implied(StrEnum):
    """The source of a value that nobody has set."""

    DEFAULT = "default"
    RUNNING = "replan up"  # the servers that run here
    PROVIDER = "model_provider"  # what follows from it


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings.

    `sources` says where the value of each key comes from: `default`, a file's path, an environment
    variable's name, `--set`, `replan up`, or `model_provider`. `file` is the file that was read.
    """

    server: ServerSettings = field(default_factory=ServerSettings)
    agent: Policy = field(default_factory=Policy)
    sources: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    def is_given(self, name: str) -> bool:
        """Whether a file, the environment or the command line sets the key."""
        return not isinstance(self.sources.get(name, Implied.DEFAULT), Implied)

    def value(self, key: str) -> object:
        """The value of a key of either scope."""
        known = KEYS[key]
        value: object = getattr(
            self.server if known.scope is KeyScope.SERVER else self.agent, known.field
        )
        return value

    def with_agent(self, overrides: Iterable[str]) -> "Settings":
        """The same with `key=value` overrides of the `agent` scope; raises Misconfigured.

        Whatever is forbidden here stays forbidden: an override adds to that list.
        """
        given = _Given()
        given.read_overrides(overrides)
        given.refuse_faults()
        forbidden = given.values.get("forbidden_commands")
        if forbidden is not None:
            given.values["forbidden_commands"] = union(self.agent.forbidden_commands, forbidden)
        sources = {**self.sources, **dict.fromkeys(given.values, OVERRIDE)}
        return replace(
            self, agent=replace(self.agent, **given.values), sources=MappingProxyType(sources)
        )


def load_settings(
    environ: Mapping[str, str],
    config_file: Path | None = None,
    overrides: Iterable[str] = (),
    *,
    find_running: bool = True,
) -> Settings:
    """Read the settings; with `find_running`, those of this user's `replan up` where it runs.

    The file is `config_file`, else `$REPLAN_CONFIG`, else `./replan.toml`, else
    `~/.config/replan/config.toml`; the last two may be missing.

    Raises Misconfigured, at stage `config`, naming every invalid key, its value, its source and the
    allowed values.
    """
    home = _home(environ)
    given = _Given(home)
    path = find_file(environ, config_file, home)
    if path is not None:
        given.read_file(path)
    given.read_environment(environ)
    given.read_overrides(overrides)
    given.refuse_faults()
    usual = usual_data_dir(environ)
    if "data_dir" not in given.values:
        given.values["data_dir"] = usual
        if find_running:
            given.follow_running(usual)
    if find_running:
        given.reach_running()
    given.follow_provider()
    return given.settings(path)


class _Given:
    """The values so far, their sources, and what is wrong with them."""

    def __init__(self, home: Path = Path()) -> None:
        self._home = home
        self.values: dict[str, Any] = {}
        self._sources: dict[str, str] = {}
        self._faults: list[KeyFault] = []

    def read_file(self, path: Path) -> None:
        places = PathBase(self._home, path.absolute().parent)
        for place, name, value in read_file(path):
            key = self._key(name, place, str(path))
            if key is not None:
                self._take(key, str(path), partial(from_toml, key, value, places))

    def read_environment(self, environ: Mapping[str, str]) -> None:
        known = {variable for key in KEYS.values() for variable in key.variables}
        for key in KEYS.values():
            variable = next((v for v in key.variables if environ.get(v, "").strip()), None)
            if variable is not None:
                self._take_text(key, variable, environ[variable])
        for variable in sorted(environ):
            if variable.startswith("REPLAN_") and (near := lookalike(variable, known)):
                self._faults.append(KeyFault(variable, f"is unknown; did you mean {near}?"))

    def read_overrides(self, overrides: Iterable[str]) -> None:
        for override in overrides:
            name, equals, value = override.partition("=")
            if not equals:
                self._faults.append(KeyFault(f"--set {override}", "must look like key=value"))
                continue
            key = self._key(name.strip(), KeyScope.AGENT.value, OVERRIDE)
            if key is not None:
                self._take_text(key, OVERRIDE, value)

    def refuse_faults(self) -> None:
        """Raise Misconfigured if anything was wrong."""
        if not self._faults:
            return
        lines = [str(fault) for fault in self._faults]
        many = "\n  ".join((f"{len(lines)} settings cannot be used:", *lines))
        reason = lines[0] if len(lines) == 1 else many
        raise Misconfigured(reason, stage="config", next_step=_mend(self._faults[0]))

    def follow_running(self, usual: Path) -> None:
        """Where nothing runs in the usual folder, use the one in which something does."""
        if "database_url" in self.values or ConnectionFile.read(usual) is not None:
            return
        place = RunningElsewhere(usual).only()
        if place is not None:
            self.values["data_dir"] = place
            self._sources["data_dir"] = Implied.RUNNING

    def reach_running(self) -> None:
        """Take missing addresses of database and broker from this user's running `replan up`."""
        if "database_url" in self.values:
            return
        running = ConnectionFile.read(self.values["data_dir"])
        if running is None:
            return
        for name in ("database_url", "broker_url"):
            if name not in self.values:
                self.values[name] = getattr(running, name)
                self._sources[name] = Implied.RUNNING

    def follow_provider(self) -> None:
        """Let the provider of the models answer for each role that names no other planner.

        The default model is Anthropic's; a provider with other names for models has none.
        """
        provider = self.values.get("model_provider", ModelProvider.ANTHROPIC)
        if provider == ModelProvider.ANTHROPIC:
            return
        implied = dict.fromkeys(("taskmaster", "planner", "subtask_planner"), provider)
        if provider not in {ModelProvider.VERTEX, ModelProvider.FOUNDRY}:
            implied["model"] = ""
        for name, value in implied.items():
            if name not in self.values:
                self.values[name] = value
                self._sources[name] = Implied.PROVIDER

    def settings(self, path: Path | None) -> Settings:
        server = ServerSettings(**dict(self._of(KeyScope.SERVER)))
        self._require_room(
            server, "lease", "heartbeat", "a worker would lose its job between two signs of life"
        )
        self._require_room(
            server, "liveness", "poll", "a worker would count as dead between two looks for jobs"
        )
        return Settings(
            server=server,
            agent=Policy(**dict(self._of(KeyScope.AGENT))),
            sources=MappingProxyType({name: self._source(name) for name in KEYS}),
            file=path,
        )

    def _require_room(
        self, server: ServerSettings, longer: str, shorter: str, otherwise: str
    ) -> None:
        """Raise Misconfigured unless one span is at least twice the other."""
        if getattr(server, longer) >= 2 * getattr(server, shorter):
            return
        raise Misconfigured(
            f"{longer}={getattr(server, longer):g} ({self._source(longer)}) has to be at least "
            f"twice {shorter}={getattr(server, shorter):g} ({self._source(shorter)}), "
            f"or {otherwise}",
            stage="config",
            next_step=_mend_source(self._source(longer if self._is_set(longer) else shorter)),
        )

    def _key(self, name: str, place: str, source: str) -> Key | None:
        found = find_key(name, place, source)
        if isinstance(found, KeyFault):
            self._faults.append(found)
            return None
        return found

    def _take_text(self, key: Key, source: str, text: str) -> None:
        places = PathBase(self._home, Path.cwd())
        self._take(key, source, partial(from_text, key, text, places))

    def _take(self, key: Key, source: str, read: Callable[[], Value]) -> None:
        if key.secret and source not in key.variables:
            told = f"may only come from the environment ({key.variables[0]})"
            self._faults.append(KeyFault(key.name, told, source))
            return
        try:
            self.values[key.name] = read()
            self._sources[key.name] = source
        except Unfit as error:
            self._faults.append(KeyFault(key.name, str(error), source))

    def _is_set(self, name: str) -> bool:
        return not isinstance(self._source(name), Implied)

    def _source(self, name: str) -> str:
        return self._sources.get(name, Implied.DEFAULT)

    def _of(self, scope: KeyScope) -> Iterator[tuple[str, Any]]:
        return (
            (KEYS[name].field, value)
            for name, value in self.values.items()
            if KEYS[name].scope is scope
        )


def _mend(fault: KeyFault) -> Advice:
    """How a fault is mended: what else asks for settings would only fail in the same way."""
    # An unknown variable has no source but its name.
    return _mend_source(fault.source or fault.name)


def _mend_source(source: str) -> Advice:
    if source.startswith(OVERRIDE):
        return NextStep.of("config show")
    return ShellCommand(f"unset {source}") if _VARIABLE.fullmatch(source) else edit_file(source)


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def usual_data_dir(environ: Mapping[str, str]) -> Path:
    """The data folder where no setting names one."""
    home = _home(environ)
    given = environ.get("XDG_DATA_HOME", "")
    shared = Path(given) if Path(given).is_absolute() else home / ".local" / "share"
    return shared / "replan"
