"""A person is asked for a passphrase on a terminal, and nobody anywhere else."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli.passphrase import TerminalPassphrases

ASK = """
import os
os.close(os.open(os.ttyname(0), os.O_RDWR))  # the leader of a session gets its terminal so
from pathlib import Path
from orchestrator.cli.passphrase import TerminalPassphrases
asks = TerminalPassphrases()
print("first", repr(asks.new(Path("/k"))))
print("chose", asks.new(Path("/k")), "typed", asks.current(Path("/k")))
"""


def test_it_is_chosen_twice_alike_and_never_shown() -> None:
    terminal, its_end = pty.openpty()
    words = (sys.executable, "-c", ASK)
    asking = subprocess.Popen(
        words, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True
    )
    os.close(its_end)
    shown = b""
    for prompt, answer in (
        (b"empty for none): ", b"\n"),  # none is not asked for again
        (b"empty for none): ", b"one\n"),
        (b"same again: ", b"two\n"),
        (b"empty for none): ", b"three\n"),
        (b"same again: ", b"three\n"),
        (b"Passphrase of /k: ", b"four\n"),
    ):
        heard = b""
        while not heard.endswith(prompt):
            heard += os.read(terminal, 4096)
        shown += heard
        os.write(terminal, answer)
    rest = b""
    while b"typed four" not in rest:
        rest += os.read(terminal, 4096)
    assert asking.wait() == 0
    os.close(terminal)
    assert b"first ''" in shown
    assert b"They differ." in shown
    assert not any(each in shown for each in (b"one\r", b"two", b"three", b"four"))
    assert b"chose three typed four" in rest


def test_nobody_is_asked_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.ctermid", lambda: "/nonexistent/tty")
    assert TerminalPassphrases().current(Path("/k")) is None
    assert TerminalPassphrases().new(Path("/k")) is None
