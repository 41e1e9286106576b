"""Gates about tests: those that a delivery deletes, or makes weaker, are looked at by a person.

A test that is moved to another file, or gets another name and stays as it is, is not lost.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shared.domain.findings import Effect, Finding, GateRule, Weakening
from workers.deliveries.changes import NO_MODE, Change, FileChange
from workers.deliveries.gates.suites import Case, Suite, is_test
from workers.deliveries.gates.text_suites import reader_of
from workers.deliveries.gates.values import GateInput

_EMPTY = Suite()


@dataclass(frozen=True, slots=True)
class _Sides:
    """A changed test file; None for a side that cannot be read, or is not there."""

    change: FileChange
    old: Suite | None
    new: Suite | None

    @property
    def added(self) -> Mapping[str, Case]:
        """The tests that only the new side has."""
        old = {} if self.old is None else self.old.cases
        return {} if self.new is None else {k: v for k, v in self.new.cases.items() if k not in old}


def find_weakened_tests(given: GateInput) -> Iterator[Finding]:
    """Test files that are deleted, or that hold less than before."""
    sides = [_sides(given, change) for change in given.changes if _is_test(given, change)]
    for each in sides:
        if each.change.old_mode == NO_MODE:
            yield from _new_file(each)
        elif each.change.new_mode == NO_MODE or not _is_kept(given, each.change):
            yield from _deleted(given, each, sides)
        else:
            yield from _changed(each, sides)


def _is_test(given: GateInput, change: FileChange) -> bool:
    return is_test(change.path, given.old(change) or given.new(change))


def _is_kept(given: GateInput, change: FileChange) -> bool:
    """Whether the path still holds a file of tests, and not a link or nothing."""
    return change.change is not Change.TYPE and given.new(change) != b""


def _deleted(given: GateInput, gone: _Sides, sides: list[_Sides]) -> Iterator[Finding]:
    """A file whose tests are nowhere; one without tests that can be read, and its content."""
    old = gone.change.old_oid
    if any(c.new_oid == old and _is_test(given, c) for c in given.changes):
        return
    if gone.old is not None and gone.old.cases and not _lost(gone, sides):
        return
    if given.old(gone.change) == b"":
        return
    count = 0 if gone.old is None else len(gone.old.cases)
    yield _finding(GateRule.TEST_DELETED, gone, Weakening.TESTS, 0, count)


def _changed(each: _Sides, sides: list[_Sides]) -> Iterator[Finding]:
    old, new = each.old, each.new
    if old is None:
        return
    if new is None:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.BROKEN, 0, len(old.cases))
        return
    lost = _lost(each, sides)
    if lost:
        count = len(old.cases) - len(lost)
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.TESTS, count, len(old.cases))
    elif (fewer := _fewer_assertions(each, sides)) is not None:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.ASSERTIONS, *fewer)
    counts = new.skips + new.shutouts, old.skips + old.shutouts
    if counts[0] > counts[1]:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.SKIPPED, *counts)


def _new_file(each: _Sides) -> Iterator[Finding]:
    """A new file may skip its own tests, but not shut out others."""
    if each.new is not None and each.new.shutouts:
        yield _finding(GateRule.TEST_WEAKENED, each, Weakening.SKIPPED, each.new.shutouts, 0)


def _lost(each: _Sides, sides: list[_Sides]) -> list[str]:
    """The tests that stand neither in the file nor, as they were, anywhere else."""
    if each.old is None:
        return []
    new = (each.new or _EMPTY).cases
    return [
        name
        for name, case in each.old.cases.items()
        if name not in new and not _is_elsewhere(name, case, sides)
    ]


def _is_elsewhere(name: str, case: Case, sides: list[_Sides]) -> bool:
    """Whether a file has gained the test: by its name, no weaker, or by its text."""
    return any(
        (other == name and found.assertions >= case.assertions)
        or (found.body == case.body and bool(case.body))
        for each in sides
        for other, found in each.added.items()
    )


def _fewer_assertions(each: _Sides, sides: list[_Sides]) -> tuple[int, int] | None:
    """How many assertions there are, and were: in a test, or in a file that lost no test."""
    old, new = each.old or _EMPTY, each.new or _EMPTY
    for name, case in old.cases.items():
        if name in new.cases and new.cases[name].assertions < case.assertions:
            return new.cases[name].assertions, case.assertions
    moved = sum(
        case.assertions
        for name, case in old.cases.items()
        if name not in new.cases and _is_elsewhere(name, case, sides)
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
    if read is None or content is None:
        return None
    return read(content.decode("utf-8", "replace"))


def _finding(rule: GateRule, each: _Sides, how: Weakening, count: int, bound: int) -> Finding:
    return Finding(rule, Effect.PERSON, each.change.path, how, count=count, bound=bound)
