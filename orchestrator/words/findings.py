"""What the gates found in a delivery, from its row, in words."""

from collections.abc import Iterable, Iterator
from typing import Any

from shared.domain.finding_words import describe_findings
from shared.domain.findings import Finding
from shared.wire import from_json


def findings_in_words(recorded: Iterable[Any]) -> Iterator[str]:
    """A line for each finding in the column `findings` of a delivery."""
    return describe_findings(from_json(Finding, each) for each in recorded)
