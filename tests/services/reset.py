"""A database that a test has used, made as good as a new one.

Copying the product's schema into a new database and dropping it costs far more than what most tests
do with it. A database goes on to the next test, under another name, if its last test left no more
than rows behind. Whoever changes the schema, or fills it, has its database dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

MOST: Final = 4_000_000
"""Bytes of tables and indexes that are emptied; beyond that a new database is cheaper."""

_LIMITS = "SET statement_timeout = '10s'"

# Triggers on rows, which also hold foreign keys, do not fire.
_WITHOUT_TRIGGERS = "SET session_replication_role = replica"

_END_OTHERS = """
    SELECT coalesce(bool_and(pg_terminate_backend(pid, 5000)), true)
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

# Every object that somebody made, with the transaction that changed it last; and what is set.
_SCHEMA = """
    SELECT string_agg(line, ';' ORDER BY line) FROM (
        SELECT concat_ws(' ', 'relation', oid, xmin) FROM pg_class WHERE oid >= 16384
        UNION ALL SELECT concat_ws(' ', 'column', attrelid, attnum, xmin)
            FROM pg_attribute WHERE attrelid >= 16384
        UNION ALL SELECT concat_ws(' ', 'default', oid, xmin) FROM pg_attrdef WHERE oid >= 16384
        UNION ALL SELECT concat_ws(' ', 'trigger', oid, xmin) FROM pg_trigger WHERE oid >= 16384
        UNION ALL SELECT concat_ws(' ', 'function', oid, xmin) FROM pg_proc WHERE oid >= 16384
        UNION ALL SELECT concat_ws(' ', 'type', oid, xmin) FROM pg_type WHERE oid >= 16384
        UNION ALL SELECT concat_ws(' ', 'rule', oid, xmin) FROM pg_rewrite WHERE oid >= 16384
        UNION ALL SELECT concat_ws(' ', 'policy', oid, xmin) FROM pg_policy
        UNION ALL SELECT concat_ws(' ', 'constraint', oid, xmin)
            FROM pg_constraint WHERE oid >= 16384
        UNION ALL SELECT concat_ws(' ', 'schema', oid, xmin) FROM pg_namespace
            WHERE nspname !~ '^pg_(toast_)?temp_'
        UNION ALL SELECT concat_ws(' ', 'extension', oid, xmin) FROM pg_extension
        UNION ALL SELECT concat_ws(' ', 'event', oid, xmin) FROM pg_event_trigger
        UNION ALL SELECT concat_ws(' ', 'privileges', oid, xmin) FROM pg_default_acl
        UNION ALL SELECT concat_ws(' ', 'large object', oid) FROM pg_largeobject_metadata
        UNION ALL SELECT concat_ws(' ', 'setting', setrole, setconfig::text)
            FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
            WHERE datname = current_database()
        UNION ALL SELECT concat_ws(' ', 'database', datallowconn, datconnlimit, datdba, datacl)
            FROM pg_database WHERE datname = current_database()
        UNION ALL SELECT concat_ws(' ', 'version', version_num) FROM public.alembic_version
    ) AS lines (line)
"""

_TABLES = """
    SELECT relname, pg_total_relation_size(oid) AS bytes, pg_relation_size(oid) > 0 AS used
    FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
    ORDER BY relname
"""

_PUT_BACK = """
    INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::{0}, %s)
"""

_USED_NUMBERS = "SELECT 1 FROM pg_sequence WHERE pg_sequence_last_value(seqrelid) IS NOT NULL"

_RESTART = """
    SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence
    WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Pristine:
    """A new database: its `schema`, and as JSON the rows of each table that has some."""

    schema: str
    rows: Mapping[str, str]


def pristine(connection: psycopg.Connection[Any]) -> Pristine:
    """What a database has that nobody has used."""
    if connection.execute(_USED_NUMBERS).fetchall():
        raise AssertionError("a migration takes numbers that tests begin with")
    rows = {}
    for table, _, used in connection.execute(_TABLES).fetchall():
        if used:
            query = sql.SQL("SELECT json_agg(t)::text FROM {} t").format(sql.Identifier(table))
            rows[table] = str(_one(connection, query))
    return Pristine(schema(connection), rows)


def schema(connection: psycopg.Connection[Any]) -> str:
    """What tells whether anything but rows was changed."""
    return str(_one(connection, sql.SQL(_SCHEMA)))


def reset(url: str, new: Pristine) -> bool:
    """Leave the rows of a new database; False if that does not make it as good as one.

    Whoever is connected is thrown out.
    """
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_LIMITS)
            if not _one(connection, sql.SQL(_END_OTHERS)):
                return False
            tables = connection.execute(_TABLES).fetchall()
            if sum(size for _, size, _ in tables) > MOST or schema(connection) != new.schema:
                return False
            used = {name for name, _, used in tables if used} | new.rows.keys()
            _empty(connection, [sql.Identifier(name) for name in sorted(used)])
            for name, rows in new.rows.items():
                connection.execute(sql.SQL(_PUT_BACK).format(sql.Identifier(name)), (rows,))
            return True
    except psycopg.Error:
        return False


def _empty(connection: psycopg.Connection[Any], used: list[sql.Identifier]) -> None:
    """Remove all rows, and the space that they took, so that new ones come in their order."""
    connection.execute(_RESTART)
    connection.execute(_WITHOUT_TRIGGERS)
    if used:
        connection.execute(
            sql.SQL(";").join(sql.SQL("DELETE FROM {}").format(name) for name in used)
        )
        connection.execute(sql.SQL("VACUUM {}").format(sql.SQL(",").join(used)))


def _one(connection: psycopg.Connection[Any], query: sql.Composed | sql.SQL) -> Any:
    (value,) = connection.execute(query).fetchone() or (None,)
    return value
