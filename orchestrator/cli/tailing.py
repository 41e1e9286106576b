"""Printing the output of an attempt as it comes, and what is left of it in the end."""

from orchestrator.cli.invocation import Invocation
from orchestrator.cli.tables import plain
from orchestrator.views.attempts import AttemptView, OutputPiece
from orchestrator.words.transcripts import tell_event, tell_transcript
from shared.domain.transcript import EVENTS, RAW


class Tailing:
    """Prints for people, and nothing in any other format.

    Of an agent whose program tells what it does, they read that, or with `raw` what the program
    writes.
    """

    def __init__(self, call: Invocation, *, raw: bool) -> None:
        self._call = call
        self._raw = raw
        self._told = {"stdout": 0, "stderr": 0}
        self._lines = 0
        self._rest = ""

    def tell(self, piece: OutputPiece) -> None:
        """Print a piece."""
        if piece.stream == EVENTS:
            self._tell_events(piece.text)
        elif piece.stream != RAW or self._raw:
            self._told["stdout" if piece.stream == RAW else piece.stream] += len(piece.text)
            self._out(piece.text)

    def tell_rest(self, whole: AttemptView) -> None:
        """Print what has not come while it ran."""
        if whole.transcript is not None and not self._raw:
            for line in tell_transcript(whole.transcript.after(self._lines)):
                self._print(line)
            streams = [("stderr", whole.stderr)]
        else:
            streams = [("stdout", whole.stdout), ("stderr", whole.stderr)]
        for name, text in streams:
            self._out(text[self._told[name] :])
            if text and not text.endswith("\n"):
                self._out("\n")

    def _tell_events(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._lines += 1
            if not self._raw:
                self._print(tell_event(line))

    def _print(self, line: str) -> None:
        if self._call.human:
            self._call.console.print(plain(line), highlight=False)

    def _out(self, text: str) -> None:
        if self._call.human:
            self._call.console.out(text, end="", highlight=False)
