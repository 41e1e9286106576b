"""The output of a command: gathered at its end, and sent while it runs."""

import threading
import time
from contextlib import suppress

from shared.domain.attempt import OnOutput
from shared.domain.errors import ReplanError
from shared.secrets.masking import Masker
from workers.shells.records import CommandRecord, Identity
from workers.shells.remote.capture import Capture
from workers.shells.remote.channels import LostError
from workers.shells.remote.live_output import LiveOutput
from workers.shells.remote.runner import Ended, Runner
from workers.shells.remote.runners import RunnerPool

STREAMS = {"stdout": "o", "stderr": "e"}

_READS = 40
"""How often a file is read that changes meanwhile; what cuts it does so for a moment."""

_CUTTING = 0.05


class Output:
    """Both streams of one command. No byte of a stream is sent twice."""

    def __init__(
        self, on_output: OnOutput | None, limit: int, masker: Masker | None = None
    ) -> None:
        self._live = LiveOutput(on_output, masker)
        self._sent = dict.fromkeys(STREAMS, 0)
        self._passed = dict.fromkeys(STREAMS, 0)
        self._lock = threading.Lock()
        self._final = False
        self.is_live = on_output is not None
        self.failed: Exception | None = None
        self.captures = {
            name: Capture(name, self._at_end, limit=limit, masker=masker) for name in STREAMS
        }

    @property
    def sent(self) -> tuple[int, int]:
        """How many bytes of each stream have been sent to the listener."""
        return self._sent["stdout"], self._sent["stderr"]

    def send_live(self, stream: str, chunk: bytes) -> bool:
        """Send a chunk of a running command; False once the listener needs no more.

        If the listener raises, `failed` keeps the error for the thread that waits for the command.
        """
        with self._lock:
            if self._final or self.failed is not None:
                return False
            try:
                self._send(stream, chunk)
            except Exception as error:  # noqa: BLE001 - the thread that waits raises it
                self.failed = error
            return self.failed is None

    def finish(self) -> None:
        """Note that the command has ended: further bytes go into the captures."""
        with self._lock:
            self._final = True

    def gather(self, runner: Runner, stem: str, ended: Ended) -> None:
        """Gather both streams, from the frame of the end or from the host's files."""
        self.finish()
        self._take(runner, stem, ended)
        self._live.finish()

    def _take(self, runner: Runner, stem: str, ended: Ended) -> None:
        if ended.whole:
            self.captures["stdout"].take(ended.out)
            self.captures["stderr"].take(ended.err)
            return
        if ended.number is None:
            return
        for name, letter in STREAMS.items():
            _fetch(runner, f"{stem}.{letter}.{ended.number}", self.captures[name])

    def _at_end(self, stream: str, chunk: bytes) -> None:
        begin = self._passed[stream]
        self._passed[stream] += len(chunk)
        new = chunk[max(0, self._sent[stream] - begin) :]
        if new:
            self._send(stream, new)

    def _send(self, stream: str, chunk: bytes) -> None:
        self._sent[stream] += len(chunk)
        self._live.send(stream, chunk)


def start_live_output(
    pool: RunnerPool, record: CommandRecord, runner: Identity, output: Output
) -> None:
    """Send the output of a running command from now on, in its own thread."""
    threading.Thread(
        target=_send_live_output, args=(pool, record, runner, output), name="output", daemon=True
    ).start()


def _send_live_output(
    pool: RunnerPool, record: CommandRecord, runner: Identity, output: Output
) -> None:
    # The end of the command makes up for whatever fails here.
    with suppress(ReplanError, LostError), pool.runner() as second:
        second.follow(record, runner, output.sent)
        wanted = True
        while (came := second.next_output(60.0)) is None or came[0] in STREAMS:
            if came is not None and wanted:
                wanted = output.send_live(*came)


class _Pieces:
    """The parts of a file in order: bytes, and how many are missing in between."""

    def __init__(self) -> None:
        self._found: list[bytes | int] = []

    def take(self, chunk: bytes) -> None:
        """See `Capture`."""
        self._found.append(chunk)

    def skip(self, size: int) -> None:
        """See `Capture`."""
        self._found.append(size)

    def pour(self, into: Capture) -> None:
        """Give all of it to a capture."""
        for piece in self._found:
            if isinstance(piece, bytes):
                into.take(piece)
            else:
                into.skip(piece)


def _fetch(runner: Runner, path: str, into: Capture) -> None:
    """Read a file, of which the host may take the middle out meanwhile: then it is read again."""
    pieces = _Pieces()
    for left in range(_READS, 0, -1):
        before = runner.read(f"{path}.cut")
        if _is_being_cut(before) and left > 1:
            time.sleep(_CUTTING)
            continue
        pieces = _read(runner, path, int(before.strip(b"-\n") or b"0"))
        if runner.read(f"{path}.cut") == before:
            break
    pieces.pour(into)


def _is_being_cut(text: bytes) -> bool:
    return b"-" in text


def _read(runner: Runner, path: str, missing: int) -> _Pieces:
    pieces = _Pieces()
    if missing:
        missing -= runner.fetch(f"{path}.head", pieces)
        pieces.skip(max(0, missing - runner.size(f"{path}.last")))
        runner.fetch(f"{path}.last", pieces)
    runner.fetch(path, pieces)
    return pieces
