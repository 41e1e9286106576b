"""How a failure is recognised: the normal form of what failed, the same wherever it fails so; pure.

Of each subtask that failed stands in it: the shape of its command, how it ended, and the line of
its output that says most, with everything taken out that differs from host to host.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence

from shared.domain.attempt import COUNTED, GREEN
from shared.domain.bundle import Bundle, LoggedAttempt, LoggedSubtask
from shared.domain.fix import MOST_TEXT, FailurePattern
from shared.domain.pieces import Piece, Varies, pieces, rest, shape, variety
from workers.evidence.failed_assumptions import contradictions
from workers.fixes.family import family, hosts

_SCHEME = "1"
"""Raised when the normal form changes: what was learnt under another one is not found any more."""

_LONGEST = 300
_LAST = 50
"""So many characters of a line, and so many lines from the end, are looked at."""

_COUNTED = frozenset(outcome.value for outcome in COUNTED)
_GREEN = frozenset(outcome.value for outcome in GREEN)
_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\b"
    r"|\b\d\d?:\d\d:\d\d\b"
)
_SOME_HOST = "some-host.invalid"
_UNIT = re.compile(r"\.(?:service|socket|timer|mount|target)$")


def failure_of(bundle: Bundle, *names: str | None) -> FailurePattern | None:
    """The failure that a bundle tells of; `names` are what its host is called.

    None when no attempt of the revision failed, when its commands are too long to be learnt from,
    and when the host did not show what it is: then nothing says where else the same would help.
    """
    where = family(bundle.snapshot)
    called = hosts(bundle.snapshot, bundle.target, *names)
    found = {
        subtask.ordinal: failed
        for subtask in bundle.subtasks
        if (failed := _first_failure(bundle.attempts, subtask.ordinal)) is not None
    }
    long = sum(len(subtask.command) for subtask in bundle.subtasks) > MOST_TEXT
    if where is None or not found or long:
        return None
    by_number = {subtask.ordinal: subtask for subtask in bundle.subtasks}
    told = tuple(_describe(by_number[n], attempt, called) for n, attempt in found.items())
    digest = hashlib.sha256("\n".join((_SCHEME, *told)).encode()).hexdigest()
    return FailurePattern(digest[:32], where, told, tuple(found), called)


def _first_failure(attempts: Sequence[LoggedAttempt], ordinal: int) -> LoggedAttempt | None:
    """The first failed attempt of a subtask that came to no good end: the command as planned."""
    own = [a for a in attempts if a.subtask == ordinal and not a.rollback]
    counted = [attempt for attempt in own if attempt.outcome in _COUNTED]
    if not counted or own[-1].outcome in _GREEN:
        return None
    return next((a for a in counted if a.correction is None), counted[0])


def _describe(subtask: LoggedSubtask, attempt: LoggedAttempt, called: Sequence[str]) -> str:
    known = _placeholders(subtask, called)
    ended = attempt.outcome
    if attempt.outcome == "failed":
        ended = f"exit code {attempt.exit_code}"
    parts = [shape(_without_hosts(subtask.command, called)), ended]
    if attempt.outcome == "check_failed" and subtask.check is not None:
        parts.append(shape(_without_hosts(subtask.check, called)))
    parts.append(normalize(_key_line(attempt), known))
    return ": ".join(part for part in parts if part)


def _placeholders(subtask: LoggedSubtask, called: Sequence[str]) -> dict[str, str]:
    """What varies in a subtask's commands, and what stands for it."""
    known: dict[str, str] = {}
    for text in (subtask.command, subtask.check or "", *subtask.preconditions):
        for piece in pieces(text):
            if piece.varies is not None:
                known.setdefault(piece.text, piece.varies.value)
    return known | dict.fromkeys(called, Varies.HOST.value)


def _without_hosts(command: str, called: Sequence[str]) -> str:
    """The command with another name, the same everywhere, for the host that it is for."""
    parts = [
        p.before + (_SOME_HOST if p.varies is None and p.text in called else p.text)
        for p in pieces(command)
    ]
    return "".join(parts) + rest(command)


def _exit_text(attempt: LoggedAttempt) -> str:
    exit_code = attempt.check_exit_code
    return "ended" if exit_code is None else f"exit code {exit_code}"


def normalize(line: str, known: Mapping[str, str]) -> str:
    """A line of output without what differs from host to host; `known` says what stands for it."""
    timeless = _TIME.sub("<time>", line.replace("\u2018", "'").replace("\u2019", "'"))
    parts = [p.before + _normalize_piece(p, known) for p in pieces(timeless)]
    whole = " ".join(("".join(parts) + rest(timeless)).split())[:_LONGEST]
    return "".join(c if c.isprintable() else "?" for c in whole)


def _normalize_piece(piece: Piece, known: Mapping[str, str]) -> str:
    named = known.get(piece.text) or known.get(_UNIT.sub("", piece.text))
    looks = Varies.PATH if piece.varies is Varies.PATH else variety(piece.text)
    return named or (piece.text if looks is None else looks.value)


def _key_line(attempt: LoggedAttempt) -> str:
    """The line that says most about a failure; empty when it is silent."""
    match attempt.outcome:
        case "timed_out":
            return ""  # how far it came differs from time to time
        case "precondition_unmet":
            text = f"precondition not met: {attempt.check_command} ({_exit_text(attempt)})"
        case "check_failed":
            text = attempt.check_output
        case _:
            text = attempt.stderr if attempt.stderr.strip() else attempt.stdout
    lines = [line.strip()[:_LONGEST] for line in text.splitlines()[-_LAST:] if line.strip()]
    telling = [line for line in lines if contradictions(line)] or lines
    return telling[-1] if telling else ""
