"""SQL that certainly only reads, and shows no secret: statements, functions and tables by name."""

import re
from itertools import pairwise

from shared.guard.programs.sql import (
    SqlDialect,
    SqlToken,
    Statement,
    UnreadableSql,
    statements_of,
)

_STARTS = frozenset({"select", "values", "table", "with", "show", "explain"})
_STARTS_ALSO: dict[SqlDialect, frozenset[str]] = {
    SqlDialect.POSTGRES: frozenset(),
    SqlDialect.MYSQL: frozenset({"describe", "desc"}),
    SqlDialect.SQLITE: frozenset({"pragma"}),
}
_CHANGES = frozenset({
    *("into", "insert", "update", "delete", "drop", "truncate", "alter", "create", "grant"),
    *("revoke", "copy", "call", "do", "execute", "prepare", "analyze", "analyse", "vacuum", "set"),
    *("lock", "for", "nextval", "setval", "replace", "merge", "begin", "commit", "load", "import"),
    *("attach", "detach", "refresh", "procedure", "handler", "declare", "outfile", "dumpfile"),
    *("operator", "notify", "listen", "reindex", "cluster", "rollback", "savepoint", "next"),
})  # fmt: skip
"""Words with which a statement, or a part of one, does more than read."""

_SECRET = frozenset({
    *("pg_shadow", "pg_authid", "pg_user_mapping", "pg_user_mappings", "pg_largeobject"),
    *("pg_file_settings", "pg_hba_file_rules", "pg_subscription"),
    *("pg_foreign_server", "pg_stat_wal_receiver", "user_mapping_options", "pg_db_role_setting"),
    *("foreign_server_options", "global_priv", "proxies_priv", "slave_master_info"),
    *("authentication_string", "passwd", "rolpassword", "subconninfo", "password_history"),
})  # fmt: skip
"""Tables and columns that hold passwords of the database itself."""

_SECRET_OF_MYSQL = frozenset({"user", "servers", "db"})
"""The same in the database `mysql`."""

_SHOWING_ACCOUNTS = frozenset({
    *("servers", "db", "password", "auth_string", "plugin_auth_string", "user_attributes"),
    *("json", "priv", "natural", "using", "union", "join"),
})  # fmt: skip
"""Words that may show the password of an account, beside those of `_SECRET`."""

_BY_NAME = re.compile(
    r"pg_settings where name (?:= \?|in \( \?(?: , \?)* \))(?: order by (?:name|setting|1|2))?"
)
_SECRET_SETTING = re.compile(r"(?i)conninfo|passphrase|password|secret|_command|\ball\b|%")

_FUNCTIONS = frozenset({
    *("avg", "count", "sum", "min", "max", "now", "coalesce", "nullif", "lower", "upper"),
    *("length", "trim", "round", "abs", "version", "date", "current_database", "current_schema"),
    *("current_user", "current_setting", "database", "pg_size_pretty", "pg_database_size"),
    *("pg_total_relation_size", "pg_relation_size", "pg_table_size", "pg_indexes_size"),
    *("pg_tablespace_size", "pg_postmaster_start_time", "pg_conf_load_time"),
    *("pg_is_in_recovery", "pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn"),
    *("pg_last_xact_replay_timestamp", "pg_current_wal_lsn", "pg_wal_lsn_diff"),
    *("pg_blocking_pids", "pg_backend_pid", "pg_get_indexdef", "pg_get_viewdef"),
    *("pg_get_constraintdef", "pg_encoding_to_char", "pg_table_is_visible", "format_type"),
    *("obj_description", "col_description", "has_table_privilege", "has_database_privilege"),
    *("age", "extract", "date_trunc", "date_part", "to_char", "to_timestamp", "string_agg"),
    *("array_agg", "row_number", "rank", "concat", "concat_ws", "substr", "substring"),
    *("greatest", "least", "cast", "left", "right", "split_part", "floor", "ceil", "ceiling"),
    *("mod", "ifnull", "if", "unix_timestamp", "from_unixtime", "timestampdiff", "datediff"),
    *("curdate", "date_format", "group_concat", "hex", "char_length", "sqlite_version", "typeof"),
    *("bool_and", "bool_or", "percentile_cont", "clock_timestamp", "time", "datetime", "strftime"),
    *("connection_id", "user", "schema", "isnull", "dense_rank", "lag", "lead", "sec_to_time"),
})  # fmt: skip
"""Functions that read nothing but their arguments and what the statement names."""

