"""What is told to a host beside a command, for whoever has to go on with it."""

import json


def label(correction: str | None, planned: str) -> str:
    """The correction that made a command, if any, and the command of which it is one."""
    return json.dumps([correction, planned])


def read_label(text: str) -> tuple[str | None, str]:
    """The correction and the planned command."""
    correction, planned = json.loads(text)
    return correction, planned
