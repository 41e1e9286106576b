"""Moves that end as deletions: into places that are emptied when the host starts (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.words import Run

RULE = "volatile"

_VOLATILE = re.compile(r"(?:/tmp|/dev/shm|/run|/var/run)(?:/.*)?")
_A_FILE = re.compile(r"[^/]*[^/.]\.[^/.]+")


def volatile_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that moves what may be a directory to where it does not stay."""
    for run in runs:
        words = [word.with_placeholder("x") for word in run.argv[1:]]
        places = [word for word in words if not word.startswith("-")]
        if run.program != "mv" or len(places) <= 1 or not _VOLATILE.fullmatch(places[-1]):
            continue
        for place in places[:-1]:
            kept = place.startswith("/") and not _VOLATILE.fullmatch(place)
            if kept and not _A_FILE.fullmatch(place.rstrip("/").rpartition("/")[2]):
                told = f"{place} would be lost when the host starts again: {places[-1]}"
                yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
