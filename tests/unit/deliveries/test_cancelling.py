"""A cancellation ends what a pass does on the line of its session."""

import pytest

from shared.domain.errors import Transient
from shared.domain.target import Repository
from tests.fakes.scripted_shell import ScriptedShell
from tests.unit.passes.given import MemoryLog
from workers.roles.pass_means import line_of_pass

REPOSITORY = Repository("app", "web1", "/srv/app")
SIZE = 2_000_000
PAGE = f"given={'a' * 40}\0size={SIZE}\0\0".encode() + b"x" * 900_000


def test_a_pass_that_is_cancelled_reads_no_further() -> None:
    """However many pages there are."""
    shell = ScriptedShell(default=PAGE)
    control = MemoryLog(stop=lambda _: len(shell.calls) > 1)
    line = line_of_pass(shell, REPOSITORY, control, "~/workspaces")
    with pytest.raises(Transient, match="page was ended before it was done"):
        line.contents(["a" * 40], SIZE)
    assert len(shell.calls) == 2


def test_a_pass_that_was_cancelled_before_may_still_clean_up() -> None:
    """It finds its workspace on the line."""
    shell = ScriptedShell(default=b"")
    control = MemoryLog(stop=lambda _: True)
    line_of_pass(shell, REPOSITORY, control, "~/workspaces").keep("T1@app", "a" * 40)
    assert len(shell.calls) == 1
