"""Recognises a failure by a signature that is the same wherever the same thing fails; pure.

For each failed subtask, the signature holds the shape of its command, how it ended, the most
telling line of its output, and the cause that the host itself shows, without anything that differs
from host to host. A message has more than one cause: a failure of which the host does not show why
is vague, whatever a program says about it.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.domain.bundle import Bundle, LoggedAttempt, LoggedSubtask
from shared.domain.cause import TELLING, Cause
from shared.domain.fix import MOST_TEXT, FailurePattern
from shared.domain.folders import ROOT, without_folders
from shared.domain.outcome import COUNTED, GREEN
from shared.domain.pieces import (
    Piece,
    Varies,
    pieces,
    program_of,
    rest,
    shape,
    texts,
    things,
    variety,
)
from workers.evidence.failed_assumptions import contradictions
from workers.fixes.family import family, hosts
from workers.fixes.generic_lines import is_generic

_SCHEME = "2"
"""Increased when the normal form changes; fixes learnt under an older form are no longer found."""

_LONGEST = 300
_LAST = 50
"""How many characters of a line, and how many lines from the end, are read."""

_COUNTED = frozenset(outcome.value for outcome in COUNTED)
_GREEN = frozenset(outcome.value for outcome in GREEN)
_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?\b"
    r"|\b\d\d?:\d\d:\d\d\b"
)
_SOME_HOST = "some-host.invalid"
_UNIT = re.compile(r"\.(?:service|socket|timer|mount|target)$")


def failure_of(bundle: Bundle, *names: str | None) -> FailurePattern | None:
    """The failure that a bundle describes; `names` are further names of its host.

    None if no attempt of the revision failed, if its commands are too long to learn from, or if
    the snapshot does not show the kind of host: then nobody knows where else the fix would help.
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
    signs = [_sign(by_number[n], failed, called, bundle.causes) for n, failed in found.items()]
    told = tuple(sign.told for sign in signs)
    digest = hashlib.sha256("\n".join((_SCHEME, *told)).encode()).hexdigest()
    return FailurePattern(
        digest[:32],
        where,
        told,
        tuple(found),
        called,
        words=tuple(dict.fromkeys(word for sign in signs for word in sorted(sign.words))),
        named=tuple(name for sign in signs for name in sign.named),
        cues=tuple(dict.fromkeys(cue for sign in signs for cue in sign.cues)),
        vague=any(sign.vague for sign in signs),
    )


@dataclass(frozen=True, slots=True)
class _Sign:
    """What one failed subtask shows; see `FailurePattern`."""

    told: str
    words: frozenset[str]
    named: tuple[str, ...]
    cues: tuple[str, ...]
    vague: bool


def _first_failure(attempts: Sequence[LoggedAttempt], ordinal: int) -> LoggedAttempt | None:
    """The first failed attempt of a subtask that never succeeded, preferably as planned."""
    own = [a for a in attempts if a.subtask == ordinal and not a.rollback]
    counted = [attempt for attempt in own if attempt.outcome in _COUNTED]
    if not counted or own[-1].outcome in _GREEN:
        return None
    return next((a for a in counted if a.correction is None), counted[0])


def _sign(
    subtask: LoggedSubtask, attempt: LoggedAttempt, called: Sequence[str], causes: Sequence[Cause]
) -> _Sign:
    line = _key_line(attempt)
    words = _words(subtask, line) - set(called)
    known = _placeholders(subtask, called) | dict.fromkeys(words, Varies.WORD.value)
    cause = next((each for each in causes if each.subtask == subtask.ordinal), None)
    why = "" if cause is None else _normalize_cause(cause, known)
    said = normalize(line, known)
    ended = f"exit code {attempt.exit_code}" if attempt.outcome == "failed" else attempt.outcome
    parts = [shape(_without_hosts(subtask.command, called), words), ended]
    if attempt.outcome == "check_failed" and subtask.check is not None:
        parts.append(shape(_without_hosts(subtask.check, called), words))
    parts += [said, why]
    generic = is_generic(line) or attempt.outcome in _SILENT
    cues = (
        f"program {program_of(subtask.command)}",
        *([] if generic else [f"line {said}"]),
        *([f"like {loosen(said, subtask.command)}"] if said else []),
        *([why, loosen(why, subtask.command)] if why else []),
    )
    told = ": ".join(part for part in parts if part)
    telling = cause is not None and cause.kind in TELLING
    return _Sign(told, words, _named(cause), cues, vague=not telling)


_SILENT = frozenset({"timed_out", "precondition_unmet"})
"""Outcomes of which the output says nothing that could be recognised."""


