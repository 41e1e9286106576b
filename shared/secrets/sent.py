"""The bytes of a subtask as they reach its target: the only place that makes them."""

from dataclasses import replace

from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.snippet import as_command
from shared.secrets.expansion import to_environment


def as_sent(subtask: Subtask) -> Subtask:
    """The subtask with the final bytes of its command, its check and its preconditions.

    Each `${secret:NAME}` becomes a variable, and a snippet becomes the command that runs it. These
    bytes are judged, approved, run and recorded. Call it once on a planned subtask, never on its
    own result. Raises Rejected where a secret cannot be named like that.
    """
    command = _expand(subtask.command)
    if subtask.kind is SubtaskKind.CODE:
        command = as_command(command, timeout=subtask.timeout)
    return replace(
        subtask,
        command=command,
        check=None if subtask.check is None else _expand(subtask.check),
        preconditions=tuple(map(_expand, subtask.preconditions)),
    )


def _expand(text: str) -> str:
    return to_environment(text)[0]
