"""What ran in an attempt, as the columns of its row."""

import json
from dataclasses import replace
from typing import Any, Final

from shared.domain.attempt import AgentResult, CommandResult, Ran
from shared.domain.transcript import RunnerOutput
from shared.store.output import digest, safe_text, store_output
from shared.wire import to_json


def result_columns(result: Ran | None, blobs: dict[str, bytes]) -> dict[str, Any]:
    """The columns of a result; what does not fit into them is added to `blobs` by its digest."""
    if result is None:
        return {**_NO_OUTPUT, "left_over": []}
    if isinstance(result, AgentResult):
        body = to_json(replace(result, output=None))
        kept = {} if result.output is None else _output(result.output, blobs)
        return {**_NO_OUTPUT, **_ending(result), "body": body, **kept}
    return {
        "exit_code": result.exit_code,
        **_streams(result, blobs),
        **_ending(result),
    }


def _streams(written: CommandResult | RunnerOutput, blobs: dict[str, bytes]) -> dict[str, Any]:
    out = store_output(written.stdout, written.stdout_dropped)
    err = store_output(written.stderr, written.stderr_dropped)
    for stored, data in ((out, written.stdout), (err, written.stderr)):
        if stored.blob is not None:
            blobs[stored.blob] = data
    return {
        "stdout": out.text,
        "stderr": err.text,
        "stdout_size": out.size,
        "stderr_size": err.size,
        "stdout_blob": out.blob,
        "stderr_blob": err.blob,
    }


def _output(output: RunnerOutput, blobs: dict[str, bytes]) -> dict[str, Any]:
    streams = _streams(output, blobs)
    if output.transcript is None:
        return streams
    written = json.dumps(to_json(output.transcript)).encode()
    blobs[digest(written)] = written
    return {**streams, "transcript_blob": digest(written)}


def _ending(result: Ran) -> dict[str, Any]:
    return {
        "ran_at": result.started_at,
        "ran_until": result.ended_at,
        "ended_by": result.ended_by,
        "unknown": result.unknown,
        "left_over": [_clean(process) for process in result.left_over],
    }


_NO_OUTPUT: Final = {
    "exit_code": None,
    "stdout": "",
    "stderr": "",
    "stdout_size": 0,
    "stderr_size": 0,
}


def _clean(written: str) -> str:
    return safe_text(written.encode("utf-8", "backslashreplace"))
