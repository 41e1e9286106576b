"""Records of hosts as people are shown them."""

from dataclasses import replace

from shared.domain.records import HostRecord
from shared.secrets.masking import Masker

SHOWN = 2000
"""Characters of a command in a host's records that a person is shown."""


def shown_record(record: HostRecord, masker: Masker) -> HostRecord:
    """A host's record as a person is shown it: valid text, without secrets, and not too long."""
    text = record.command.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    masked = masker.values(text)
    return replace(record, command=masked if len(masked) <= SHOWN else f"{masked[:SHOWN]}…")
