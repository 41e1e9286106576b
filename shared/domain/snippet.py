"""The text of a subtask that reaches its host; a snippet of kind `code` sets `result` (S1.25)."""

import math
import shlex

MEMORY = 1 << 30
"""Bytes that a snippet's interpreter may take; its seconds of CPU are those of its timeout."""

_CODA = """
import json, sys
inner = globals().get("result")
while isinstance(inner, dict) and isinstance(inner.get("result"), dict):
    if "success" not in inner["result"]:
        break
    inner = inner["result"]
if inner is None:
    sys.exit("the snippet has set no result")
print(json.dumps(result, default=str))
asks = isinstance(inner, dict) and inner.get("status") == "needs_input"
sys.exit(1 if asks or isinstance(inner, dict) and not inner.get("success", True) else 0)
"""


def as_command(snippet: str, *, timeout: float = 300.0) -> str:
    """The command that runs a snippet with the host's python3, in a process of its own.

    It prints `result` as JSON and exits with 0 unless the innermost `success` of it is false: the
    inner one decides, not the outer call's (S1.26, S1.45). One that asks a person exits with 1,
    too. It may compute for `timeout` seconds and take `MEMORY` bytes; what it prints is cut off
    where the output of every command is.
    """
    limits = f"ulimit -t {math.ceil(timeout)}; ulimit -v {MEMORY // 1024}"
    return f"{limits}; python3 -c {shlex.quote(snippet.rstrip() + _CODA)}"