_BEFORE_PARENTHESES = frozenset({
    *("over", "in", "and", "or", "not", "any", "all", "some", "exists", "as", "on", "from"),
    *("where", "using", "values", "interval", "filter", "distinct", "by", "materialized"),
    *("union", "except", "intersect", "select", "having", "when", "then", "else", "case", "like"),
    *("between", "join", "group", "within", "explain", "is", "limit", "numeric", "varchar"),
    *("decimal", "char", "lateral", "array", "row", "partition"),
})  # fmt: skip
"""Words of the language behind which a parenthesis begins no call."""

_MYSQL_SHOWS = frozenset({
    *("databases", "schemas", "tables", "full", "columns", "fields", "index", "indexes", "keys"),
    *("status", "global", "session", "variables", "processlist", "engines", "engine", "table"),
    *("warnings", "errors", "slave", "replica", "replicas", "master", "binary", "plugins"),
    *("privileges", "charset", "character", "collation", "triggers", "events", "open", "function"),
    *("all", "relaylog", "storage", "count"),
})  # fmt: skip
_PRAGMAS = frozenset({
    *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"),
    *("integrity_check", "quick_check", "foreign_key_check", "database_list", "page_count"),
    *("page_size", "user_version", "schema_version", "journal_mode", "freelist_count", "encoding"),
    *("compile_options", "foreign_keys", "synchronous", "application_id", "collation_list"),
})  # fmt: skip
_ASKED_ALONE = frozenset({
    *("journal_mode", "user_version", "synchronous", "foreign_keys", "encoding", "application_id"),
    *("schema_version", "page_size", "page_count"),
})  # fmt: skip
"""Pragmas that change something when they are given a value."""

_PATTERN = r"(?:[ \t]+[A-Za-z0-9_.*?$\"-]+)*[ \t]*;?\s*"
_PSQL_COMMAND = re.compile(
    r"\s*\\(?:"
    r"(?:l|list|z|d|da|dA|dAc|dAf|dAo|dAp|db|dc|dC|dd|dD|ddp|dE|det|dew|df|df[antpw]|dF|dF[dpt]|dg"
    r"|di|dl|dL|dm|dn|do|dO|dp|dP|dP[itn]|drg|dRp|ds|dS|dt|dT|du|dv|dx|dX|dy|dti|dtv|sf|sv)[Sx+]*"
    rf"{_PATTERN}"
    r"|(?:conninfo|copyright|timing|x|encoding|h|\?)\s*;?\s*"
    r"|pset[ \t]+(?:pager|format|border|null|expanded|footer|tuples_only)(?:[ \t]+\w+)?\s*;?\s*)"
)
"""Commands of psql that show objects and their definitions, without a secret among them.

`\\deu`, `\\des`, `\\dRs`, `\\drds` and `\\dconfig` show options that may be passwords.
"""

_SQLITE_COMMAND = re.compile(
    r"\.(?:tables|schema|databases|indexes|indices|fullschema|dbinfo|version|help|show)"
    r"(?:[ \t]+[A-Za-z0-9_%*-]+)*\s*"
)


_COUNTS = re.compile(
    r"(?i)\s*(?:pragma\s[\w\s()=;']+|select\s+count\s*\([^()]*\)\s+from\s+\w+"
    r"(?:\s+where\s(?!.*(?:pass|secret|token|key|hash))[^()]*)?\s*;?\s*|select\s+sqlite_version\s*\(\)\s*;?\s*)"
)


def sql_only_looks(text: str, dialect: SqlDialect | None = None) -> bool:
    """Check whether every statement only reads; without a dialect, in each of them."""
    return all(_only_looks(text, each) for each in ([dialect] if dialect else SqlDialect))


def sql_only_counts(text: str) -> bool:
    """Check whether a text for SQLite shows numbers and definitions, and no row of a table."""
    if not sql_only_looks(text, SqlDialect.SQLITE):
        return False
    return _SQLITE_COMMAND.fullmatch(text) is not None or _COUNTS.fullmatch(text) is not None


def _only_looks(text: str, dialect: SqlDialect) -> bool:
    if dialect is SqlDialect.POSTGRES and _PSQL_COMMAND.fullmatch(text):
        return True
    if dialect is SqlDialect.SQLITE and _SQLITE_COMMAND.fullmatch(text):
        return True
    try:
        found = statements_of(text, dialect)
    except UnreadableSql:
        return False
    return all(_reads(statement, dialect) for statement in found)


