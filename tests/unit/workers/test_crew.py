"""The jobs of a message run at once as far as there are places; the rest wait their turn."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shared.domain.errors import Transient
from tests.services.ring import eventually
from workers.process.capacity import Capacity
from workers.process.job_threads import Crew
from workers.process.lifecycle import Lifecycle

PATIENCE = 20


class Life:
    """Jobs that run until they are released; those in `gone` are not free."""

    def __init__(self, *gone: int) -> None:
        self.gone = set(gone)
        self.asked: list[list[int]] = []
        self.doing: list[int] = []
        self.done: list[int] = []
        self.let_go = threading.Event()
        self.away: Exception | None = None

    def take(self, job_ids: list[int]) -> list[Any]:
        if self.away is not None:
            raise self.away
        self.asked.append(list(job_ids))
        had = [job_id for job_id in job_ids if job_id not in self.gone]
        return [SimpleNamespace(job=SimpleNamespace(id=job_id)) for job_id in had]

    def do(self, taken: Any) -> None:
        job_id = taken.job.id
        self.doing.append(job_id)
        self.let_go.wait(PATIENCE)
        self.done.append(job_id)

    def carry_out(self, job_id: int) -> bool:
        for each in self.take([job_id]):
            self.do(each)
        return True


@contextmanager
def crew(life: Life, capacity: Capacity) -> Iterator[Crew]:
    made = Crew(capacity, cast(Lifecycle, cast(Any, life)), threads=8)
    yield made
    life.let_go.set()
    made.close()


def test_as_many_as_there_are_places_at_once_and_claimed_together() -> None:
    """The rest is passed on before any of the claimed jobs has ended."""
    life, capacity = Life(), Capacity(3)
    had: list[int | None] = []
    passed_on: list[int] = []
    with crew(life, capacity) as hands:
        thread = threading.Thread(
            target=lambda: had.append(hands.carry_out([1, 2, 3, 4, 5], passed_on.extend))
        )
        thread.start()
        eventually(lambda: sorted(life.doing) == [1, 2, 3], "three at work")
        assert life.asked == [[1, 2, 3]]
        assert passed_on == [4, 5]
        assert capacity.take_free() == 0
        life.let_go.set()
        thread.join(PATIENCE)
        eventually(lambda: capacity.taken == 0, "the places")
    assert had == [3]
    assert sorted(life.done) == [1, 2, 3]


def test_a_crew_that_does_not_wait_leaves_the_jobs_where_they_are() -> None:
    """The thread that brings a message is then free for the messages of other queues."""
    life, capacity = Life(), Capacity(1)
    made = Crew(capacity, cast(Lifecycle, cast(Any, life)), threads=1, waits=False)
    assert capacity.take()
    assert made.carry_out([1], lambda _: None) is None
    assert life.asked == []
    capacity.give_back()
    life.let_go.set()
    assert made.carry_out([1], lambda _: None) == 1
    made.close()


def test_it_waits_for_a_place_and_does_one_at_least() -> None:
    """Otherwise a message would go round in circles."""
    life, capacity = Life(), Capacity(2)
    life.let_go.set()
    passed_on: list[int] = []
    assert capacity.take_free() == 2
    with crew(life, capacity) as hands:
        thread = threading.Thread(target=lambda: hands.carry_out([1, 2], passed_on.extend))
        thread.start()
        thread.join(0.1)
        assert passed_on == []
        capacity.give_back()
        thread.join(PATIENCE)
    assert life.done == [1]
    assert passed_on == [2]


def nobody(job_ids: Sequence[int]) -> None:
    """Nothing is passed on."""
    raise AssertionError(job_ids)


def test_the_places_of_those_that_are_not_to_be_had_are_free_again() -> None:
    life, capacity = Life(1, 2, 3), Capacity(4)
    with crew(life, capacity) as hands:
        assert hands.carry_out([1, 2, 3], nobody) == 0
    assert capacity.taken == 0
    assert life.doing == []


def test_while_the_database_is_away_no_place_is_kept() -> None:
    life, capacity = Life(), Capacity(4)
    life.away = Transient("away", stage="database")
    with crew(life, capacity) as hands, pytest.raises(Transient):
        hands.carry_out([1, 2, 3], nobody)
    assert capacity.taken == 0


def test_nothing_is_begun_once_the_process_is_to_stop() -> None:
    life, capacity = Life(), Capacity(4)
    capacity.close()
    with crew(life, capacity) as hands:
        assert hands.carry_out([1, 2], nobody) is None
    assert life.asked == []


def test_one_that_breaks_beside_does_no_harm() -> None:
    """Its place is free again, and the others go on."""
    life, capacity = Life(), Capacity(3)
    broken = ValueError("broken")

    def do(taken: Any) -> None:
        if taken.job.id == 2:
            raise broken
        life.done.append(taken.job.id)

    life.do = do  # type: ignore[method-assign]
    with crew(life, capacity) as hands:
        assert hands.carry_out([1, 2, 3], nobody) == 3
        eventually(lambda: capacity.taken == 0, "the places")
    assert sorted(life.done) == [1, 3]


def test_a_job_that_was_found_is_done_in_its_place() -> None:
    life, capacity = Life(), Capacity(2)
    with crew(life, capacity) as hands:
        assert capacity.take_free(1) == 1
        hands.hand_on(7)
        eventually(lambda: life.doing == [7], "the job")
        assert capacity.taken == 1
        life.let_go.set()
        eventually(lambda: capacity.taken == 0, "its place")


def test_what_no_thread_can_be_started_for_waits_for_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit on processes costs time, but neither a job nor a place."""
    life, capacity = Life(), Capacity(3)
    life.let_go.set()
    with crew(life, capacity) as hands:

        def refuse_start(_thread: threading.Thread) -> None:
            message = "can't start new thread"
            raise RuntimeError(message)

        with monkeypatch.context() as limited:
            limited.setattr(threading.Thread, "start", refuse_start)
            assert hands.carry_out([1, 2, 3], nobody) == 3
        eventually(lambda: capacity.taken == 0, "the places")
    assert sorted(life.done) == [1, 2, 3]
