"""Files in which a database keeps its data: who empties, replaces or deletes one loses it (X17).

A copy beside it or elsewhere takes nothing away, and stays a matter of the other rules.
"""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.shell.written_files import operands
from shared.guard.words import Run, Word

RULE = "database-file"
_HELD = re.compile(
    r"(?i)(?!(?:/var)?/tmp/|/dev/)(?:.*/)?"
    r"(?:[^/]+\.(?:sqlite3?|db|db3|mdb|rdb|aof|ibd|frm|wal)|ibdata\d*|PG_VERSION"
    r"|(?:pg_wal|pg_xact|pgdata)/.*|base/\d+/\d+.*)"
)
_ENDING = frozenset({"rm", "mv", "unlink", "truncate", "shred", "gzip", "bzip2", "xz", "zstd"})
_REPLACING = frozenset({"cp", "install", "ln", "dd", "tee"})


def database_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that takes away what such a file holds."""
    for run in runs:
        for word in _taken(run):
            places = (canonical(word, here) for here in run.directories)
            if any(_HELD.fullmatch(place.with_placeholder("*")) for place in places):
                told = f"what a database keeps in {word} would be gone"
                yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
                break


def _taken(run: Run) -> Iterator[Word]:
    """The files of which a run ends what they hold."""
    yield from run.writes
    words = operands(run.argv[1:]) if run.argv else []
    if run.program in _ENDING:
        yield from words
    elif run.program in _REPLACING:
        yield from words[-1:]
