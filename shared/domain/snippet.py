"""The text of a subtask that reaches its host; a snippet of kind `code` sets `result` (S1.25)."""

import shlex

from shared.domain.plan import Subtask, SubtaskKind

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
sys.exit(0 if not isinstance(inner, dict) or inner.get("success", True) else 1)
"""


def as_command(snippet: str) -> str:
    """The command that runs a snippet with the host's python3.

    It prints `result` as JSON and exits with 0 unless the innermost `success` of it is false: the
    inner one decides, not the outer call's (S1.26, S1.45).
    """
    return f"python3 -c {shlex.quote(snippet.rstrip() + _CODA)}"


def text_of(subtask: Subtask) -> str:
    """The bytes that reach the host for a subtask as planned."""
    if subtask.kind is SubtaskKind.CODE:
        return as_command(subtask.command)
    return subtask.command
