"""Sends the output of a command as it arrives, without the secrets in it."""

from shared.domain.attempt import OnOutput
from shared.secrets.masking import MaskedStream, Masker, ValueStream

STREAMS = ("stdout", "stderr")


class LiveOutput:
    """Sends each stream to the listener, as soon as the masker releases it."""

    def __init__(self, on_output: OnOutput | None, masker: Masker | None) -> None:
        self._on_output = on_output
        self._masker = masker
        self._masked: dict[str, MaskedStream | ValueStream] = {}

    def send(self, stream: str, chunk: bytes) -> None:
        """Send the next bytes of a stream; raises what the listener raises."""
        if self._on_output is None:
            return
        if self._masker is not None:
            if stream not in self._masked:
                self._masked[stream] = self._masker.stream()
            chunk = self._masked[stream].feed(chunk)
        if chunk:
            self._on_output(stream, chunk)

    def finish(self) -> None:
        """Send what the masker has held back; the streams have ended."""
        for stream, masked in self._masked.items():
            rest = masked.finish()
            if rest and self._on_output is not None:
                self._on_output(stream, rest)
        self._masked.clear()
