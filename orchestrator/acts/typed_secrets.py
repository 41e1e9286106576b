"""What people type is masked before it is first written: it often holds a secret (X19).

Texts for readers and models (prompts, answers, notes, titles) are masked as output is. Commands
cannot be masked, because they would no longer run: one with the value of a known secret is refused,
and one that looks as if it held a secret is warned about.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Note
from shared.domain.config import Policy
from shared.domain.errors import Rejected, ReplanError
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.secret import reference
from shared.secrets.installation import own_secrets
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from shared.secrets.vaults.opening import open_vaults
from shared.settings import ServerSettings

T = TypeVar("T")

_READ = frozenset({
    *("prompt", "summary", "title", "instruction", "reason", "note", "answer", "failure"),
    *("ask_question", "parallelizable_reason"),
})  # fmt: skip
_RUN = ("command", "check", "rollback", "preconditions")


class TypedText:
    """Masks what one caller types; `notes` are what the caller should know afterwards."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._noted: dict[str, Note] = {}

    @property
    def notes(self) -> tuple[Note, ...]:
        """A warning for each kind of text in which something was found."""
        return tuple(self._noted.values())

    def masked(self, value: T, what: str = "text") -> T:
        """The value with every text masked that somebody reads; `what` names a bare text.

        Raises Rejected for a command with the value of a known secret.
        """
        return cast("T", self._masked(value, what))

    def refuse_values(self, policy: Policy) -> None:
        """Raise Rejected for a setting of a task that holds the value of a known secret."""
        for field in fields(policy):
            given = getattr(policy, field.name)
            texts = given if isinstance(given, tuple) else (given,)
            named = (self._masker.names_in(each) for each in texts if isinstance(each, str))
            if names := next(filter(None, named), ()):
                raise Rejected(
                    f"the setting {field.name} holds the value of the secret {names[0]}, and "
                    "settings are stored and shown",
                    stage="secrets",
                    next_step=NextStep.of("config show", field.name),
                )

    def _masked(self, value: Any, what: str) -> Any:
        if isinstance(value, str):
            return self._text(value, what) if what in _READ or what == "text" else value
        if isinstance(value, Subtask):
            self._look_at(value)
        if isinstance(value, tuple):
            return tuple(self._masked(each, what) for each in value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._fields(value)
        return value

    def _fields(self, value: Any) -> Any:
        changed = {}
        for field in fields(value):
            before = getattr(value, field.name)
            what = "instruction" if _is_goal(value, field.name) else field.name
            after = self._masked(before, what)
            if after is not before and after != before:
                changed[field.name] = after
        return replace(value, **changed) if changed else value

    def _text(self, text: str, what: str) -> str:
        shown = self._masker.text(text)
        if shown != text:
            self._noted[what] = Note(
                f"a secret was found in the {what} and masked before it was stored: keep it in a "
                "vault, and write ${secret:NAME} where a command needs it",
                NextStep.of("secret set", Blank("NAME")),
            )
        return shown

    def _look_at(self, subtask: Subtask) -> None:
        """Raise Rejected for a command that holds a known value; note what looks like one."""
        if subtask.kind is SubtaskKind.AGENT:
            return
        for text in _texts(subtask):
            if names := self._masker.names_in(text):
                raise Rejected(
                    f"subtask {subtask.ordinal} ({subtask.title}) holds the value of the secret "
                    f"{names[0]}: write {reference(names[0])} in its place",
                    stage="secrets",
                    next_step=NextStep.of("secret check", names[0]),
                )
            if self._masker.text(text) != text:
                self._noted["command"] = Note(
                    f"the command of subtask {subtask.ordinal} seems to hold a secret, and is "
                    "stored as it is: keep the value in a vault, and write ${secret:NAME}",
                    NextStep.of("secret set", Blank("NAME")),
                )


def typed_text(caller: Caller) -> TypedText:
    """Masks what the caller types, by every value that this process can read and by form."""
    return TypedText(Masker(_known(caller.settings.server, os.environ)))


def _known(server: ServerSettings, environ: Mapping[str, str]) -> tuple[Secret, ...]:
    """The secrets that can be read here; a vault that is out of order hides only by form."""
    with suppress(ReplanError):
        return (*own_secrets(server), *open_vaults(server, environ).readable())
    return own_secrets(server)


def _texts(subtask: Subtask) -> Iterable[str]:
    for name in _RUN:
        given = getattr(subtask, name)
        yield from (given,) if isinstance(given, str) else given or ()


def _is_goal(value: object, field: str) -> bool:
    return isinstance(value, Subtask) and value.kind is SubtaskKind.AGENT and field == "command"
