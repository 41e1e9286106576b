"""What is done about a branch on a remote, whatever it is and whatever a push ends with."""

from dataclasses import dataclass, field, replace

import pytest

from shared.domain.checkpoint import FoundOnRemote, Remedy, Standing, standing_of
from shared.domain.errors import Unavailable
from workers.deliveries.git_words import PushEnd
from workers.deliveries.publishing import publish
from workers.deliveries.remote import Pushed, RemoteRefusal, Seen

HEAD, OLD, NEWER, OTHER = "a" * 40, "b" * 40, "c" * 40, "d" * 40

ABSENT = FoundOnRemote(Standing.ABSENT)
BEFORE = FoundOnRemote(Standing.AHEAD, OLD, ahead=2)
THERE = FoundOnRemote(Standing.EQUAL, HEAD)
BEYOND = FoundOnRemote(Standing.BEHIND, NEWER, behind=1)
APART = FoundOnRemote(Standing.DIVERGED, OTHER, ahead=1, behind=3)


@pytest.mark.parametrize(
    ("found", "ahead", "behind", "standing"),
    [
        (None, 0, 0, Standing.ABSENT),
        (HEAD, 0, 0, Standing.EQUAL),
        (OLD, 2, 0, Standing.AHEAD),
        (NEWER, 0, 1, Standing.BEHIND),
        (OTHER, 1, 3, Standing.DIVERGED),
    ],
)
def test_a_branch_stands_in_one_of_five_ways(
    found: str | None, ahead: int, behind: int, standing: Standing
) -> None:
    assert standing_of(HEAD, found, ahead, behind) is standing


@dataclass
class Played:
    """A branch that is found as `looks` say, one after the other; the last one stays."""

    looks: list[FoundOnRemote]
    ends: list[PushEnd] = field(default_factory=list)
    expected: list[str | None] = field(default_factory=list)
    place = "the remote"

    def look(self, head: str) -> FoundOnRemote:
        """What comes next."""
        assert head == HEAD
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def push(self, head: str, expected: str | None) -> Pushed:
        """How the next push ends."""
        assert head == HEAD
        self.expected.append(expected)
        return Pushed(self.ends.pop(0), "words of git")

    def see(self, head: str) -> Seen | None:
        """Nobody asks."""
        raise AssertionError(head)


@pytest.mark.parametrize(
    ("found", "remedy", "head"),
    [
        (THERE, Remedy.NOTHING, HEAD),
        (BEYOND, Remedy.ADOPT, NEWER),
        (APART, Remedy.STOP, None),
    ],
)
def test_nothing_is_pushed_to_a_branch_that_holds_it_or_has_diverged(
    found: FoundOnRemote, remedy: Remedy, head: str | None
) -> None:
    branch = Played([found])
    done = publish(branch, HEAD)

    assert (done.remedy, done.head, done.pushed) == (remedy, head, False)
    assert branch.expected == []


@pytest.mark.parametrize("end", PushEnd)
@pytest.mark.parametrize("found", [ABSENT, BEFORE])
def test_after_a_push_only_a_look_counts(found: FoundOnRemote, end: PushEnd) -> None:
    """Whatever git says of it: a refusal may come after the branch was written."""
    branch = Played([found, THERE], [end])
    done = publish(branch, HEAD)

    assert (done.remedy, done.head, done.pushed) == (Remedy.NOTHING, HEAD, True)
    assert branch.expected == [found.commit]


@pytest.mark.parametrize(
    ("end", "error"),
    [
        (PushEnd.REFUSED, RemoteRefusal),
        (PushEnd.LOST, Unavailable),
        (PushEnd.MOVED, Unavailable),
        (PushEnd.DONE, Unavailable),
    ],
)
def test_a_push_that_changed_nothing_is_not_repeated_at_once(
    end: PushEnd, error: type[Exception]
) -> None:
    branch = Played([BEFORE], [end])
    with pytest.raises(error):
        publish(branch, HEAD)
    assert branch.expected == [OLD]


def test_a_branch_that_moved_is_judged_anew() -> None:
    """Somebody was faster: what there is now decides."""
    branch = Played([ABSENT, APART], [PushEnd.MOVED])
    assert publish(branch, HEAD).remedy is Remedy.STOP


def test_a_branch_that_keeps_moving_is_left_for_later() -> None:
    moves = [replace(BEFORE, commit=str(number) * 40) for number in range(9)]
    branch = Played(moves, [PushEnd.MOVED] * 9)
    with pytest.raises(Unavailable):
        publish(branch, HEAD)
    assert len(branch.expected) == 3
