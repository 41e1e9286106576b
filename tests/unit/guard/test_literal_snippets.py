"""Snippets of kind `code` that only say what `result` is: nobody has to see them."""

import pytest

from shared.domain.snippet import as_command
from shared.guard import Guard, load_site
from shared.guard.policy.policy import only_forbidden
from shared.guard.snippets import only_says


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The guard of a fresh installation."""
    return Guard(load_site(None).for_host())


@pytest.mark.parametrize(
    "snippet",
    ['result={"success":True}', "result = {'success': True, 'n': [1, 2]}\n", "result = 'it''s'"],
)
def test_a_literal_result_does_not_ask(guard: Guard, snippet: str) -> None:
    """It runs no code of the host, and reads no file of the folder that it runs in."""
    command = as_command(snippet)
    assert "python3 -I -c" in command
    assert guard.judge(command).allowed


@pytest.mark.parametrize(
    "snippet",
    [
        "result = open('/etc/passwd').read()",
        "import os\nresult = 1",
        "result = __import__('os').system('id')",
        "result = 1; import os",
        "result = f'{x}'",
        "print(1)",
        "x = 1",
        "json = 1",
        "result = [x for x in (1,)]",
        "",
    ],
)
def test_every_other_snippet_asks(guard: Guard, snippet: str) -> None:
    """Whatever it does, a person sees it."""
    assert not guard.judge(as_command(snippet)).allowed


@pytest.mark.parametrize("more", ["; id", " x", "\n", " && id"])
def test_nothing_may_stand_beside_it(more: str) -> None:
    """The whole command is known to the last byte."""
    command = as_command("result = 1")
    assert only_says(command)
    assert not only_says(f"{command}{more}")
    assert not only_says(command.replace("-I ", ""))
    assert not only_says(f"x=1; {command}")


def test_a_forbidden_interpreter_stays_forbidden() -> None:
    """A person's rule wins."""
    assert Guard(only_forbidden(["python3"])).judge(as_command("result = 1")).denied
