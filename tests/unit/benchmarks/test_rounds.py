"""Who is measured when."""

from benchmarks.peers.catalogue import Contestant
from benchmarks.peers.outside import DidNotAnswerError
from benchmarks.peers.rounds import measure
from benchmarks.peers.takings import Taking
from benchmarks.peers.workloads import FOUR_HOSTS, ONE_HOST, Workload

QUICK = Contestant("quick", (ONE_HOST, FOUR_HOSTS), "", rounds=3)
SLOW = Contestant("slow", (ONE_HOST,), "", rounds=1)
LAME = Contestant("lame", (ONE_HOST, FOUR_HOSTS), "", rounds=3)
WORKLOADS = (ONE_HOST, FOUR_HOSTS)


class Taken:
    """Remembers who was asked; `lame` fails its second time on one host."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.said: list[str] = []

    def take(self, contestant: Contestant, workload: Workload) -> Taking:
        key = (contestant.name, workload.key)
        self.asked.append(key)
        if contestant is LAME and self.asked.count(key) == 2 and workload == ONE_HOST:
            raise DidNotAnswerError("it fell")
        return Taking(float(len(self.asked)))


def test_everybody_takes_turns() -> None:
    """Round by round, and in a round workload by workload; the slow one only once."""
    taken = Taken()
    measure(taken.take, [QUICK, SLOW], WORKLOADS, taken.said.append, at_most=2)
    one = [("quick", "one-host"), ("slow", "one-host"), ("quick", "four-hosts")]
    assert taken.asked == [*one, one[0], one[2]]
    assert taken.said[0] == "round 1, one-host, quick: 1.0 commands/s"


def test_who_is_named_twice_has_a_turn_before_and_one_after() -> None:
    """All of them count for one figure."""
    taken = Taken()
    (quick, _) = measure(taken.take, [QUICK, SLOW, QUICK], [ONE_HOST], taken.said.append, at_most=1)
    assert [name for name, _ in taken.asked] == ["quick", "slow", "quick"]
    assert quick.rates == (1.0, 3.0)


def test_who_fails_is_not_asked_again_and_hinders_nobody() -> None:
    """What was measured before stands, with the reason beside it."""
    taken = Taken()
    figures = measure(taken.take, [QUICK, LAME], WORKLOADS, taken.said.append, at_most=9)
    found = {(figure.contestant, figure.workload): figure for figure in figures}
    assert len(found["quick", "one-host"].rates) == 3
    assert len(found["lame", "four-hosts"].rates) == 3
    lame = found["lame", "one-host"]
    assert (len(lame.rates), lame.failure) == (1, "it fell")
    assert "round 2, one-host, lame: it fell" in taken.said


def test_an_accident_ends_nothing() -> None:
    """Also one that nobody thought of."""

    def take(contestant: Contestant, _workload: Workload) -> Taking:
        if contestant is LAME:
            raise OSError(28, "No space left on device", "/home/me/file")
        return Taking(1.0)

    lame, quick = measure(take, [LAME, QUICK], [ONE_HOST], print, at_most=2)
    assert lame.failure == "OSError: [Errno 28] No space left on device: '…'"
    assert len(quick.rates) == 2


def test_nothing_begins_after_the_end() -> None:
    """The run is bounded, however slow the machine is, and says what it left out."""
    taken = Taken()
    figures = measure(taken.take, [QUICK], WORKLOADS, taken.said.append, at_most=3, longest=-1.0)
    assert taken.asked == []
    assert [figure.rate for figure in figures] == [None, None]
    assert [figure.failure for figure in figures] == ["the time of the run was over"] * 2
    assert len(taken.said) == 2
