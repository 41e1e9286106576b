"""What a person may ask of the settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.acts.caller import Caller
from orchestrator.acts.verbs import act
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.logs import mask_passwords
from shared.settings import KEYS


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting: its value as JSON, and where the value comes from."""

    scope: str
    key: str
    value: Any
    source: str
    about: str


@act("config.show")
def show(
    caller: Caller, key: str | None = None, overrides: Sequence[str] = ()
) -> tuple[SettingLine, ...]:
    """Every setting, or one, as a task submitted with these overrides would see it.

    Secret values are not shown. Raises Rejected for an unknown key, Misconfigured for an override.
    """
    settings = caller.settings.with_agent(overrides)
    if key is not None and key not in KEYS:
        raise Rejected(
            f"{key!r} is not a setting", stage="input", next_step=NextStep.of("config show")
        )
    lines = []
    for each in [KEYS[key]] if key else KEYS.values():
        value = settings.value(each.name)
        shown = ("set" if value else None) if each.secret else value
        source = settings.sources.get(each.name, "default")
        lines.append(SettingLine(each.scope.value, each.name, _json(shown), source, each.about))
    return tuple(lines)


def _json(value: object) -> Any:
    """The value as JSON; passwords in addresses are masked."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return [_json(entry) for entry in value]
    return mask_passwords(str(value))