def _reads(statement: Statement, dialect: SqlDialect) -> bool:
    """Whether one statement only reads."""
    begun = next((token for token in statement if token.text != "("), None)
    if begun is None or begun.kind != "word":
        return False
    start = begun.text.lower()
    words = [token.text.lower() for token in statement if token.kind == "word"]
    names = {token.text.lower() for token in statement if token.kind in ("word", "quoted")}
    if start not in _STARTS | _STARTS_ALSO[dialect] or _SECRET & names:
        return False
    if "pg_settings" in names and not _names_settings(statement):
        return False
    if dialect is SqlDialect.MYSQL and _reads_accounts(statement, names):
        return False
    if "recursive" in words and not {"where", "limit", "join"} & set(words):
        return False  # nothing ends it
    match start:
        case "show":
            return _shows(words, statement, dialect)
        case "pragma":
            return _asks(words, statement)
        case _:
            return not _CHANGES & set(words) and all(_calls_read(statement))


def _reads_accounts(statement: Statement, names: set[str]) -> bool:
    """Whether it names the tables of MySQL that hold the passwords of its accounts."""
    texts = [token.text.lower() for token in statement]
    if {"mysql", "user"} <= names and not names & _SHOWING_ACCOUNTS:
        # named columns, none of which holds a password
        return any(a != "(" and b == "*" for a, b in pairwise(texts)) or texts[0] != "select"
    if "mysql" in names and _SECRET_OF_MYSQL & names:
        return True
    return any(
        before in ("from", "join", "table", "describe", "desc") and table == "user"
        for before, table in pairwise(texts)
    )


def _names_settings(statement: Statement) -> bool:
    """Whether settings are asked for by their plain names, none of which may hold a password."""
    texts = [token.text.lower() for token in statement]
    if texts.count("pg_settings") != 1:
        return False
    behind = statement[texts.index("pg_settings") :]
    told = " ".join("?" if t.kind == "string" else t.text.lower() for t in behind)
    given = [token.text.strip("'") for token in behind if token.kind == "string"]
    plain = all(re.fullmatch(r"\w+", text) and not _SECRET_SETTING.search(text) for text in given)
    return _BY_NAME.fullmatch(told) is not None and plain


def _shows(words: list[str], statement: Statement, dialect: SqlDialect) -> bool:
    if dialect is SqlDialect.POSTGRES:
        plain = all(token.kind in ("word", "quoted") or token.text == "." for token in statement)
        return plain and not any(_SECRET_SETTING.search(token.text) for token in statement[1:])
    if dialect is SqlDialect.SQLITE:
        return False
    if words[1:2] == ["create"]:
        return words[2:3] in (["table"], ["database"], ["view"], ["schema"])
    return words[1:2] != [] and words[1] in _MYSQL_SHOWS and all(_calls_read(statement))


def _asks(words: list[str], statement: Statement) -> bool:
    if len(words) < len(("pragma", "name")) or words[1] not in _PRAGMAS:
        return False
    given = [token.text for token in statement if token.kind == "sign"]
    return "=" not in given and not (words[1] in _ASKED_ALONE and "(" in given)


def _calls_read(statement: Statement) -> list[bool]:
    """For each call, whether the function is known to only read."""
    return [
        _call_reads(statement, index)
        for index in range(len(statement) - 1)
        if statement[index + 1].text == "(" and statement[index + 1].kind == "sign"
    ]


def _call_reads(statement: Statement, index: int) -> bool:
    token = statement[index]
    name = token.text.lower()
    if token.kind in ("string", "number"):
        return False
    if token.kind == "sign":
        return True
    if token.kind == "word" and name in _BEFORE_PARENTHESES and not _is(statement, index - 1, "."):
        return True
    if name not in _FUNCTIONS:
        return False
    if _is(statement, index - 1, "."):
        schema = statement[index - 2] if index > 1 else None
        return schema is not None and schema.text.lower() == "pg_catalog"
    return name != "current_setting" or _names_no_secret(statement[index + 2 : index + 4])


def _is(statement: Statement, index: int, sign: str) -> bool:
    return index >= 0 and statement[index] == SqlToken("sign", sign)


def _names_no_secret(argument: Statement) -> bool:
    """Whether a call is given the plain name of a setting that holds no password."""
    name, end = argument
    plain = name.kind == "string" and "\\" not in name.text and end.text in (")", ",")
    return plain and not _SECRET_SETTING.search(name.text)
