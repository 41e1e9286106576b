"""The story that README tells, typed from its first line to its last in a fresh home."""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.services.accounts import Account
from tests.services.packages import unpacked
from tests.services.processes import kill, marked, running
from tests.services.sshd import SshServer, SshServers

ROOT: Final = Path(__file__).parents[2]
STORY: Final = "## From the first task to a host and a model\n"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT: Final = re.compile(r"# exits with (\d)")
WITHOUT_KEY: Final = 3
ENDED: Final = "README-ENDED"


@dataclass(frozen=True, slots=True)
class Line:
    """A command, and the exit code that README promises."""

    text: str

    @property
    def is_the_readers(self) -> bool:
        """Whether it names something of the reader's: a host, a key."""
        return self.text.endswith("# yours")

    @property
    def code(self) -> int:
        """Here, where there is no key of a model."""
        if self.text.endswith("# needs a key"):
            return WITHOUT_KEY
        found = EXIT.search(self.text)
        return int(found[1]) if found else 0


def story() -> list[Line]:
    """Its commands, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = text.partition(STORY)[2].partition("\n## ")[0]
    return [Line(line) for block in BLOCK.findall(told) for line in block.splitlines() if line]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with a clone in it; nothing in it is left running.

    What the examples make lies where every account may write, not in the homes of accounts.
    """
    clone = tmp_path / "replan"
    made = Path(tempfile.mkdtemp(prefix="replan-readme-"))
    made.chmod(0o777)
    shutil.copytree(ROOT / "examples", clone / "examples")
    for plan in clone.glob("examples/*.yaml"):
        plan.write_text(plan.read_text().replace("$HOME", str(made)))
    (clone / ".venv").symlink_to(sys.prefix)
    yield tmp_path
    kill([pid for pid in marked(f"REPLAN_OF_README={tmp_path}") if running(pid)])
    shutil.rmtree(made, ignore_errors=True)


def typed(home: Path, lines: list[str], path: str) -> tuple[list[int], str]:
    """The exit codes of lines typed in the clone, and all that they said.

    Who is asked whether a host is the right one says yes.
    """
    script = home / "typed.sh"
    script.write_text("".join(f"{line}\nprintf '\\n{ENDED} %s\\n' $?\n" for line in lines))
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REPLAN_", "XDG_", "ANTHROPIC_", "VIRTUAL_ENV"))
    }
    keyboard, terminal = pty.openpty()
    told = b""
    with subprocess.Popen(
        ["bash", str(script)],
        cwd=home / "replan",
        env=environ | {"HOME": str(home), "PATH": path, "REPLAN_OF_README": str(home)},
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as shell:
        os.close(terminal)
        assert shell.stdout is not None
        while said := os.read(shell.stdout.fileno(), 65536):
            told += said
            if told.endswith(b"[y/N]: "):
                os.write(keyboard, b"y\n")
    os.close(keyboard)
    text = told.decode()
    return [int(code) for code in re.findall(rf"^{ENDED} (\d+)$", text, re.MULTILINE)], text


def client(home: Path, server: SshServer) -> str:
    """The PATH of an account that the server lets in already, though not with a new key."""
    path = os.environ["PATH"]
    if shutil.which("ssh-copy-id") is None:
        path += f"{os.pathsep}{unpacked('openssh-client')}/usr/bin"
    wrapper = home / "bin/ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(
        '#!/bin/sh\ncase "$*" in *PreferredAuthentications=publickey*) ;; '
        f'*) set -- -i {server.key_path} "$@" ;; esac\n'
        f"exec {shutil.which('ssh', path=path)} -F none -o IdentitiesOnly=yes "
        f'-o UserKnownHostsFile={server.known_hosts} "$@"\n'
    )
    wrapper.chmod(0o755)
    return f"{wrapper.parent}{os.pathsep}{path}"


@pytest.mark.timeout(900)  # a minute on a machine that does nothing else
def test_every_line_does_what_readme_says(
    home: Path, ssh_account: Account, sshd_factory: SshServers
) -> None:
    """In order, as one shell has them. Nobody has a key of a model here, and it is missed."""
    keys = ssh_account.home / ".ssh/authorized_keys"
    server = sshd_factory(f"AuthorizedKeysFile {{folder}}/authorized_keys {keys}")
    host = f"host={server.host} port={server.port} account={server.user}"
    lines = story()
    mine = [host if line.text.startswith("host=") else "true" for line in lines]
    texts = [
        each if line.is_the_readers else line.text for line, each in zip(lines, mine, strict=True)
    ]
    codes, told = typed(home, texts, client(home, server))
    promised = [line.code for line in lines]
    assert [*zip(texts, codes, strict=False)] == [*zip(texts, promised, strict=True)], told
    assert "hello from" in told
    assert "ANTHROPIC_API_KEY" in told
    assert set(promised) == {0, WITHOUT_KEY}, "README no longer says what waits for a person"
