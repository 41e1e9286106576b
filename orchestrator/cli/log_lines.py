"""Printing what the commands of a task write: each line begins with the place it comes from."""

from collections import defaultdict

from rich.console import Console
from rich.text import Text

from orchestrator.cli.tables import COLOURS, span
from orchestrator.views.attempts import AttemptLine, OutputPiece
from orchestrator.views.logs import LoggedAttempt, LogPlace
from orchestrator.words.failures import describe_codes
from orchestrator.words.quantities import clock
from orchestrator.words.transcripts import tell_event, tell_transcript
from orchestrator.words.visible_text import shown_last
from shared.domain.ids import Ref
from shared.domain.outcome import Outcome
from shared.domain.transcript import EVENTS, RAW, TranscriptLine

_STDERR = "stderr"
_CHECK = "check"


class LogLines:
    """Prints output line by line as it comes; what has no end of line yet waits for the rest.

    Of an agent, people read what it said and did.
    """

    def __init__(self, console: Console) -> None:
        self.begun_any = False
        self._console = console
        self._told: dict[tuple[int, str], int] = defaultdict(int)
        self._rest: dict[tuple[int, str], str] = defaultdict(str)

    def begun(self, place: LogPlace, attempt: LoggedAttempt) -> None:
        """Print what it is: where, when it began, its titles, and its command."""
        self.begun_any = True
        titles = " – ".join(dict.fromkeys(filter(None, (attempt.step_title, attempt.title))))
        began = clock(attempt.view.attempt.started_at)
        told = Text.assemble((str(place.ref), "bold"), (f" {began}", "dim"), f" {titles}")
        self._console.print(told, soft_wrap=True)
        for line in attempt.view.attempt.command.rstrip("\n").split("\n"):
            self._print(place, f"$ {line}", "bold")

    def wrote(self, place: LogPlace, piece: OutputPiece) -> None:
        """Print the lines that a piece completes."""
        if piece.stream == RAW:
            return
        self._told[place.id, piece.stream] += len(piece.text)
        self._take(place, piece.stream, piece.text)

    def ended(self, place: LogPlace, attempt: LoggedAttempt) -> None:
        """Print what has not come while it ran, and how it ended."""
        view = attempt.view
        if view.transcript is not None:
            told = self._told[place.id, TranscriptLine.__name__]
            for line in tell_transcript(view.transcript.after(told)):
                self._print_all(place, line)
        else:
            self._take(place, "stdout", view.stdout[self._told[place.id, "stdout"] :])
        self._take(place, _STDERR, view.stderr[self._told[place.id, _STDERR] :])
        for stream in ("stdout", _STDERR):
            self._flush(place, stream)
        if view.attempt.outcome == Outcome.CHECK_FAILED and view.check_command:
            self._print(place, f"$ {' '.join(view.check_command.split())}", "bold")
            self._take(place, _CHECK, view.check_output)
            self._flush(place, _CHECK)
        self._print(place, _ending(view.attempt), COLOURS.get(view.attempt.outcome, ""))

    def _take(self, place: LogPlace, stream: str, written: str) -> None:
        *lines, self._rest[place.id, stream] = (self._rest[place.id, stream] + written).split("\n")
        for line in lines:
            self._tell(place, stream, line)

    def _flush(self, place: LogPlace, stream: str) -> None:
        if rest := self._rest.pop((place.id, stream), ""):
            self._tell(place, stream, rest)

    def _tell(self, place: LogPlace, stream: str, line: str) -> None:
        if stream == EVENTS:
            self._told[place.id, TranscriptLine.__name__] += 1
            self._print_all(place, tell_event(line))
            return
        self._print(place, shown_last(line), "yellow" if stream == _STDERR else "")

    def _print_all(self, place: LogPlace, lines: str) -> None:
        for line in lines.split("\n"):
            self._print(place, line)

    def _print(self, place: LogPlace, line: str, style: str = "") -> None:
        self._console.print(
            Text.assemble((f"{_name(place.ref)} | ", "dim"), (line, style)), soft_wrap=True
        )


def _name(ref: Ref) -> str:
    return f"T{ref.task}.{ref.step}.{ref.subtask}@{ref.target}"


def _ending(attempt: AttemptLine) -> str:
    coded = describe_codes(attempt.outcome, attempt.exit_code, attempt.check_exit_code)
    how = coded or str(attempt.outcome).replace("_", " ")
    return ", ".join(filter(None, (how, span(attempt.seconds))))
