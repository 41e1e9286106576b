"""The outcome of an attempt whose command is a snippet (S1.26–S1.28, S3.28); pure."""

from shared.contracts.coderesult import CodeResult, result_in
from shared.domain.attempt import Attempt, CommandResult
from shared.domain.outcome import Outcome
from shared.domain.question import Question
from shared.secrets.sent import SentSubtask

_READ_AT_MOST = 65_536
_WENT_WRONG = frozenset({Outcome.FAILED, Outcome.CHECK_FAILED, Outcome.TIMED_OUT})


def snippet_outcome(
    subtask: SentSubtask, result: CommandResult, outcome: Outcome, reason: str
) -> tuple[Outcome, str]:
    """The outcome of a snippet and its reason, based on those of its command and check.

    The snippet's own error comes first, then the text in the plan (`failure_output`). A snippet
    that asks a person has not failed.
    """
    if outcome not in _WENT_WRONG:
        return outcome, reason
    found = _result(result)
    if found is not None and found.question is not None:
        return Outcome.NEEDS_INPUT, found.question.text
    error = (found.error if found is not None else "") or subtask.failure
    return outcome, f"{error} ({reason})" if error else reason


def question_of(attempt: Attempt) -> Question | None:
    """The question of an attempt that ended as `needs_input`."""
    ran = attempt.result
    found = _result(ran) if isinstance(ran, CommandResult) else None
    asked = None if found is None else found.question
    return asked or (Question(attempt.reason) if attempt.reason else None)


def _result(result: CommandResult) -> CodeResult | None:
    return result_in(result.stdout[-_READ_AT_MOST:].decode(errors="replace"))
