"""Secrets: a worker gives them to the commands that name them and hides them everywhere else."""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, TypeVar, cast

from shared.domain.attempt import AgentResult, Attempt, Ran
from shared.domain.attempt_notes import AttemptNote, FoundStuck, RunnerEntered, TaskValidated
from shared.domain.errors import ReplanError
from shared.domain.question import Question
from shared.domain.secret import VARIABLE
from shared.domain.spending import CapReached, Unpaid
from shared.domain.workspace import WorkspaceRemarks
from shared.secrets.expansion import variable
from shared.secrets.masking import Masker
from shared.secrets.sent import SentSubtask, variables_in
from shared.secrets.value import Secret
from shared.secrets.vaults.vault import Vaults

J = TypeVar("J")

_FRESH_SECONDS = 5.0
"""How long the list of the vaults' secrets stays fresh."""


@dataclass(frozen=True, slots=True)
class KnownSecrets:
    """The secrets that some commands need, and the masker that hides all secrets.

    `given` holds further variables that are not secret, by command.
    """

    masker: Masker
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def variables(self, command: str) -> Mapping[str, str]:
        """The environment variables that a command needs."""
        secret = {
            variable(name): self.secrets[name].reveal()
            for name in _names(command)
            if name in self.secrets
        }
        return {**self.given.get(command, {}), **secret}


class Secrecy:
    """Reads the vaults and hides every value that they list or that was ever fetched from them.

    Values are fetched anew for each pass: a changed value takes effect with the next pass, and the
    old value stays hidden. Thread-safe.
    """

    def __init__(self, vaults: Vaults, own: Iterable[Secret] = ()) -> None:
        """`own` secrets are hidden, but no plan can name them (`shared.secrets.installation`)."""
        self._vaults = vaults
        self._secrets = {(secret.name, secret.reveal()): secret for secret in own}
        self._masker = Masker(self._secrets.values())
        self._listed_at = -_FRESH_SECONDS
        self._lock = threading.Lock()

    def secrets_for(self, commands: Iterable[str] = ()) -> KnownSecrets:
        """The secrets that the commands need; raises Misconfigured if a vault cannot supply one."""
        names = dict.fromkeys(name for command in commands for name in _names(command))
        asked = self._vaults.secrets(names)
        with self._lock:
            if monotonic() - self._listed_at >= _FRESH_SECONDS:
                self._learn(self._vaults.all_secrets())
                self._listed_at = monotonic()
            self._learn(asked)
            return KnownSecrets(self._masker, {secret.name: secret for secret in asked})

    def reveal(self, name: str) -> str:
        """The value of a secret that a host entry names; raises as `secrets_for` does."""
        secret = self._vaults.secret(name)
        with self._lock:
            self._learn([secret])
        return secret.reveal()

    def text(self, text: str) -> str:
        """Mask every known secret in a text for people, models and logs."""
        with suppress(ReplanError):
            self.secrets_for()
        return self._masker.text(text)

    def _learn(self, secrets: Iterable[Secret]) -> None:
        found = {(secret.name, secret.reveal()): secret for secret in secrets}
        if not found.keys() <= self._secrets.keys():
            self._secrets |= found
            self._masker = Masker(self._secrets.values())


def texts_of(subtasks: Iterable[SentSubtask]) -> tuple[str, ...]:
    """Every text in the subtasks that a shell of a target will run."""
    return tuple(text for subtask in subtasks for _, text in subtask.shell_texts())


def mask_attempt(attempt: Attempt, masker: Masker) -> Attempt:
    """An attempt without secrets; its output was masked at its source.

    In its command only values are masked, because it may run again.
    """
    return replace(
        attempt,
        command=masker.values(attempt.command),
        reason=masker.text(attempt.reason),
        result=attempt.result and _mask_result(attempt.result, masker),
    )


def mask_unpaid(unpaid: Unpaid | None, masker: Masker) -> Unpaid | None:
    """What an agent could not pay, without secrets."""
    if unpaid is None:
        return None
    return replace(unpaid, reached=mask_cap_reached(unpaid.reached, masker.text))


def mask_question(question: Question | None, masker: Masker) -> Question | None:
    """A question without secrets."""
    if question is None:
        return None
    options, details = (
        tuple(map(masker.text, texts)) for texts in (question.options, question.details)
    )
    return Question(masker.text(question.text), options, details)


def mask_cap_reached(reached: CapReached, mask: Callable[[str], str]) -> CapReached:
    """The same without secrets: the name of the model is what an agent has asked for."""
    return replace(reached, model=mask(reached.model), reason=mask(reached.reason))


def mask_note(note: AttemptNote, masker: Masker) -> AttemptNote:
    """A note without secrets: what is text in it may come from a plan or an agent."""
    match note:
        case RunnerEntered():
            after = None if note.after is None else masker.text(note.after)
            return replace(note, runner=masker.text(note.runner), after=after)
        case TaskValidated():
            violations = (
                replace(each, details=masker.text(each.details)) for each in note.violations
            )
            return replace(note, violations=tuple(violations))
        case FoundStuck():
            return note


def _mask_result(result: Ran, masker: Masker) -> Ran:
    left_over = tuple(map(masker.text, result.left_over))
    if isinstance(result, AgentResult):
        return replace(
            result,
            summary=masker.text(result.summary),
            changed_files=tuple(map(masker.text, result.changed_files)),
            steering=tuple(map(masker.text, result.steering)),
            question=mask_question(result.question, masker),
            workspace=_mask_remarks(result.workspace, masker),
            unpaid=result.unpaid and mask_cap_reached(result.unpaid, masker.text),
            left_over=left_over,
            structured=mask_json(result.structured, masker),
        )
    return replace(result, left_over=left_over) if left_over else result


def mask_json(value: J, masker: Masker) -> J:
    """Data as JSON has it, with every text in it masked; the names of fields are not."""
    masked: Any = value
    if isinstance(value, str):
        masked = masker.text(value)
    elif isinstance(value, dict):
        masked = {name: mask_json(each, masker) for name, each in value.items()}
    elif isinstance(value, list):
        masked = [mask_json(each, masker) for each in value]
    return cast("J", masked)


def _mask_remarks(remarks: WorkspaceRemarks, masker: Masker) -> WorkspaceRemarks:
    return replace(
        remarks,
        notices=tuple(
            replace(each, names=tuple(map(masker.text, each.names))) for each in remarks.notices
        ),
        missing=tuple(map(masker.text, remarks.missing)),
        left_out=tuple(replace(each, path=masker.text(each.path)) for each in remarks.left_out),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.removeprefix(VARIABLE) for name in variables_in(text))
