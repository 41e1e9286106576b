"""What strangers have put on the host, and where it may not end unseen (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.policy.territory import of_strangers
from shared.guard.shell.written_files import operands
from shared.guard.words import HOME, Run, Word

RULE = "of-strangers"

_UNPACKERS = frozenset(
    {"tar", "unzip", "gunzip", "bunzip2", "unxz", "unzstd", "zcat", "bzcat", "xzcat", "zstdcat"}
)
_PACKERS = frozenset({"gzip", "bzip2", "xz", "zstd"})
_CARRIERS = frozenset({"cp", "mv", "install", "ln", "rsync"})
_CODE_PLACES = (HOME, "/srv/", "/opt/", "/var/www/", "/usr/")
_OWN = ("/tmp/", "/var/tmp/")  # noqa: S108 - whoever plans puts files there, too
_DATA = re.compile(
    r"(?i).*\.(?:png|jpe?g|gif|svg|webp|pdf|csv|txt|log|json|xml|mp[34]|docx?|xlsx?|md|ya?ml|dat)"
)


def stranger_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that unpacks what strangers have sent, or puts it among programs."""
    for run in runs:
        words = list(operands(run.argv[1:])) if run.argv else []
        theirs = [word for word in words if _from_strangers(word, run)]
        if not theirs:
            continue
        if run.program in _UNPACKERS or (run.program in _PACKERS and _unpacks(run)):
            told = f"{theirs[0]} comes from others: what is in it, and how much, nobody has seen"
        elif run.program in _CARRIERS and _carries_code(theirs, words[-1], run):
            told = f"{theirs[0]} comes from others, and would lie among programs"
        else:
            continue
        yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)


def _unpacks(run: Run) -> bool:
    return any(re.fullmatch(r"-\w*d\w*|--decompress", str(word)) for word in run.argv[1:])


def _from_strangers(word: Word, run: Run) -> bool:
    places = [canonical(word, here) for here in run.directories]
    return any(of_strangers(place) and not place.prefix.startswith(_OWN) for place in places)


def _carries_code(theirs: list[Word], target: Word, run: Run) -> bool:
    if all(_DATA.fullmatch(word.with_placeholder("x")) for word in theirs):
        return False
    places = [canonical(target, here) for here in run.directories]
    return any(
        place.with_placeholder("x").startswith(_CODE_PLACES) and not of_strangers(place)
        for place in places
    )
