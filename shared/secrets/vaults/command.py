"""The vault of a command: a program of the operator prints the value of a secret."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence

from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.secrets.vaults.files import LARGEST
from shared.secrets.vaults.vault import STAGE, NotHere, one_line_less

PLACE = "NAME"
"""The word in the command that the name of the secret replaces."""

_SHOWN = 200


class CommandVault:
    """Runs the program with the name filled in, without a shell and without input.

    Its output, less one newline, is the value. An exit code other than 0 means that it does not
    have the secret, and the next vault is asked. Raises Misconfigured, at stage `config`, for a
    command without a place for the name.
    """

    def __init__(self, command: Sequence[str], *, timeout: float) -> None:
        self._command = tuple(command)
        self._timeout = timeout
        if not any(PLACE in word for word in self._command[1:]):
            raise Misconfigured(
                f"vault_command has no {PLACE} after its program for the name of the secret; "
                f'for instance ["pass", "show", "replan/{PLACE}"]',
                stage="config",
                next_step=NextStep.of("config show", "vault_command"),
            )

    @property
    def label(self) -> str:
        """The program."""
        return f"the command {self._command[0]}"

    def find(self, name: str) -> str:
        """What the program prints; raises NotHere for an exit code other than 0.

        Raises Misconfigured if it cannot be started, takes too long, or prints too much.
        """
        words = [self._command[0], *(word.replace(PLACE, name) for word in self._command[1:])]
        code, out, err = self._run(words)
        if code != 0:
            why = err.decode("utf-8", "replace").strip().partition("\n")[0][:_SHOWN]
            raise NotHere(f"exit {code}, {why}" if why else f"exit {code}")
        if len(out) > LARGEST:
            raise self._refuse(f"printed more than {LARGEST} bytes")
        return one_line_less(out.decode("utf-8", "surrogateescape"))

    def names(self) -> tuple[str, ...]:
        """Empty: they cannot be listed."""
        return ()

    def _run(self, words: list[str]) -> tuple[int, bytes, bytes]:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise self._refuse(f"cannot be started ({error.strerror})") from None
        with process:
            try:
                out, err = process.communicate(timeout=self._timeout)
            except subprocess.TimeoutExpired:
                # With all of its children: one of them may hold its output open.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                why = f"has not answered within {self._timeout:g} s, and was killed"
                raise self._refuse(why) from None
        return process.returncode, out, err

    def _refuse(self, why: str) -> Misconfigured:
        return Misconfigured(
            f"the command of the vault, {self._command[0]}, {why}",
            stage=STAGE,
            next_step=NextStep.of("config show", "vault_command"),
        )
