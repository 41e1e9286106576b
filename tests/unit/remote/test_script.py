"""The limits of a command's text."""

import pytest

from shared.domain.errors import Rejected
from workers.shells.remote.script import LONGEST, path_word, valid_text


def test_the_limit_is_that_of_one_argument() -> None:
    """In bytes, not in characters."""
    valid_text("x" * LONGEST)
    with pytest.raises(Rejected, match="bytes"):
        valid_text("x" * (LONGEST - 1) + "é")


def test_a_home_is_looked_up_on_the_host() -> None:
    """Everything else is taken as it is written."""
    assert path_word("~") == "\"$HOME\"''" or path_word("~") == '"$HOME"'
    assert path_word("~/a b") == "\"$HOME\"'/a b'"
    assert path_word("/srv/$x") == "'/srv/$x'"
