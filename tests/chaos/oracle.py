"""The verdict: what was lost, what ran twice, what ran for a forged message, what nobody knows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.domain.jobs import ROLES
from shared.domain.outcome import Outcome
from tests.chaos.evidence import Evidence
from tests.chaos.ledger import Record
from tests.chaos.orders import Book, Known, Order, PassOnHost, Try

Excuse = Callable[[str, float, float], bool]
"""Whether a fault on that host, between two moments, explains what became of a command."""


@dataclass(frozen=True, slots=True)
class Excuses:
    """What faults explain: an end that nobody knows (`unknown`), output with less in it (`cut`)."""

    unknown: Excuse
    cut: Excuse


@dataclass(slots=True)
class Verdict:
    """One line for each thing that is not as it must be.

    `excused` outcomes may be unknown, and `cut` outputs incomplete.
    """

    loss: list[str] = field(default_factory=list)
    dup: list[str] = field(default_factory=list)
    forged: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    excused: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether every promise was kept."""
        return not (self.loss or self.dup or self.forged or self.unknown)


def judge(book: Book, record: Record, evidence: Evidence, excuses: Excuses) -> Verdict:
    """Hold what happened against what was ordered.

    Loss: a task that is not where it must end, an attempt without its row or with another exit
    code or other bytes, a row for what never ran, work left over. Dup: a beginning more than was
    ordered, and any beginning of what must not run. Forged: a job done by whom it was not for, or
    before it was due, and beginnings that nobody ordered.
    """
    verdict = Verdict()
    for task_id, order in book.orders.items():
        unknown = [
            *_judge_unknown(task_id, order, evidence, excuses.unknown, verdict),
            *_judge_open(task_id, order, evidence, verdict),
        ]
        if not unknown:
            verdict.loss += _judge_end(task_id, order, evidence)
        for command in order.known:
            rows = _rows(evidence, task_id, command)
            verdict.loss += _judge_rows(command, rows, record, complete=not unknown)
            for row, wanted in zip(rows, command.tries, strict=False):
                _judge_output(command, row, wanted, _excused(excuses.cut, order, row), verdict)
            verdict.dup += _judge_runs(command, record)
    for order in (*book.forgotten, *book.lost):
        for command in order.known:
            verdict.dup += _judge_runs(command, record)
    verdict.loss += [f"{order.tag} was committed and is gone" for order in book.lost]
    verdict.loss += _judge_forgotten(book, evidence)
    verdict.unknown += _judge_asked(book, evidence)
    verdict.loss += evidence.left
    verdict.loss += _judge_surplus(book, evidence)
    verdict.forged += [
        f"{name} ran, ordered by nobody" for name in sorted(record.begun.keys() - book.known)
    ]
    verdict.forged += [
        f"{row.key} ran before it was due"
        for row in evidence.early
        if not book.is_from_before(float(row.since))
    ]
    verdict.forged += _judge_owners(evidence)
    return verdict


def _rows(evidence: Evidence, task_id: int, command: Known) -> Sequence[Any]:
    place = (command.step, command.revision, command.subtask)
    return evidence.attempts.get(task_id, {}).get(place, ())


def _excused(excuse: Excuse, order: Order, row: Any) -> bool:
    return excuse(order.target, float(row.since), float(row.until or row.since))


def _judge_end(task_id: int, order: Order, evidence: Evidence) -> Iterator[str]:
    phase = evidence.phases.get(task_id, "gone")
    if phase != order.phase.value:
        story = evidence.stories.get(task_id, "no story")
        yield f"T{task_id} ({order.tag}) is {phase}, not {order.phase.value}: {story}"


def _judge_unknown(
    task_id: int, order: Order, evidence: Evidence, excuse: Excuse, verdict: Verdict
) -> Iterator[str]:
    for rows in evidence.attempts.get(task_id, {}).values():
        for row in rows:
            if row.outcome == Outcome.UNKNOWN.value:
                excused = _excused(excuse, order, row)
                told = f"T{task_id} ({order.tag}) {row.key}: {row.reason}"
                (verdict.excused if excused else verdict.unknown).append(told)
                yield told


