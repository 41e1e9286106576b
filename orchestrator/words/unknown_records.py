"""Records of a host that the database does not know, in words."""

from collections.abc import Iterator, Sequence

from shared.domain.records import HostRecord


def describe(records: Sequence[HostRecord]) -> Iterator[tuple[str, str]]:
    """Describe the records for a person, as pairs of a name and a text."""
    for record in records:
        where = f"pass {record.pass_no}, revision {record.revision}"
        if record.subtask is not None:
            where = f"subtask {record.subtask}, {where}"
        if record.started_at is not None:
            where += f", started at {record.started_at:%Y-%m-%d %H:%M:%S} UTC"
        yield "on the host", f"{record.command}\n{where}: {outcome(record)}"


def outcome(record: HostRecord) -> str:
    """How a recorded command ended, in words."""
    if record.running:
        told = "still running"
    elif record.exit_code is None:
        told = "its end is not recorded"
    else:
        told = f"exit code {record.exit_code}"
    return f"{told}; the plan says something else now" if record.differs else told
