"""One containment serves pass after pass of a runner; no look sees what another one left."""

from pathlib import Path

import pytest

from shared.domain.containment import Hidden
from shared.domain.host import LOCALHOST
from tests.integration.remote.shells import READ_BY, MachinePool, machine
from workers.shells.ports import Call, PassRecord
from workers.shells.remote.shell import RunnerShell


@pytest.mark.parametrize("sh", READ_BY)
def test_every_look_of_a_runner_finds_its_containment_empty(tmp_path: Path, sh: str) -> None:
    """The first process of the namespace ends with each pass, and its keeper starts the next."""
    with MachinePool(machine(tmp_path, sh)) as pool:
        for number in range(4):
            record = PassRecord(f"ab/{number}-1-1-1", 1, False, 1.0, lambda: 600.0, lambda: False)
            shell = RunnerShell(LOCALHOST, pool, record)
            made = shell.containment(Hidden())
            assert made.is_there, made
            for _ in range(2):
                result = shell.run(Call("ls -A /dev/shm; : >/dev/shm/left", 20.0, contained=True))
                assert (result.exit_code, result.stdout) == (0, b"")
            shell.close()
        assert len(pool.carriers) == 1


@pytest.mark.parametrize("sh", READ_BY)
def test_a_look_may_have_only_so_many_processes(tmp_path: Path, sh: str) -> None:
    """The option of ulimit for it has two names, and every shell knows one of them."""
    with MachinePool(machine(tmp_path, sh)) as pool:
        record = PassRecord("ab/1-1-1-1", 1, False, 1.0, lambda: 600.0, lambda: False)
        shell = RunnerShell(LOCALHOST, pool, record)
        assert shell.containment(Hidden()).is_there
        limit = Call("grep processes /proc/self/limits", 20.0, contained=True)
        assert int(shell.run(limit).stdout.split()[2]) <= 2048
        shell.close()


@pytest.mark.parametrize("sh", READ_BY)
def test_a_containment_made_between_commands_is_left_by_none_of_them(
    tmp_path: Path, sh: str
) -> None:
    """Its keeper is new within the second of a command, and no child of the runner."""
    with MachinePool(machine(tmp_path, sh)) as pool:
        record = PassRecord("ab/1-1-1-1", 1, False, 1.0, lambda: 600.0, lambda: False)
        shell = RunnerShell(LOCALHOST, pool, record)
        keys = (f"k{number}" for number in range(1, 100))
        assert shell.containment(Hidden()).is_there
        for _ in range(8):
            shell.run(Call("echo ssh-keygen; (:)", 20.0, key=next(keys)))
            look = shell.run(Call("ls / >/dev/null", 20.0, key=next(keys), contained=True))
            assert (look.exit_code, look.left_over) == (0, ())
            made = shell.run(Call("echo made; (:)", 20.0, key=next(keys)))
            assert made.left_over == ()
        shell.close()
