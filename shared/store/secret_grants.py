"""Which secrets a task may use, and on which hosts a secret may be used (X19)."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from sqlalchemy import Connection, text

from shared.domain.errors import Misconfigured
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.secret import named_anywhere

_GIVE = text("""
    INSERT INTO secret_grants (task_id, name, step, given_by)
    SELECT :task, each, :step, :by FROM unnest(CAST(:names AS text[])) AS each
    WHERE NOT EXISTS (SELECT FROM secret_grants WHERE task_id = :task AND name = each
        AND step IS NOT DISTINCT FROM :step)
""")
_GIVEN = text("""
    SELECT DISTINCT name FROM secret_grants
    WHERE task_id = :task AND (step IS NULL OR step = CAST(:step AS integer))
""")
_REPOSITORIES = text("""
    SELECT concat_ws(' ', setup, checks::text) FROM repositories
    WHERE concat_ws(' ', setup, checks::text) LIKE '%secret%'
""")
_SCOPES = text("SELECT name, hosts FROM secret_scopes WHERE name = ANY(:names)")
_ALL_SCOPES = text("SELECT name, hosts FROM secret_scopes")
_SET = text("""
    INSERT INTO secret_scopes (name, hosts) VALUES (:name, :hosts)
    ON CONFLICT (name) DO UPDATE SET hosts = excluded.hosts
""")
_CLEAR = text("DELETE FROM secret_scopes WHERE name = :name")


def give(
    connection: Connection, task: int, names: Iterable[str], *, by: str, step: int | None = None
) -> None:
    """Let a task use these secrets, in all of its steps or in one."""
    listed = sorted(set(names))
    if listed:
        connection.execute(_GIVE, {"task": task, "names": listed, "step": step, "by": by})


def given(connection: Connection, task: int, step: int | None = None) -> frozenset[str]:
    """The secrets that a step may use; without a step, those that every step may."""
    return frozenset(connection.execute(_GIVEN, {"task": task, "step": step}).scalars())


def _of_repositories(connection: Connection) -> frozenset[str]:
    """Those that the checks of repositories name: a person has enrolled these."""
    written = connection.execute(_REPOSITORIES).scalars()
    return frozenset(name for each in written for name in named_anywhere(each))


def scopes(connection: Connection) -> Mapping[str, tuple[str, ...]]:
    """The hosts of each secret that may not be used everywhere, as patterns."""
    return {row.name: tuple(row.hosts) for row in connection.execute(_ALL_SCOPES)}


def set_scope(connection: Connection, name: str, hosts: Iterable[str]) -> None:
    """Let a secret be used on hosts with these names alone; without any, on all."""
    listed = list(hosts)
    if listed:
        connection.execute(_SET, {"name": name, "hosts": listed})
    else:
        connection.execute(_CLEAR, {"name": name})


def require_given(
    connection: Connection, task: int, step: int | None, names: Iterable[str]
) -> None:
    """Raise Misconfigured, with the command to type, for a secret that nobody gave the task."""
    asked = sorted(set(names))
    if not asked:
        return
    known = given(connection, task, step)
    missing = [name for name in asked if name not in known]
    if missing:
        of_checks = _of_repositories(connection)
        missing = [name for name in missing if name not in of_checks]
    if missing:
        raise Misconfigured(
            f"T{task} was not given the secret {missing[0]}: a plan may name only what a person "
            "has given its task",
            stage="secrets",
            next_step=NextStep.of("secret give", missing[0], Ref(task)),
        )


def require_scope(connection: Connection, host: str, names: Iterable[str]) -> None:
    """Raise Misconfigured, with the command to type, for a secret that is not for that host."""
    asked = sorted(set(names))
    if not asked:
        return
    for row in connection.execute(_SCOPES, {"names": asked}):
        if not any(fnmatchcase(host, pattern) for pattern in row.hosts):
            raise Misconfigured(
                f"the secret {row.name} may be used on {', '.join(row.hosts)}, not on {host}",
                stage="secrets",
                next_step=NextStep.of("secret scope", row.name, host=host),
            )
