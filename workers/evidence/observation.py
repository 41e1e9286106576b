"""What was seen on a host after a failure: what deviates, why, and what is ordinary; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shared.domain.cause import Cause, CauseKind
from workers.evidence import answers as read
from workers.evidence.causes import OF_THINGS, Answers, Failure, Finding, deviates, telling_line
from workers.evidence.machine import clock_of, machine
from workers.evidence.path_causes import path_causes
from workers.evidence.questions import (
    LISTENERS,
    RIGHTS,
    UNIT_PROPERTIES,
    above,
    journal,
    named,
    unit_state,
)
from workers.evidence.things import Thing, ThingKind

ORDINARY = "looked at and ordinary"
"""The name under which a snapshot says what does not deviate, in one line."""

NO_JOURNAL = "no entries that this account may read"

_RECENT = 3600
_JOURNAL_LINES = 30
_MOST_LISTENERS = 20
_LINES_OF_AN_ANSWER = 12

_SYMPTOMS = (CauseKind.UNIT_FAILED, CauseKind.UNIT_INACTIVE, CauseKind.LOG_LINE)
"""What mostly follows from another cause; told after it."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What is kept of a host's state, by name, and what is wrong there."""

    snapshot: Mapping[str, str] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()


def observe(
    failures: Sequence[Failure], answers: Answers, *, clock_off: float = 0.0
) -> Observation:
    """What deviates, from all that a host answered; `clock_off` as `machine` takes it."""
    login = read.account(answers.get("identity", ""))
    findings = [Finding(failure, answers, login) for failure in failures]
    state = machine(answers, clock_off)
    causes = _in_order([*(c for f in findings for c in _causes(f)), *state.causes])
    kept = dict(state.kept)
    ordinary = list(state.ordinary)
    for finding in findings:
        shown, unremarkable = _shown(finding, causes)
        kept |= shown
        ordinary += unremarkable
    kept |= _of_named(answers, findings, causes)
    if not _others(kept.get("failed_services", ""), findings):
        kept.pop("failed_services", None)
    if ordinary:
        kept[ORDINARY] = ", ".join(dict.fromkeys(ordinary))
    return Observation(kept, causes)


def _others(failed: str, findings: Sequence[Finding]) -> bool:
    """Whether units have failed that no failure names."""
    named_units = {unit for finding in findings for unit in finding.names(ThingKind.UNIT)}
    return any(line.split()[0] not in named_units for line in failed.splitlines())


def _causes(finding: Finding) -> Iterator[Cause]:
    for of_things in OF_THINGS:
        yield from of_things(finding)
    of_paths = list(path_causes(finding))
    nowhere = {cause.by for cause in of_paths if cause.kind is CauseKind.LINK_BROKEN}
    yield from (cause for cause in of_paths if cause.subject not in nowhere)


def _in_order(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Each once: those of subtasks before those of the host, roots before what follows from them.

    What is wrong with the host is left out where a subtask has led to the same.
    """
    known = {(c.kind, c.subject) for c in causes if c.subtask}
    kept = [c for c in dict.fromkeys(causes) if c.subtask or (c.kind, c.subject) not in known]
    return tuple(sorted(kept, key=lambda c: (not c.subtask, c.subtask, c.kind in _SYMPTOMS)))


def _shown(finding: Finding, causes: Sequence[Cause]) -> tuple[dict[str, str], list[str]]:
    """The answers about what a failure names that are kept, and what is ordinary."""
    kept: dict[str, str] = {}
    ordinary: list[str] = []
    answers = finding.answers
    wrong = {cause.subject for cause in causes if cause.kind not in _OF_ROOM}
    for unit in finding.names(ThingKind.UNIT):
        shown = _unit(answers, unit)
        if shown:
            kept |= shown
        elif finding.state(unit):
            ordinary.append(unit)
    kept |= _paths(finding, wrong)
    for kind in (ThingKind.PACKAGE, ThingKind.LOG, ThingKind.HOST):
        for name in finding.names(kind):
            question = named(Thing(kind, name))
            answer = read.answer_before_exit(finding.answer(kind, name)).partition("held:\n")[0]
            lines = answer.splitlines()[:_LINES_OF_AN_ANSWER]
            if name not in wrong:
                ordinary += [question] * (question in answers)
            elif lines:
                kept[question] = "\n".join(lines)
    return kept, ordinary


_OF_ROOM = (CauseKind.DISK_FULL, CauseKind.INODES_FULL, CauseKind.READ_ONLY)


def _unit(answers: Answers, unit: str) -> dict[str, str]:
    """The state and the journal of a unit that is not active, or whose journal complains."""
    state = read.properties(answers.get(unit_state(unit), ""))
    if not state:
        return {}
    block = read.newest_start(answers.get(journal(unit), ""))
    lines = block.splitlines()[-_JOURNAL_LINES:]
    wrong = deviates(answers, unit)
    if not wrong and not telling_line(block, required=True):
        return {}
    program, _ = read.program_of(state.get("ExecStart", ""))
    told = {**state, "ExecStart": program}
    shown = [f"{name}={told[name]}" for name in UNIT_PROPERTIES if told.get(name)]
    found = {unit_state(unit): "\n".join(shown)}
    return {**found, journal(unit): "\n".join(lines) or NO_JOURNAL}


def _paths(finding: Finding, wrong: set[str]) -> dict[str, str]:
    """The rights along each path with which something is wrong, and files that just changed."""
    entries = read.entries(finding.answers.get(RIGHTS, ""))
    now = clock_of(finding.answers)
    shown: dict[str, None] = {}
    for path in finding.names(ThingKind.PATH):
        listed = above(path)
        if any(each in wrong for each in listed[1:]):
            shown |= dict.fromkeys(_line(entries[e], now) for e in listed if e in entries)
        elif path in entries and _is_recent(entries[path], now):
            shown |= {_line(entries[path], now): None}
    return {RIGHTS: "\n".join(shown)} if shown else {}


def _is_recent(entry: read.Entry, now: int | None) -> bool:
    return now is not None and entry.mode[0] == "-" and 0 <= now - entry.changed < _RECENT


def _line(entry: read.Entry, now: int | None) -> str:
    """An entry as `ls -ld` shows it, with its age."""
    seconds = None if now is None else max(0, now - entry.changed)
    age = "" if seconds is None else f", changed {_span(seconds)} ago"
    link = f" -> {entry.target}" if entry.target else ""
    return f"{entry.mode} {entry.owner} {entry.group} {entry.path}{link}{age}"


def _span(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _of_named(
    answers: Answers, findings: Sequence[Finding], causes: Sequence[Cause]
) -> dict[str, str]:
    """What of the host's general state matters only for these failures."""
    kept: dict[str, str] = {}
    kinds = {cause.kind for cause in causes}
    if CauseKind.NAME_UNRESOLVED in kinds and answers.get("names"):
        kept["names"] = answers["names"]
    if any(f.names(ThingKind.PACKAGE) for f in findings) and answers.get("repositories"):
        kept["repositories"] = answers["repositories"]
    ports = {name for f in findings for name in f.names(ThingKind.PORT)}
    unexplained = CauseKind.PORT_HELD not in kinds and any(f.says_in_use for f in findings)
    lines = [
        line
        for line in answers.get(LISTENERS, "").splitlines()
        if any(unexplained or str(each.port) in ports for each in read.listeners(line))
    ]
    if lines:
        kept[LISTENERS] = "\n".join(lines[:_MOST_LISTENERS])
    return kept
