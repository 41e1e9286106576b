"""Whether a text has something in it that has the form of a secret."""

from collections.abc import Sequence

from shared.domain.plan import Subtask
from shared.secrets.masking import Masker

_MASKER = Masker()


def without_secrets(text: str) -> str:
    """The text with everything masked that has the form of a secret."""
    return _MASKER.text(text)


def contains_secret(text: str) -> bool:
    """Whether something in the text has the form of a secret: plans name theirs, and hold none."""
    return bool(text) and without_secrets(text) != text


def holds_secret(subtasks: Sequence[Subtask]) -> bool:
    """Whether any text of the subtasks contains one."""
    return any(
        contains_secret(text)
        for subtask in subtasks
        for text in (
            subtask.title,
            subtask.command,
            subtask.check or "",
            subtask.rollback or "",
            *subtask.preconditions,
        )
    )
