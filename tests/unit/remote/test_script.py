"""The text around a command."""

import pytest

from shared.domain.errors import Rejected
from workers.remote.script import LONGEST, checked, ending, login_line, quoted


@pytest.mark.parametrize("leader", [-1, 0, 1])
def test_nobody_is_asked_to_end_everything(leader: int) -> None:
    """A process id of 1, 0 or -1 would mean the whole machine."""
    with pytest.raises(ValueError, match="leader"):
        ending(leader, grace=1)


def test_a_quoted_word_leaves_its_quotes_for_what_shells_disagree_on() -> None:
    """Backslash, quote and exclamation mark stand outside, each behind a backslash."""
    assert quoted("plain words $x `y`") == "'plain words $x `y`'"
    assert quoted("a'b\\c!d") == "'a'\\''b'\\\\'c'\\!'d'"


def test_the_limit_is_that_of_the_whole_line() -> None:
    """What surrounds the command counts."""
    login_line("x" * (LONGEST - 2000), nonce="n")
    with pytest.raises(Rejected, match="bytes"):
        login_line("x" * (LONGEST - 100), nonce="n")
    checked("x" * LONGEST)


def test_the_nonce_and_the_workdir_stand_before_the_command() -> None:
    """In the order in which they count."""
    line = login_line("COMMAND", nonce="NONCE", workdir="/srv/app")
    assert line.index("/srv/app") < line.index("@@NONCE $$") < line.index("COMMAND")
