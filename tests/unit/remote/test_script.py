"""The limits of a command's text."""

import pytest

from shared.domain.errors import Rejected
from workers.shells.ports import LONGEST, Call
from workers.shells.remote.runner_text import path_word


def test_the_limit_is_that_of_one_argument() -> None:
    """In bytes, not in characters."""
    Call("x" * LONGEST, 1.0).require_valid()
    with pytest.raises(Rejected, match="bytes"):
        Call("x" * (LONGEST - 1) + "é", 1.0).require_valid()


def test_a_home_is_looked_up_on_the_host() -> None:
    """Everything else is taken as it is written."""
    assert path_word("~") == "\"$HOME\"''" or path_word("~") == '"$HOME"'
    assert path_word("~/a b") == "\"$HOME\"'/a b'"
    assert path_word("/srv/$x") == "'/srv/$x'"
