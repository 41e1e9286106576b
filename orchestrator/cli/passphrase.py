"""Asks a person for the passphrase of the key that signs approvals."""

import getpass
import os
import sys
from pathlib import Path

from orchestrator.cli.terminal import Terminal
from shared.visible import visible


class TerminalPassphrases:
    """Asks on the terminal of this process (`orchestrator.access.approval_key.Passphrases`)."""

    def current(self, path: Path) -> str | None:
        """The passphrase of the key."""
        if not _has_terminal():
            return None
        return _ask(f"Passphrase of {path}: ")

    def new(self, path: Path) -> str | None:
        """A passphrase for the key, asked for until it was typed twice alike; none if it is empty.

        Only of a person who is asked for input here: a script with a terminal gets none.
        """
        if not (_has_terminal() and sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        terminal = Terminal(stderr=True, soft_wrap=True)
        terminal.out(
            f"{path} signs what you approve. Without a passphrase, whatever runs as you can."
        )
        while True:
            chosen = _ask("New passphrase (empty for none): ")
            if not chosen or chosen == _ask("The same again: "):
                return chosen
            terminal.out("They differ.")


def _ask(prompt: str) -> str:
    try:
        return getpass.getpass(visible(prompt))
    except EOFError:
        raise KeyboardInterrupt from None  # Ctrl-D: nothing is typed


def _has_terminal() -> bool:
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
