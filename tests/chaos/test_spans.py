"""How long nothing began, and how long work lay still: measured as it was, and by fault."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.ledger import Ledger
from tests.chaos.resumption import Resumptions, percentiles
from tests.chaos.standstill import Gap, StandStills, beyond


class Told:
    """A database that answers what a test has put in."""

    def __init__(self) -> None:
        self.rows: Sequence[Any] = ()

    def soon(self, query: str, **values: object) -> Sequence[Any]:  # noqa: ARG002
        """The same rows to every question."""
        return self.rows


class Scene:
    """A clock, a count of beginnings and a number of jobs that are due, all set by hand."""

    def __init__(self) -> None:
        self.now, self.begun, self.rows = 0.0, 0, Told()
        self.watch = StandStills(self.rows, lambda: self.begun, lambda: self.now)

    def at(self, now: float, *, begun: int, due: int | None) -> None:
        """Have a look at that moment; the database is away where nobody knows what is due."""
        self.now, self.begun = now, begun
        self.rows.rows = () if due is None else [SimpleNamespace(jobs=due)]
        self.watch.look()


def test_a_stand_still_lasts_from_one_beginning_to_the_next_while_jobs_are_due() -> None:
    scene = Scene()
    scene.at(1, begun=1, due=2)
    scene.at(2, begun=2, due=2)
    scene.at(9, begun=2, due=2)
    scene.at(12, begun=3, due=2)
    assert [gap for gap in scene.watch.gaps if gap.seconds > 1] == [Gap(2, 12)]


def test_nothing_stands_still_while_nothing_is_due() -> None:
    scene = Scene()
    scene.at(1, begun=1, due=1)
    scene.at(2, begun=1, due=0)
    scene.at(50, begun=1, due=0)
    scene.at(60, begun=1, due=3)
    scene.at(61, begun=2, due=3)
    assert scene.watch.gaps == [Gap(1, 2), Gap(60, 61)]


def test_a_stand_still_goes_on_while_the_database_is_away() -> None:
    scene = Scene()
    scene.at(1, begun=1, due=1)
    scene.at(20, begun=1, due=None)
    assert scene.watch.longest(15, 16) == Gap(1, 20)
    scene.at(30, begun=2, due=None)
    assert scene.watch.gaps == [Gap(1, 30)]


def test_the_longest_one_is_that_of_the_fault() -> None:
    scene = Scene()
    for now, begun in ((1, 1), (4, 2), (20, 3), (21, 4)):
        scene.at(now, begun=begun, due=1)
    assert scene.watch.longest(3, 3.5) == Gap(1, 4)
    assert scene.watch.longest(3, 5) == Gap(4, 20)
    assert scene.watch.longest(30, 31) is None


def test_what_is_beyond_a_fault_is_what_comes_after_its_end() -> None:
    assert beyond(Gap(2, 12), [(1, 5)]) == 7
    assert beyond(Gap(2, 12), [(1, 5), (6, 8), (20, 30)]) == 4
    assert beyond(Gap(2, 12), [(1, 40)]) == 0


@pytest.mark.parametrize(
    ("killed", "state", "fence", "goes_on"),
    [
        (True, "open", 3, None),
        (True, "open", 4, True),
        (True, "done", 3, False),
        (False, "done", 3, True),
        (False, "cancelled", 4, False),
    ],
)
def test_work_goes_on_with_another_claim_or_with_its_end(
    killed: bool, state: str, fence: int, goes_on: bool | None
) -> None:
    """None: nobody knows yet."""
    rows = Told()
    watch = Resumptions(rows, "a fault")
    rows.rows = [SimpleNamespace(id=1, fence=3)]
    watch.expect(7 if killed else None)
    rows.rows = [SimpleNamespace(id=1, fence=fence, state=state)]
    watch.look()
    assert bool(watch.waiting) is (goes_on is None)
    assert list(watch.seconds) == (["a fault"] if goes_on else [])


def test_work_that_the_database_forgot_is_not_waited_for() -> None:
    rows = Told()
    watch = Resumptions(rows, "a fault")
    rows.rows = [SimpleNamespace(id=1, fence=3)]
    watch.expect()
    rows.rows = [SimpleNamespace(id=2, fence=1, state="open")]
    watch.look()
    assert (watch.waiting, watch.everything) == ([], [])


def test_percentiles_of_one_are_that_one() -> None:
    assert percentiles([3.0]) == (3.0, 3.0)
    assert percentiles([float(n) for n in range(1, 102)]) == (51.0, 96.0)


def test_beginnings_are_counted_as_they_come(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.prepare()
    assert ledger.count_begun() == 0
    ledger.file.write_text("B a\nE a\nB b")
    assert ledger.count_begun() == 1
    ledger.file.write_text("B a\nE a\nB b\nB c\n")
    assert ledger.count_begun() == 3
