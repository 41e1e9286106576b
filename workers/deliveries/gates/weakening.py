"""Gates about tests: those that a delivery deletes, or makes weaker, are looked at by a person.

A test that is moved to another file, or gets another name and stays as it is, is not lost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.domain.findings import Effect, Finding, GateRule, Weakening
from workers.deliveries.changes import NO_MODE, Change, FileChange
from workers.deliveries.gates.suites import Case, Suite, is_test
from workers.deliveries.gates.text_suites import reader_of
from workers.deliveries.gates.values import GateInput

_EMPTY: Final = Suite()
_LONGEST: Final = 2_000_000
"""Bytes of a test file that is read as a program."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """A changed test file; None for a side that cannot be read, or is not there."""

    change: FileChange
    old: Suite | None
    new: Suite | None

    @property
    def added(self) -> Iterator[tuple[str, Case]]:
        """The tests that only the new side has."""
        old, new = self.old or _EMPTY, self.new or _EMPTY
        return ((name, case) for name, case in new.cases.items() if name not in old.cases)


class _Gained:
    """What the test files of a delivery have gained: tests by name and by text, and contents."""

    def __init__(self, sides: Sequence[_Sides]) -> None:
        self._contents = {each.change.new_oid for each in sides}
        self._names: dict[str, int] = {}
        self._bodies: set[str] = set()
        for name, case in (found for each in sides for found in each.added):
            self._names[name] = max(case.assertions, self._names.get(name, 0))
            self._bodies.add(case.body)

    def has(self, name: str, case: Case) -> bool:
        """Whether the test is there: by its name, no weaker, or by its text."""
        by_text = bool(case.body) and case.body in self._bodies
        return by_text or self._names.get(name, -1) >= case.assertions

    def has_content(self, oid: str) -> bool:
        """Whether a test file has this content now."""
        return oid in self._contents


def find_weakened_tests(given: GateInput) -> Iterator[Finding]:
    """Test files that are deleted, or that hold less than before."""
    sides = [_sides(given, change) for change in given.changes if _is_test(given, change)]
    gained = _Gained(sides)
    for each in sides:
        if each.change.old_mode == NO_MODE:
            yield from _new_file(each)
        elif each.change.new_mode == NO_MODE or not _is_kept(given, each.change):
            yield from _deleted(given, each, gained)
        else:
            yield from _changed(each, gained)


def _is_test(given: GateInput, change: FileChange) -> bool:
    return is_test(change.path, given.old(change) or given.new(change))


def _is_kept(given: GateInput, change: FileChange) -> bool:
    """Whether the path still holds a file of tests, and not a link or nothing."""
    return change.change is not Change.TYPE and given.new(change) != b""


def _deleted(given: GateInput, gone: _Sides, gained: _Gained) -> Iterator[Finding]:
    """A file whose tests are nowhere; one without tests that can be read, and its content."""
    if gained.has_content(gone.change.old_oid) or given.old(gone.change) == b"":
        return
    if gone.old is not None and gone.old.cases and not _lost(gone, gained):
        return
    if gone.change.has_new_blob and gone.old is not None and not _counts(gone.old):
        return
    count = 0 if gone.old is None else len(gone.old.cases)
    yield _finding(GateRule.TEST_DELETED, gone, Weakening.TESTS, 0, count)


def _counts(suite: Suite) -> bool:
    return bool(suite.cases) or suite.assertions > 0


def _changed(each: _Sides, gained: _Gained) -> Iterator[Finding]:
    old, new = each.old, each.new
    if old is None:
        return
    if new is None:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.BROKEN, 0, len(old.cases))
        return
    lost = _lost(each, gained)
    if lost:
        count = len(old.cases) - len(lost)
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.TESTS, count, len(old.cases))
    elif (fewer := _fewer_assertions(each, gained)) is not None:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.ASSERTIONS, *fewer)
    counts = new.skips + new.shutouts, old.skips + old.shutouts
    if counts[0] > counts[1]:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.SKIPPED, *counts)


def _new_file(each: _Sides) -> Iterator[Finding]:
    """A new file may skip its own tests, but not shut out others."""
    if each.new is not None and each.new.shutouts:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.SKIPPED, each.new.shutouts, 0)


def _lost(each: _Sides, gained: _Gained) -> list[str]:
    """The tests that stand neither in the file nor, as they were, anywhere else."""
    if each.old is None:
        return []
    new = (each.new or _EMPTY).cases
    return [
        name
        for name, case in each.old.cases.items()
        if name not in new and not gained.has(name, case)
    ]


def _fewer_assertions(each: _Sides, gained: _Gained) -> tuple[int, int] | None:
    """How many assertions there are, and were: in a test, or in a file that lost no test."""
    old, new = each.old or _EMPTY, each.new or _EMPTY
    for name, case in old.cases.items():
        if name in new.cases and new.cases[name].assertions < case.assertions:
            return new.cases[name].assertions, case.assertions
    moved = sum(
        case.assertions
        for name, case in old.cases.items()
        if name not in new.cases and gained.has(name, case)
    )
    if new.assertions + moved < old.assertions:
        return new.assertions, old.assertions
    return None


def _sides(given: GateInput, change: FileChange) -> _Sides:
    return _Sides(
        change, _read(change.path, given.old(change)), _read(change.path, given.new(change))
    )


def _read(path: str, content: bytes | None) -> Suite | None:
    read = reader_of(path)
    if read is None or content is None or len(content) > _LONGEST:
        return None
    return read(content.decode("utf-8", "replace"))


def _finding(rule: GateRule, each: _Sides, how: Weakening, count: int, bound: int) -> Finding:
    return Finding(rule, Effect.PERSON, each.change.path, how, count=count, bound=bound)