def _judge_open(task_id: int, order: Order, evidence: Evidence, verdict: Verdict) -> Iterator[str]:
    """A question about forgotten records that could not be answered leaves its task waiting."""
    if any(row.task_id == task_id and row.closed_at is None for row in evidence.asked):
        told = f"T{task_id} ({order.tag}) waits for a word about what the database forgot"
        verdict.excused.append(told)
        yield told


def _judge_forgotten(book: Book, evidence: Evidence) -> Iterator[str]:
    named = {PassOnHost(r.run, r.step, r.revision, r.pass_no) for r in evidence.asked}
    for each in sorted(book.passes - named, key=str):
        yield f"{each} was forgotten, and no intervention names it"


def _judge_asked(book: Book, evidence: Evidence) -> Iterator[str]:
    for row in evidence.asked:
        if row.claim not in book.claims:
            yield f"T{row.task_id} asks about claim {row.claim}, which nobody had forgotten"


def _judge_rows(
    command: Known, rows: Sequence[Any], record: Record, *, complete: bool
) -> Iterator[str]:
    if complete and len(rows) < len(command.tries):
        yield f"{command.name} has {len(rows)} rows of {len(command.tries)} attempts"
    if len(rows) > len(command.tries):
        yield f"{command.name} has {len(rows)} attempts, {len(command.tries)} were to be"
    for row, wanted in zip(rows, command.tries, strict=False):
        as_wanted = (row.outcome, row.exit_code) == (wanted.outcome.value, wanted.exit_code)
        if not as_wanted and row.outcome != Outcome.UNKNOWN.value:
            told = f"{row.outcome} with exit code {row.exit_code} ({row.reason})"
            wish = f"{wanted.outcome.value} with {wanted.exit_code}"
            yield f"{command.name} ({row.key}): {told} in place of {wish}"
    if record.begun[command.name] < sum(row.exit_code is not None for row in rows):
        yield f"{command.name} has a row of a run that never was"
    if record.ended[command.name] < sum(row.outcome == Outcome.OK.value for row in rows):
        yield f"{command.name} is called done and has not come to its end"


def _judge_output(command: Known, row: Any, wanted: Try, excused: bool, verdict: Verdict) -> None:
    if row.outcome == Outcome.UNKNOWN.value:
        return
    whole = row.stdout if row.whole is None else bytes(row.whole).decode(errors="replace")
    for name, said, wish in (
        ("output", whole, wanted.stdout),
        ("errors", row.stderr, wanted.stderr),
    ):
        if wish is not None and said != wish:
            cut = excused and _lacks_lines(said, wish)
            told = f"{len(said)} characters of {name} differ from the {len(wish)} it prints"
            what = f"{command.name} ({row.key}): {told}: {said[:80]!r}"
            (verdict.cut if cut else verdict.loss).append(what)


def _lacks_lines(said: str, wish: str) -> bool:
    """Whether what was said is all there but for some of it, in the same order."""
    rest = iter(wish.splitlines())
    return all(any(line == other for other in rest) for line in said.splitlines())


def _judge_runs(command: Known, record: Record) -> Iterator[str]:
    surplus = record.begun[command.name] - command.runs
    if surplus > 0:
        yield f"{command.name} began {record.begun[command.name]} times, not {command.runs}"


def _judge_surplus(book: Book, evidence: Evidence) -> Iterator[str]:
    """Attempts at places where the plan has no command."""
    for task_id, places in evidence.attempts.items():
        order = book.orders.get(task_id)
        planned = {(k.step, k.revision, k.subtask) for k in order.known} if order else set()
        for place in places.keys() - planned:
            yield f"T{task_id} has attempts at {place}, where nothing was planned"


def _judge_owners(evidence: Evidence) -> Iterator[str]:
    for row in evidence.owners:
        roles = row.owner.partition(".")[0].split("-")
        if row.queue not in {ROLES[role].value for role in roles if role in ROLES}:
            yield f"job {row.id} of T{row.task_id}, for {row.queue}, was done by {row.owner}"
