"""What a command left running, in words."""

import pytest

from shared.domain.attempt import EndedBy, describe_left


@pytest.mark.parametrize(
    ("left_over", "words"),
    [
        ((), ""),
        (("1234(sleep)",), "left running: sleep (1234)"),
        (("7(sh)", "9(tmux: server)"), "left running: sh (7), tmux: server (9)"),
        (("7((sd-pam))", "+3"), "left running: (sd-pam) (7) and 3 more"),
    ],
)
def test_each_process_has_its_name_and_number(left_over: tuple[str, ...], words: str) -> None:
    assert describe_left(left_over, None) == words


def test_what_could_not_be_ended_is_no_such_thing() -> None:
    """The reason of the attempt says it."""
    assert describe_left(("1234(sleep)",), EndedBy.CANCEL) == ""
