"""The bytes of a subtask as they reach its target: the only place that makes and names them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace

from shared.domain.approval import SubtaskPart
from shared.domain.errors import Defect, Rejected
from shared.domain.plan import Plan, Subtask, SubtaskKind
from shared.domain.secret import VARIABLE, names_secret
from shared.domain.snippet import as_command
from shared.secrets.expansion import to_environment

_NAMED = re.compile(rf"\b{VARIABLE}[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SentSubtask(Subtask):
    """A subtask with the final bytes of its command, its check and its preconditions.

    Only `as_sent` makes one. Whatever judges, approves, runs or records texts takes this type, so
    a planned subtask cannot get there.
    """

    def texts(self) -> Iterator[tuple[SubtaskPart, str]]:
        """Every text that it runs on its target, in that order; the goal of an agent is one.

        `shell_texts` are those that a shell reads.
        """
        if self.check is not None:
            yield SubtaskPart.CHECK, self.check
        for precondition in self.preconditions:
            yield SubtaskPart.PRECONDITION, precondition
        yield SubtaskPart.COMMAND, self.command

    def shell_texts(self) -> Iterator[tuple[SubtaskPart, str]]:
        """Those of them that a shell reads: not the goal of an agent."""
        for part, text in self.texts():
            if part is not SubtaskPart.COMMAND or self.kind is not SubtaskKind.AGENT:
                yield part, text


_FIELDS = tuple(field.name for field in fields(Subtask))


def as_sent(planned: Subtask) -> SentSubtask:
    """The subtask with its final bytes; these are judged, approved, run and recorded.

    Each `${secret:NAME}` becomes a variable, and a snippet becomes the command that runs it. The
    goal of an agent stays as it is, and names no secret: it is sent to a model. Raises Rejected
    where a secret cannot be named like that, and Defect for a subtask that already has its final
    bytes.
    """
    if isinstance(planned, SentSubtask):
        raise Defect("a subtask with its final bytes was to get them again", stage="secrets")
    given = {name: getattr(planned, name) for name in _FIELDS}
    command = _expand_command(planned)
    if planned.kind is SubtaskKind.CODE:
        command = as_command(command, timeout=planned.timeout)
    given["command"] = command
    given["check"] = None if planned.check is None else _expand(planned.check)
    given["preconditions"] = tuple(map(_expand, planned.preconditions))
    return SentSubtask(**given)


def rollback_as_sent(planned: Subtask) -> SentSubtask:
    """The rollback of a subtask as a subtask of its own, with its final bytes. Raises Rejected."""
    return as_sent(
        replace(
            planned,
            command=planned.rollback or "",
            check=None,
            preconditions=(),
            needs=(),
            kind=SubtaskKind.COMMAND,
            agent=None,
        )
    )


def ways_back(planned: Iterable[Subtask]) -> tuple[str, ...]:
    """The final bytes of the rollbacks that these subtasks declare. Raises Rejected."""
    return tuple(_expand(each.rollback) for each in planned if each.rollback)


def variables_in(command: str) -> tuple[str, ...]:
    """The variables of the secrets in a command as it reaches its target, each once."""
    return tuple(dict.fromkeys(_NAMED.findall(command))) if VARIABLE in command else ()


def check_secrets(subtasks: Iterable[Subtask], *, where: str) -> None:
    """Raise Rejected, with the place, for a `${secret:NAME}` that commands cannot receive."""
    for subtask in subtasks:
        try:
            _expand_command(subtask)
            for text in (subtask.check, *subtask.preconditions, subtask.rollback):
                _expand(text or "")
        except Rejected as error:
            raise Rejected(
                f"{where}, subtask {subtask.ordinal}: {error.reason}",
                stage=error.stage,
                next_step=error.next_step,
            ) from error


def check_plan_secrets(plan: Plan) -> None:
    """The same for every step of a plan."""
    for step in plan.steps:
        check_secrets(step.subtasks, where=f"step {step.ordinal}")


def _expand_command(planned: Subtask) -> str:
    if planned.kind is not SubtaskKind.AGENT:
        return _expand(planned.command)
    if names_secret(planned.command):
        raise Rejected(
            "the goal of an agent names a secret, and a goal is sent to a model; let a command of "
            "the step use it",
            stage="secrets",
        )
    return planned.command


def _expand(text: str) -> str:
    return to_environment(text)[0]
