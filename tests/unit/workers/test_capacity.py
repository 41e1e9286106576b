"""The number of places for jobs in hand is fixed, whoever takes them."""

import threading

from tests.services.ring import eventually
from workers.process.capacity import Capacity


def test_a_place_is_waited_for() -> None:
    capacity = Capacity(1)
    assert capacity.take()
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(capacity.take()))
    waiting.start()
    waiting.join(0.1)
    assert answers == []
    capacity.give_back()
    waiting.join(10)
    assert answers == [True]
    assert capacity.taken == 1


def test_what_is_free_is_taken_at_once_and_no_more() -> None:
    capacity = Capacity(3)
    assert capacity.take()
    assert capacity.take_free() == 2
    assert capacity.take_free() == 0
    capacity.give_back(2)
    assert capacity.take_free() == 2


def test_a_closed_one_sends_away_who_waits_and_who_comes() -> None:
    capacity = Capacity(1)
    assert capacity.take()
    answers: list[bool] = []
    waiting = [threading.Thread(target=lambda: answers.append(capacity.take())) for _ in range(3)]
    for thread in waiting:
        thread.start()
    capacity.close()
    eventually(lambda: answers == [False] * 3, "the answers", 10)
    capacity.give_back()
    assert not capacity.take()
    assert capacity.take_free() == 0
    assert capacity.taken == 0