_NAMING = re.compile(
    r"'[^'\s]*'|\"[^\"\s]*\"|`[^`\s]*`"  # what is quoted
    r"|(?<![\w<.])[\w.~@+-]*(?:/[\w.<>@+~%-]+)+/?"  # paths, with placeholders in them
    r"|\b[\w-]+\.[a-z]{1,7}\b"  # files
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b"  # variables
    r"|<\w+>"
)
_SOMETHING = "<…>"


def loosen(said: str, command: str) -> str:
    """A normal form without anything that names a thing: for hints, which may be wrong."""
    program = command.split(maxsplit=1)[0] if command.strip() else ""
    loose = _NAMING.sub(_SOMETHING, said)
    if "/" in program:
        own = re.escape(program.rpartition("/")[2])
        loose = re.sub(rf"(?<![\w-]){own}(?![\w-])", _SOMETHING, loose)
    return re.sub(rf"{_SOMETHING}(?:[:.-]?{_SOMETHING})+", _SOMETHING, loose)


def _words(subtask: LoggedSubtask, line: str) -> frozenset[str]:
    """Plain words of the command that its output or check says, too."""
    planned = (subtask.command, subtask.check or "", *subtask.preconditions)
    if sum(map(len, planned)) > MOST_TEXT:
        return frozenset()
    own = things(subtask.command)
    checked = frozenset[str]().union(*map(things, planned[1:]))
    said = set(texts(line))
    return frozenset((own & checked) | ((own | checked) & said))


def _named(cause: Cause | None) -> tuple[str, ...]:
    """The things that a cause names by one word."""
    if cause is None:
        return ()
    values = (_UNIT.sub("", value) for value in (cause.subject, cause.by, cause.account))
    return tuple(value for value in values if texts(value) == (value,))


def _normalize_cause(cause: Cause, known: Mapping[str, str]) -> str:
    named = dict.fromkeys(_named(cause), Varies.NAME.value)
    said = (cause.subject, cause.by, cause.account, cause.line)
    parts = [cause.kind.value, cause.state, *(normalize(text, {**named, **known}) for text in said)]
    return "because " + " ".join(part for part in parts if part)


def _placeholders(subtask: LoggedSubtask, called: Sequence[str]) -> dict[str, str]:
    """The varying parts of a subtask's commands, with the placeholder for each."""
    known: dict[str, str] = {}
    for text in (subtask.command, subtask.check or "", *subtask.preconditions):
        for piece in pieces(text):
            if piece.varies is not None:
                known.setdefault(piece.text, piece.varies.value)
    return known | dict.fromkeys(called, Varies.HOST.value)


def _without_hosts(command: str, called: Sequence[str]) -> str:
    """The command with the name of its host replaced by one that is the same everywhere."""
    parts = [
        p.before + (_SOME_HOST if p.varies is None and p.text in called else p.text)
        for p in pieces(command)
    ]
    return "".join(parts) + rest(command)


def _exit_text(attempt: LoggedAttempt) -> str:
    exit_code = attempt.check_exit_code
    return "ended" if exit_code is None else f"exit code {exit_code}"


def normalize(line: str, known: Mapping[str, str]) -> str:
    """A line of output with everything host-specific replaced by its placeholder in `known`."""
    plain = without_folders(line.replace("\u2018", "'").replace("\u2019", "'"))
    timeless = _TIME.sub("<time>", plain)
    parts = [p.before + _normalize_piece(p, known) for p in pieces(timeless)]
    joined = ("".join(parts) + rest(timeless)).replace(f"{ROOT}/{Varies.PATH}", Varies.PATH)
    whole = " ".join(joined.split())[:_LONGEST]
    return "".join(c if c.isprintable() else "?" for c in whole)


def _normalize_piece(piece: Piece, known: Mapping[str, str]) -> str:
    named = known.get(piece.text) or known.get(_UNIT.sub("", piece.text))
    looks = Varies.PATH if piece.varies is Varies.PATH else variety(piece.text)
    return named or (piece.text if looks is None else looks.value)


def _key_line(attempt: LoggedAttempt) -> str:
    """The line that says most about a failure; empty if there is no output."""
    match attempt.outcome:
        case "timed_out":
            return ""  # how far it got differs each time
        case "precondition_unmet":
            text = f"precondition not met: {attempt.check_command} ({_exit_text(attempt)})"
        case "check_failed":
            text = attempt.check_output
        case _:
            text = attempt.stderr if attempt.stderr.strip() else attempt.stdout
    lines = [line.strip()[:_LONGEST] for line in text.splitlines()[-_LAST:] if line.strip()]
    telling = [line for line in lines if contradictions(line)] or lines
    specific = [line for line in telling if not is_generic(line)] or telling
    return specific[-1] if specific else ""
