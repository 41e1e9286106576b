"""What is known of a command with an unknown outcome, in words."""

from collections.abc import Iterator

from orchestrator.views.unknown_outcomes import Evidence
from orchestrator.words.workers import name_worker


def describe(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Describe the evidence for a person, as pairs of a name and a text."""
    yield "command", evidence.command
    yield "where", f"{evidence.attempt} on {evidence.host}, by {name_worker(evidence.worker)}"
    yield "known", evidence.reason or "nothing"
    yield "check", evidence.check or "none: only a person can tell"
    for name, output in (("stdout so far", evidence.stdout), ("stderr so far", evidence.stderr)):
        if output.strip():
            yield name, output.rstrip("\n")
