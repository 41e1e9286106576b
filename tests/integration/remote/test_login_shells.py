"""A command means the same whatever the account's login shell is."""

import re
import shutil
import subprocess

import pytest

from workers.remote.script import login_line, prologue

NONCE = "0123456789abcdef"
LOGIN_SHELLS = ("bash", "dash", "busybox sh", "ksh", "zsh", "fish", "tcsh")
READ_BY = ("dash", "bash", "busybox sh", "ksh")

COMMANDS = (
    "true",
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


def there(shell: str) -> bool:
    """Whether a login shell is installed: they are many, and no machine has them all."""
    return shutil.which(shell.partition(" ")[0]) is not None


@pytest.mark.parametrize("login_shell", LOGIN_SHELLS)
def test_every_login_shell_hands_the_command_on_as_it_is(login_shell: str) -> None:
    """An SSH server runs `<login shell> -c <line>`: the outcome is that of /bin/sh alone."""
    if not there(login_shell):
        pytest.skip(f"{login_shell} is not installed")
    for command in COMMANDS:
        line = login_line(command, nonce=NONCE)
        via_login_shell = outcome([*login_shell.split(), "-c", line])
        alone = outcome(["sh", "-c", f"{prologue(NONCE)}\n{command}", "sh"])
        assert via_login_shell == alone, f"{login_shell}: {command!r}"


@pytest.mark.parametrize("shell", READ_BY)
def test_every_sh_understands_what_stands_before_a_command(shell: str) -> None:
    """The prologue opens, moves, closes standard input and sets the environment in each."""
    if not there(shell):
        pytest.skip(f"{shell} is not installed")
    command = 'pwd; echo "$PAGER $DEBIAN_FRONTEND"; cat; echo end'
    text = f"{prologue(NONCE, '/usr/share')} #\\\n{command}"

    code, stdout, stderr = outcome([*shell.split(), "-c", text, "sh"])

    assert (code, stderr) == (0, b"")
    assert stdout == b"@@%s P\n/usr/share\ncat noninteractive\nend\n" % NONCE.encode()


def outcome(arguments: list[str]) -> tuple[int, bytes, bytes]:
    """Exit code and streams; process ids are made equal."""
    done = subprocess.run(
        arguments, input=b"not for the command\n", capture_output=True, check=False
    )
    stdout = re.sub(rb"(@@\w+) \d+", rb"\1 P", done.stdout)
    return done.returncode, stdout, done.stderr
