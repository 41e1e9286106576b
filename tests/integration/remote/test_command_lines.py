"""A text that looks for processes by their command lines does not find its own shell.

A check such as `pgrep -f app.py` would be green for ever, and `pkill -f app.py` would end itself.
Looks that need the processes of the host are not contained.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from shared.domain.host import LOCALHOST
from tests.integration.remote.shells import READ_BY, MachinePool, machine
from workers.shells.ports import Call, PassRecord
from workers.shells.remote.shell import RunnerShell

FINDS_NOTHING = (
    "pgrep -f NAME || true",
    "! pgrep -f NAME",
    "pgrep -af NAME | head -1",
    "if pgrep -f NAME >/dev/null; then echo found; fi",
    "for name in NAME; do pgrep -f $name; done || true",
    "pkill -f NAME || true",
    "pkill -9 -f NAME\n: and goes on",
    "ps ax -o args= | grep NAME | grep -v grep || true",
    "for each in /proc/[0-9]*/cmdline; do\n"
    "  tr '\\0' ' ' <$each 2>/dev/null | sed -n /NAME/p | grep -v sed\n"
    "done; true",
)

LIKE_ANY_TEXT = (
    "echo $0 $# $-; env | grep -c replan_; (exit 3)",
    "cat <<'END'\na $b \\c\nEND",
    "set -e; echo one; false; echo two",
    "exit 7",
    "exec sh -c 'exit 9'",
    "echo $LINENO\necho $LINENO",
    "read -r line; echo $line $?",
    "echo 'it''s' \"$HOME\" `echo b` \\\\",
    "if true; then",
)


@pytest.fixture(params=READ_BY)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunnerShell]:
    """A pass on this machine."""
    with MachinePool(machine(tmp_path, request.param)) as pool:
        record = PassRecord("ab/1-1-1-1", 1, False, 1.0, lambda: 600.0, lambda: False)
        shell = RunnerShell(LOCALHOST, pool, record)
        yield shell
        shell.close()


def test_it_finds_no_shell_of_its_own(shell: RunnerShell) -> None:
    name = f"app-{uuid4().hex}.py"
    for line in FINDS_NOTHING:
        text = line.replace("NAME", name)
        result = shell.run(_call(text))
        assert (result.exit_code, result.stdout) == (0, b""), text


def test_it_is_otherwise_run_as_any_text(shell: RunnerShell) -> None:
    """Its lines, its words and its surroundings are those of `sh -c`."""
    for text in LIKE_ANY_TEXT:
        plain = shell.run(_call(f"{text}\n# pgre"))
        looks = shell.run(_call(f"{text}\n# pgrep"))
        assert (looks.exit_code, looks.stdout) == (plain.exit_code, plain.stdout), text
        assert plain.exit_code is not None


def _call(text: str) -> Call:
    return Call(text, 20.0, key=f"k{uuid4().hex[:8]}")
