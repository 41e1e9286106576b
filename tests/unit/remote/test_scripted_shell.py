"""The scripted shell itself, because other tests rely on it."""

import re

import pytest

from shared.domain.errors import Transient
from shared.domain.host import LOCALHOST
from tests.fakes.scripted_shell import Answer, ScriptedConnections, ScriptedShell
from workers.shells.ports import Call


def test_the_first_fitting_key_answers() -> None:
    """The exact command before any pattern, then the patterns in their order."""
    shell = ScriptedShell({re.compile("apt"): 1, "apt update": 2, re.compile("update"): 3})

    codes = [shell.run(Call(c, 1)).exit_code for c in ("apt update", "apt x", "update", "true")]

    assert codes == [2, 1, 3, 0]
    assert shell.commands == ["apt update", "apt x", "update", "true"]
    assert shell.calls[0].timeout == 1


def test_a_list_answers_in_turn() -> None:
    """The last answer stands for ever after."""
    shell = ScriptedShell({"try": [100, Answer(1, stderr="no"), "yes"]})

    results = [shell.run(Call("try", 1)) for _ in range(4)]

    assert [result.exit_code for result in results] == [100, 1, 0, 0]
    assert results[1].stderr == b"no"
    assert results[3].stdout == b"yes"


def test_an_exception_is_raised_and_a_function_is_asked() -> None:
    """So that a lost connection or a state of the host can be played."""
    lost = Transient("lost", stage="execute")
    shell = ScriptedShell({"lost": lost, re.compile("^echo"): lambda command: command[5:]})

    with pytest.raises(Transient):
        shell.run(Call("lost", 1))
    assert shell.run(Call("echo hello", 1)).stdout == b"hello"


def test_what_was_not_scripted_can_fail_the_test() -> None:
    """With `default=None`."""
    with pytest.raises(AssertionError, match="rm -rf"):
        ScriptedShell(default=None).run(Call("rm -rf /", 1))


def test_a_closed_shell_runs_nothing() -> None:
    """Connections hand it out again, open."""
    shell = ScriptedShell()
    connections = ScriptedConnections({"localhost": shell})
    shell.close()

    with pytest.raises(AssertionError):
        shell.run(Call("true", 1))
    assert connections.shell(LOCALHOST).run(Call("true", 1)).ok
    assert connections.opened == ["localhost"]
