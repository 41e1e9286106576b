"""The text of a subtask that reaches its host; a snippet of kind `code` sets `result` (S1.25)."""

import ast
import math
import shlex

MEMORY = 1 << 30
"""Bytes of memory for a snippet's interpreter; its CPU seconds equal its timeout."""

CODA = """
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
"""What stands behind every snippet."""


def as_command(snippet: str, *, timeout: float = 300.0) -> str:
    """The command that runs a snippet with the host's python3, in a process of its own.

    It prints `result` as JSON and exits with 0 unless its innermost `success` is false: the inner
    one decides, not the outer call's (S1.26, S1.45). A snippet that asks a person exits with 1,
    too. It may use `timeout` seconds of CPU and `MEMORY` bytes; its output is capped like that of
    every command.
    """
    limits = f"ulimit -t {math.ceil(timeout)}; ulimit -v {MEMORY // 1024}"
    alone = "-I " if is_literal(snippet) else ""
    return f"{limits}; python3 {alone}-c {shlex.quote(snippet.rstrip() + CODA)}"


_MOST_CHARACTERS = 20_000


def is_literal(snippet: str) -> bool:
    """Whether a snippet only sets `result` to plain values."""
    if len(snippet) > _MOST_CHARACTERS:
        return False
    try:
        match ast.parse(snippet).body:
            case [ast.Assign(targets=[ast.Name(id="result")], value=value)]:
                ast.literal_eval(value)
            case _:
                return False
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True
