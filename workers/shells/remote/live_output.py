"""Telling the output of a command while it comes, without the secrets in it."""

from shared.domain.attempt import OnOutput
from shared.secrets.masking import MaskedStream, Masker

STREAMS = ("stdout", "stderr")


class LiveOutput:
    """Tells whoever listens what may be told of each stream, as soon as it may be."""

    def __init__(self, on_output: OnOutput | None, masker: Masker | None) -> None:
        self._on_output = on_output
        self._masker = masker
        self._masked: dict[str, MaskedStream] = {}

    def send(self, stream: str, chunk: bytes) -> None:
        """The next bytes of a stream; raises what the listener raises."""
        if self._on_output is None:
            return
        if self._masker is not None:
            if stream not in self._masked:
                self._masked[stream] = self._masker.stream()
            chunk = self._masked[stream].feed(chunk)
        if chunk:
            self._on_output(stream, chunk)

    def finish(self) -> None:
        """The streams have ended: what was held back is told."""
        for stream, masked in self._masked.items():
            rest = masked.finish()
            if rest and self._on_output is not None:
                self._on_output(stream, rest)
        self._masked.clear()
