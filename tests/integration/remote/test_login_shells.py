"""A command means the same whatever the account's login shell is, and whatever /bin/sh is."""

import subprocess
from pathlib import Path

import pytest

from shared.domain.host import LOCALHOST
from tests.integration.remote.shells import LOGIN_SHELLS, READ_BY, MachinePool, machine
from workers.shells.ports import Call
from workers.shells.remote.environment import local_environment
from workers.shells.remote.shell import RunnerShell

STATUS = Path("/proc/self/status")

COMMANDS = (
    "true",
    "false",
    ":",
    "test -e /proc/self",
    "[ -e /nowhere ]",
    "test",
    "[ 1 -gt x ]",
    "test a b c d e",
    "[ a ] ]",
    "printf '%s\\n' 'a b' \"c d\" e\\ f",
    "echo 'it'\\''s' !x !! $HOME \"$HOME\" `echo bt` $(echo sub)",
    "printf '\\\\ \\n \\t %%|'",
    "echo out; echo err >&2; exit 3",
    "# only a comment",
    "echo $0 $# $@",
    "cat <<E\nline $NOTHING\n\n'q' \"d\" \\ ! back\\\\slash\nE\necho done",
    'echo "it\'s\nseveral\n\nlines!"',
    "\n\necho after blank lines",
    "echo before a blank line\n",
    "a=1 \\\n  b=2; echo $a$b",
    "echo ends with a backslash\\",
    "\\",
    "if",
    "echo unterminated '",
    "echo ünïcödé ☃ 日本",
    "for i in 1 2 3; do echo $i; done # ! comment",
    "echo {a,b} /nothing* ~root [x] ^ % @ = ; echo # c",
    "no_such_program_here --at-all",
    "kill -9 $$",
    "! true",
    "!!",
    "!x",
    'echo "${x:-a\'b}"',
    'echo "$(printf \'%s\' "nested \'quotes\' \\"and\\" \\\\ more")"',
    "printf '\\001\\177\\n'; echo '\x01\x7f\t|'",
    f"echo {'x' * 60_000} | wc -c",
    'read line; echo "[$line]"',
    "exit",
)


@pytest.mark.parametrize("login_shell", LOGIN_SHELLS)
def test_every_login_shell_hands_the_commands_on_as_they_are(
    tmp_path: Path, login_shell: str
) -> None:
    """The login shell only has to start /bin/sh; what follows never meets it."""
    same_as_alone(tmp_path, "dash", login_shell)


@pytest.mark.parametrize("sh", READ_BY)
def test_a_command_means_what_it_means_to_sh_alone(tmp_path: Path, sh: str) -> None:
    """Byte for byte, and with nothing of the runner to be seen."""
    same_as_alone(tmp_path, sh, None)


@pytest.mark.parametrize("sh", READ_BY)
def test_nothing_of_the_runner_reaches_a_command(tmp_path: Path, sh: str) -> None:
    """No variable of its own, no open file but the three, no ignored signal."""
    with MachinePool(machine(tmp_path, sh)) as pool:
        shell = RunnerShell(LOCALHOST, pool)
        names = shell.run(Call("env | sed 's/=.*//' | sort", 20)).stdout.decode().split()
        files = shell.run(Call("ls /proc/$$/fd; :", 20)).stdout.decode().split()
        ignored = shell.run(Call("exec grep SigIgn /proc/self/status", 20)).stdout.decode().split()
    by_shells = {"_", "PWD", "OLDPWD", "SHLVL", "REPLAN_ATTEMPT"}
    assert set(names) - set(local_environment()) <= by_shells
    assert {"PAGER", "DEBIAN_FRONTEND"} <= set(names)
    assert set(files) <= {"0", "1", "2"}
    of_this_process = next(
        line.split()[1] for line in STATUS.read_text().splitlines() if line.startswith("SigIgn")
    )
    assert int(ignored[1], 16) & ~int(of_this_process, 16) == 0


def same_as_alone(folder: Path, sh: str, login: str | None) -> None:
    """Run every command through a runner, and alone; the outcomes are the same."""
    on = machine(folder, sh, login)
    env = {**local_environment(), "HOME": str(on.home), "PATH": on.path}
    with MachinePool(on) as pool:
        shell = RunnerShell(LOCALHOST, pool)
        for command in COMMANDS:
            alone = subprocess.run(
                [str(on.sh), "-c", command, "sh"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=env,
                cwd=on.home,
                check=False,
            )
            expected = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
            result = shell.run(Call(command, 20))
            assert (result.exit_code, result.stdout, result.stderr) == (
                expected,
                alone.stdout,
                alone.stderr,
            ), f"{login or sh}: {command!r}"
