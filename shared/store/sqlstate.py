"""What the errors of Postgres mean: whether they pass, in words, and what to do (a table).

Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html. A code or, where there is no
row for it, its class of two characters. What has no row is a defect of this program: a statement
that Postgres does not understand, a value that does not fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.domain.errors import Misconfigured, Transient
from shared.domain.next_step import Advice, NextStep, ShellCommand

_ADDRESS: Final = NextStep.of("config show", "database_url")
_ASK_AGAIN: Final = NextStep.of("db status")
_SESSIONS: Final = ShellCommand(
    "psql -c 'SELECT usename, state, count(*) FROM pg_stat_activity GROUP BY 1, 2'"
)
_LOCKS: Final = ShellCommand(
    "psql -c 'SELECT pid, pg_blocking_pids(pid), query FROM pg_stat_activity"
    " WHERE cardinality(pg_blocking_pids(pid)) > 0'"
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The family of an error, what has happened in words, and the next step."""

    family: type[Transient] | type[Misconfigured]
    words: str
    next_step: Advice


UNREACHABLE: Final = Meaning(Transient, "the database cannot be reached", _ADDRESS)
"""For an error that no server has sent."""

SILENT: Final = Meaning(Transient, "the database does not answer", _ADDRESS)
NO_FREE_CONNECTION: Final = Meaning(
    Transient, "all connections of this process to the database are in use", _ASK_AGAIN
)

READ_ONLY: Final = "25006"

MEANINGS: Final[Mapping[str, Meaning]] = {
    "08": Meaning(Transient, "the connection to the database was lost", _ADDRESS),
    READ_ONLY: Meaning(
        Transient, "the database is read-only: it is a standby, or was set to read-only", _ADDRESS
    ),
    "25P03": Meaning(
        Transient, "the database ended a transaction that had paused for too long", _ASK_AGAIN
    ),
    "25P04": Meaning(Transient, "the database ended a transaction that took too long", _ASK_AGAIN),
    "28": Meaning(Misconfigured, "the database refuses the login", NextStep.of("config show")),
    "3D000": Meaning(Misconfigured, "there is no such database", NextStep.of("config show")),
    "40": Meaning(Transient, "two transactions on the database were in conflict", _ASK_AGAIN),
    "42501": Meaning(
        Misconfigured, "the database denies a right to its user", NextStep.of("config show")
    ),
    "42P01": Meaning(
        Misconfigured, "the database has no tables of replan yet", NextStep.of("db migrate")
    ),
    "53": Meaning(Transient, "the database is short of resources", _ASK_AGAIN),
    "53100": Meaning(
        Transient,
        "the disk of the database is full: make room on its server",
        ShellCommand("df -h"),
    ),
    "53200": Meaning(
        Transient, "the database is out of memory: see its server", ShellCommand("free -h")
    ),
    "53300": Meaning(Transient, "the database accepts no more connections", _SESSIONS),
    "53400": Meaning(
        Transient, "the database has reached a limit of its configuration", _ASK_AGAIN
    ),
    "54": Meaning(Transient, "a limit of Postgres is exceeded: see its log", _ASK_AGAIN),
    "55": Meaning(Transient, "the database cannot do this in its present state", _ASK_AGAIN),
    "55006": Meaning(Transient, "something in the database is in use by somebody else", _LOCKS),
    "55P03": Meaning(Transient, "somebody else holds a lock in the database", _LOCKS),
    "57": Meaning(Transient, "an operator intervened in the database", _ASK_AGAIN),
    "57014": Meaning(
        Transient,
        "a statement took too long (database_timeout), or was cancelled",
        NextStep.of("config show", "database_timeout"),
    ),
    "57P01": Meaning(
        Transient, "the database is being shut down, or ended this connection", _ASK_AGAIN
    ),
    "57P02": Meaning(Transient, "the database has crashed and is recovering", _ASK_AGAIN),
    "57P03": Meaning(
        Transient, "the database is starting up, shutting down or recovering", _ASK_AGAIN
    ),
    "57P04": Meaning(Misconfigured, "the database was dropped", NextStep.of("config show")),
    "57P05": Meaning(Transient, "the database ended a connection that was idle", _ASK_AGAIN),
    "58": Meaning(
        Transient, "the system below the database failed: see the log of Postgres", _ASK_AGAIN
    ),
    "58030": Meaning(
        Transient, "the database cannot read or write its disk: see the log of Postgres", _ASK_AGAIN
    ),
    "72": Meaning(Transient, "a snapshot of the database has become too old", _ASK_AGAIN),
    "F0": Meaning(
        Misconfigured, "the configuration of Postgres is invalid: see its log", _ASK_AGAIN
    ),
    "XX": Meaning(
        Transient, "Postgres reports an error in itself: see the log of Postgres", _ASK_AGAIN
    ),
    "XX001": Meaning(
        Misconfigured, "data of the database are damaged: see the log of Postgres", _ASK_AGAIN
    ),
    "XX002": Meaning(
        Misconfigured, "an index of the database is damaged: see the log of Postgres", _ASK_AGAIN
    ),
}

AT_LOGIN: Final = {
    "authentication failed": "28P01",
    "no pg_hba.conf entry": "28000",
    "is not permitted to log in": "28000",
    "permission denied for database": "42501",
    "does not exist": "3D000",
    "is not currently accepting connections": "28000",
    "too many clients already": "53300",
    "too many connections for": "53300",
    "remaining connection slots are reserved": "53300",
    "the database system is": "57P03",
    "session is read-only": "25006",
    "server is in hot standby mode": "25006",
    "No space left on device": "53100",
    "out of memory": "53200",
}
"""A connection that fails brings no code, only a sentence: the code that it stands for.

In English; a server that speaks another language is unreachable, in its own words.
"""


def meaning(code: str | None, sentence: str) -> Meaning | None:
    """What an error with that code means, or without one, by its sentence; None for a defect."""
    if code:
        return MEANINGS.get(code) or MEANINGS.get(code[:2])
    for words, stands_for in AT_LOGIN.items():
        if words in sentence:
            return meaning(stands_for, "")
    return None
