"""What programs answer, and what becomes of it."""

import json

import pytest

from benchmarks.peers.takings import Percentiles, Taking, Takings


def answer(**changes: object) -> str:
    return json.dumps({"count": 200, "seconds": 2.0, "latencies_ms": [9, 11], **changes})


def test_the_last_line_is_the_answer() -> None:
    """Whatever a tool prints before it."""
    assert Taking.parse(f"hello\n{answer()}\n", 200) == Taking(100.0, [9.0, 11.0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it said nothing"),
        (f"{answer()}\nbye", "not the answer: bye"),
        ("[]", "not the answer"),
        ('{"count": 200}', "not the answer"),
        (answer(seconds=None), "not the answer"),
        (answer(count=199), "199 of 200 commands succeeded"),
        (answer(seconds=0), "it took 0.0 s"),
        (answer(seconds=float("nan")), "it took nan s"),
    ],
)
def test_an_answer_that_proves_nothing_is_none(text: str, why: str) -> None:
    """A peer whose commands failed is not fast."""
    with pytest.raises(ValueError, match=why):
        Taking.parse(text, 200)


def test_percentiles_are_values_that_were_measured() -> None:
    """By nearest rank: none is invented between two."""
    assert Percentiles.of(range(100, 0, -1)) == Percentiles(50, 95, 99)
    assert Percentiles.of([7.0]) == Percentiles(7.0, 7.0, 7.0)
    assert Percentiles.of([]) is None


def test_a_figure_is_the_median_of_the_rounds() -> None:
    """One busy round does not count."""
    taken = [Taking(100, [1.0]), Taking(10, [30.0]), Taking(104, [2.0])]
    figure = Takings(taken).figure("one-host", "somebody")
    assert figure.rate == 100
    assert figure.rates == (100, 10, 104)
    assert figure.percentiles == Percentiles(2.0, 30.0, 30.0)


def test_a_figure_of_nothing_has_no_rate() -> None:
    """It has the reason."""
    figure = Takings(failure="it took longer than 5 s").figure("one-host", "somebody")
    assert (figure.rate, figure.percentiles) == (None, None)
    assert figure.failure == "it took longer than 5 s"
