"""The command line on a terminal of its own, watched and typed at as a person does it."""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from tests.services.screen import Screen

REPLAN = "import sys; from orchestrator.cli.main import main; sys.exit(main())"
QUIET = 0.1
"""Seconds without output after which a frame is whole."""

Look = Callable[[list[str]], bool]


class Watching:
    """A command on a terminal of its own, and what it shows."""

    def __init__(
        self, width: int, height: int, words: Sequence[str], environ: Mapping[str, str]
    ) -> None:
        self._screen = Screen(width, height)
        self._written = ""
        self._answered: Counter[str] = Counter()
        self._read = codecs.getincrementaldecoder("utf-8")()
        size = struct.pack("HHHH", height, width, 0, 0)
        self._terminal, its_end = pty.openpty()
        fcntl.ioctl(its_end, termios.TIOCSWINSZ, size)
        self._process = subprocess.Popen(
            [sys.executable, "-c", REPLAN, *words],
            env={**environ, "TERM": "xterm", "COLUMNS": "", "LINES": ""},
            stdin=its_end,
            stdout=its_end,
            stderr=its_end,
            preexec_fn=own_terminal,  # noqa: PLW1509 - no thread of this process takes part
        )
        os.close(its_end)

    @property
    def written(self) -> str:
        """All that it has written."""
        return self._written

    def frames(self) -> Iterator[list[str]]:
        """The screen whenever it comes to rest, until the command ends."""
        while True:
            ready, _, _ = select.select([self._terminal], [], [], QUIET)
            if not ready:
                yield self._screen.lines
                continue
            try:
                written = os.read(self._terminal, 65536)
            except OSError:  # the command has ended
                return
            text = self._read.decode(written)
            self._written += text
            self._screen.feed(text)

    def until(self, look: Look) -> list[list[str]]:
        """The frames up to the first that looks so."""
        seen = []
        for lines in self.frames():
            if self._screen.column:
                continue  # a part of a frame
            seen.append(lines)
            if look(lines):
                return seen
        raise AssertionError(f"never shown; at the end:\n{chr(10).join(self._screen.lines)}")

    def asks(self, prompt: str) -> bool:
        """Wait until it asks so once more than before, or ends; whether it asks."""
        self._answered[prompt] += 1
        return any(self._written.count(prompt) >= self._answered[prompt] for _ in self.frames())

    def asked(self, prompt: str) -> None:
        """Wait until it asks so once more than before."""
        assert self.asks(prompt), f"never asked {prompt!r}: {self._written}"

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, keys.encode())

    def end(self) -> tuple[int, list[str]]:
        """The exit code, and what is on the screen then."""
        for _ in self.frames():
            pass
        return self._process.wait(), self._screen.lines

    def close(self) -> None:
        """End the command, if it goes on, and its terminal."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._terminal)


def own_terminal() -> None:
    """Make standard input the terminal of a session of its own, as a terminal window does."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def watched(
    width: int, height: int, *words: object, environ: Mapping[str, str] = os.environ
) -> Iterator[Watching]:
    """A command on a terminal; it is ended if the test ends before."""
    with closing(Watching(width, height, [*map(str, words)], environ)) as watching:
        yield watching
