"""What a person may ask of the settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from shared.domain.errors import Rejected
from shared.domain.nearest import nearest
from shared.domain.next_step import NextStep
from shared.logs import mask_passwords
from shared.settings import KEYS, KeyScope


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting: its value as JSON, what a number counts, and where the value comes from."""

    scope: str
    key: str
    value: Any
    source: str
    about: str
    unit: str


@dataclass(frozen=True, slots=True)
class SettingExplained:
    """What one setting means, what it is, what it may be, and where it is set.

    `table` is its table in the settings file (None: it may stand only in the environment);
    the first of `variables` that is set wins over the file.
    """

    setting: SettingLine
    default: Any
    allowed: str
    variables: tuple[str, ...]
    table: str | None
    per_task: bool


@act("config.explain")
def explain(caller: Caller, name: str) -> SettingExplained:
    """One setting, as the next process or task would see it; a secret's value is not shown.

    Raises Rejected for an unknown key.
    """
    (line,) = show(caller, name)
    key = KEYS[name]
    return SettingExplained(
        line,
        _json(key.default),
        key.allowed,
        key.variables,
        None if key.secret else key.scope.value,
        key.scope is KeyScope.AGENT,
    )


@act("config.show")
def show(
    caller: Caller, key: str | None = None, overrides: Sequence[str] = ()
) -> tuple[SettingLine, ...]:
    """Every setting, or one, as a task submitted with these overrides would see it.

    Secret values are not shown. Raises Rejected for an unknown key, Misconfigured for an override.
    """
    settings = caller.settings.with_agent(overrides)
    if key is not None and key not in KEYS:
        near = nearest(key, KEYS)
        meant = f"; did you mean {near}?" if near else ""
        raise Rejected(
            f"{key!r} is not a setting{meant}", stage="input", next_step=NextStep.of("config show")
        )
    lines = []
    for each in [KEYS[key]] if key else KEYS.values():
        value = settings.value(each.name)
        shown = ("set" if value else None) if each.secret else value
        source = settings.sources.get(each.name, "default")
        told = (each.name, _json(shown), source, each.about, each.unit)
        lines.append(SettingLine(each.scope.value, *told))
    return tuple(lines)


def _json(value: object) -> Any:
    """The value as JSON; passwords in addresses are masked."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return [_json(entry) for entry in value]
    return mask_passwords(str(value))
