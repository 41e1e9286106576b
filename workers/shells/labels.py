"""What is told to a host beside a command, for whoever has to go on with it."""

import json

from workers.passes.means import Try


def label(this: Try) -> str:
    """The remedy that made a command, if any, and the command that it was found for."""
    return json.dumps([this.remedy, this.source])


def read_label(command: str, text: str) -> Try:
    """What was tried, from its command and its label."""
    remedy, planned = json.loads(text)
    return Try(command, remedy, planned)
