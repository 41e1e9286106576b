"""What is kept of the output of a runner once it has ended."""

from typing import Final

from shared.domain.attempt import CommandResult
from shared.domain.transcript import RunnerOutput, Transcript
from shared.secrets.masking import Masker
from workers.shells.remote.capture import Capture
from workers.shells.remote.live_output import STREAMS

KEPT_OUTPUT: Final = 262_144
"""Bytes of each stream of a runner that are kept, half from each end."""


def kept_output(
    result: CommandResult, transcript: Transcript | None, masker: Masker | None
) -> RunnerOutput:
    """Its transcript, and its streams; `masker` hides the secrets of a stream that was not masked.

    The shell masks streams, but for those that a reader needs whole.
    """
    out, err = (Capture(name, limit=KEPT_OUTPUT, masker=masker) for name in STREAMS)
    out.take(result.stdout)
    err.take(result.stderr)
    return RunnerOutput(
        transcript,
        out.content(),
        err.content(),
        out.dropped + result.stdout_dropped,
        err.dropped + result.stderr_dropped,
    )
