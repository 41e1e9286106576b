"""Where the dump of a database may lie: under a name that tells, and not among pages (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.pipes import sources_of
from shared.guard.policy.published import RULE
from shared.guard.words import Run, Word

_DUMPING = frozenset({"pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "mongodump"})
_INTO = ("--result-file", "--file", "--archive", "--out", "-f", "-r", "-o")
_NAMED = re.compile(
    r"(?i).*\.(?:sql|dump|bak|pgdump|backup|schema|tar|tgz|zip|gz|xz|zst|bz2|lz4|custom|age|gpg|enc)"
    r"(?:[.~_-][a-z0-9]+)*|.*(?:backup|dump|snapshot)[^/]*(?:/.*)?|/dev/.*|-"
)
_PAGES = re.compile(
    r"(?i).*/(?:public|public_html|htdocs|html|webroot|www|static|assets|dist|build|out|media|images?"
    r"|img|uploads?|downloads?)/.*"
)


def dump_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each dump that nobody would take for one, or that lies where pages do."""
    listed = list(runs)
    for run in listed:
        for word in _targets(run, listed):
            text = word.with_placeholder("x")
            if _PAGES.fullmatch(text):
                why = f"a dump of a database would lie where pages are served: {text}"
            elif not _NAMED.fullmatch(text):
                why = f"{text} does not look like a dump of a database, which it would be"
            else:
                continue
            yield Verdict(VerdictKind.APPROVE, RULE, why, run.part)


def _targets(run: Run, listed: list[Run]) -> Iterator[Word]:
    """The files in which the dump of a run ends; a redirection is a run of its own."""
    if run.program in _DUMPING:
        yield from _options(run)
    elif not run.argv and any(each.program in _DUMPING for each in sources_of(run, listed)):
        yield from run.writes


def _options(run: Run) -> Iterator[Word]:
    words = run.argv[1:]
    for index, word in enumerate(words):
        for name in _INTO:
            if word.literal == name and index + 1 < len(words):
                yield words[index + 1]
            elif name.startswith("--") and word.prefix.startswith(f"{name}="):
                yield word.after(len(name) + 1)
