"""What was already tried, in sentences for the planner (S0.69); pure."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from shared.domain.attempt import AgentResult, Attempt
from shared.domain.outcome import GREEN, Outcome
from workers.evidence.failed_assumptions import last_words

_REFUSED = frozenset({Outcome.DENIED, Outcome.NEEDS_APPROVAL})


def hypotheses(attempts: Iterable[Attempt], tested: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each attempt that tells something, in order, with its result.

    Equal sentences in a row become one with a count. The attempts must be of one revision.
    `tested` says for each correction, by name, what it tries.
    """
    sentences = (
        sentence for attempt in attempts if (sentence := _sentence(attempt, tested)) is not None
    )
    return tuple(_with_count(sentence, list(same)) for sentence, same in groupby(sentences))


def _with_count(sentence: str, same: Sequence[str]) -> str:
    return sentence if len(same) == 1 else f"{sentence} ({len(same)} times)"


def _rollback_sentence(attempt: Attempt) -> str:
    what = f"undid subtask {attempt.subtask} of revision {attempt.revision} ({attempt.command})"
    return f"{what}: " + ("that worked" if attempt.outcome in GREEN else attempt.explanation)


def _tried(attempt: Attempt, tested: Mapping[str, str]) -> str:
    name = attempt.correction or ""
    if isinstance(attempt.result, AgentResult):
        what = f"go on ({name})" if name else "work"
        return " ".join(("had the agent", *filter(None, (attempt.result.runner,)), what))
    return tested.get(name) or name or "ran the command as planned"


def _sentence(attempt: Attempt, tested: Mapping[str, str]) -> str | None:
    where = f"subtask {attempt.subtask}"
    if attempt.rollback:
        return _rollback_sentence(attempt)
    tried = _tried(attempt, tested)
    if attempt.outcome in _REFUSED:
        refused = "forbidden" if attempt.outcome is Outcome.DENIED else "not run without approval"
        return f"{where}: {refused}: {attempt.command} ({attempt.explanation})"
    if attempt.outcome is Outcome.SATISFIED:
        return f"{where}: nothing to do, its check was green before anything ran"
    if attempt.outcome in GREEN:
        return f"{where}: {tried}: that worked" if attempt.correction else None
    if attempt.outcome is Outcome.UNKNOWN:
        return f"{where}: {tried}: nobody can say how it ended ({attempt.explanation})"
    if not attempt.counted:
        return None
    if attempt.outcome is Outcome.PRECONDITION_UNMET:
        return f"{where}: {attempt.explanation}"
    words = last_words(attempt)
    return f"{where}: {tried}: {attempt.explanation}" + (f" ({words})" if words else "")
