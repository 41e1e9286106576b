"""Files in which a database keeps its data: who empties, replaces or deletes one loses it (X17).

A copy beside it or elsewhere takes nothing away, and stays a matter of the other rules.
"""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.shell.written_files import files_of_dd, operands
from shared.guard.words import Run, Word

RULE = "database-file"
_HELD = re.compile(
    r"(?i)(?!(?:/var)?/tmp/|/dev/)(?:.*/)?"
    r"(?:[^/]+\.(?:sqlite3?|db|db3|mdb|rdb|aof|ibd|frm|wal|qcow2|vmdk|vdi|vhdx?|tfstate)"
    r"|[^/]+\.(?:db|sqlite3?)-(?:wal|shm|journal)|ibdata\d*|ib_logfile[\d*]*|PG_VERSION"
    r"|postmaster\.pid|member/(?:snap|wal)/.*|docker/registry/.*|[^/]+\.git/(?:refs|objects)/.*"
    r"|[^/]+\.git/(?:packed-refs|HEAD)"
    r"|(?:pg_wal|pg_xact|pgdata)/.*|base/\d+/\d+.*)"
)
_HOME_OF_ONE = re.compile(
    r"(?i)/(?:srv|data|mnt|opt|var/lib)(?:/[^/]+)?/(?:mongo(?:db|d)?|mysql|mariadb|postgres(?:ql)?"
    r"|pgdata|pgsql|redis|elasticsearch|opensearch|influxdb|clickhouse|cassandra|couchdb|neo4j"
    r"|rabbitmq|kafka|zookeeper|etcd|prometheus|grafana|minio|gitea|gitlab)/?"
)
"""A folder in which a database or another store keeps everything."""
_ENDING = frozenset({"rm", "mv", "unlink", "truncate", "shred", "gzip", "bzip2", "xz", "zstd"})
_REPLACING = frozenset({"cp", "install", "ln", "dd", "tee"})


def database_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that takes away what such a file holds."""
    for run in runs:
        if told := _given_away(run):
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
        for word in _taken(run):
            places = (canonical(word, here) for here in run.directories)
            whole = _HOME_OF_ONE if run.program == "mv" else _HELD
            texts = [place.with_placeholder("*") for place in places]
            if any(_HELD.fullmatch(text) or whole.fullmatch(text) for text in texts):
                told = f"what a database keeps in {word} would be gone"
                yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
                break


def _given_away(run: Run) -> str | None:
    """Why the folder of a store may not get this owner or these modes with all below it."""
    words = [str(word) for word in run.argv[1:]]
    if run.program not in ("chown", "chgrp", "chmod") or not any(
        re.fullmatch(r"-[a-zA-Z]*R[a-zA-Z]*|--recursive", word) for word in words
    ):
        return None
    plain = [word for word in words if not word.startswith("-")]
    for place in plain[1:]:
        found = _HOME_OF_ONE.fullmatch(re.sub(r"/(?:data|main|db)?/?$", "", place) or "/")
        name = place.strip("/").split("/")[1 if place.count("/") > 1 else 0]
        if found and (run.program == "chmod" or plain[0][:4] != name[:4]):
            return f"the store in {place} would not start any more"
    return None


def _taken(run: Run) -> Iterator[Word]:
    """The files of which a run ends what they hold."""
    yield from run.writes
    words = operands(run.argv[1:]) if run.argv else []
    if run.program in _ENDING:
        yield from words
    elif run.program == "dd":
        yield from files_of_dd(run.argv[1:])
    elif run.program in _REPLACING:
        yield from words[-1:]
