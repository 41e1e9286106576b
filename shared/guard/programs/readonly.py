"""Small programs inside arguments that certainly only read: awk, sed, jq, SQL."""

import re

from shared.guard.programs.sql import MOST_CHARACTERS, statements

_AWK_REACHES_OUT = re.compile(
    r"system|getline|close|fflush|ENVIRON|ARGV|PROCINFO|SYMTAB|FUNCTAB|@|\|&|printf?\b.*[>|]",
    re.DOTALL,
)
_JQ_REACHES_OUT = re.compile(r"\benv\b|\$ENV|\binclude\b|\bimport\b|\binput_filename\b|\$__")
_SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SED_START = re.compile(rf"[ \t;\n]*(?:{_SED_ADDRESS}(?:,[+~]?{_SED_ADDRESS})?)?[ \t]*!?[ \t]*")
_SED_PLAIN = re.compile(r"[dDpPnNhHgGx=](?=[ \t]*(?:[;}\n]|$))|q[ \t]*\d*(?=[ \t]*(?:[;\n]|$))")
_SED_FLAGS = re.compile(r"[gpiIm0-9]*(?=[ \t]*(?:[;}\n]|$))")
_SED_TEXT = re.compile(r"[aic](?:[ \t]*\\\n?|[ \t]+)[^\n\\]*(?:\n|$)")
_SQL_STARTS = frozenset({"select", "show", "explain", "describe", "desc", "values", "table"})
_SQL_WRITES = frozenset(
    [
        "into",
        "insert",
        "update",
        "delete",
        "drop",
        "truncate",
        "alter",
        "create",
        "grant",
        "revoke",
        "copy",
        "call",
        "do",
        "execute",
        "prepare",
        "analyze",
        "vacuum",
        "set",
        "lock",
        "for",
        "nextval",
        "setval",
        "replace",
        "merge",
        "begin",
        "commit",
        "load",
        "import",
        "attach",
        "detach",
        "pragma",
        "pg_shadow",
        "pg_authid",
        "pg_user_mapping",
        "pg_user_mappings",
        "pg_largeobject",
        "pg_file_settings",
        "pg_hba_file_rules",
    ]
)
_SQL_FUNCTIONS = frozenset(
    [
        "avg",
        "count",
        "sum",
        "min",
        "max",
        "now",
        "coalesce",
        "nullif",
        "lower",
        "upper",
        "length",
        "trim",
        "round",
        "abs",
        "version",
        "date",
        "current_database",
        "current_schema",
        "current_user",
        "current_setting",
        "database",
        "pg_size_pretty",
        "pg_database_size",
        "pg_total_relation_size",
        "pg_relation_size",
        "pg_table_size",
        "pg_postmaster_start_time",
        "pg_is_in_recovery",
        "pg_last_wal_receive_lsn",
        "pg_last_wal_replay_lsn",
        "age",
        "extract",
        "date_trunc",
        "to_char",
        "string_agg",
        "array_agg",
        "row_number",
        "rank",
        "over",
        "concat",
        "substr",
        "substring",
        "greatest",
        "least",
        "cast",
        "in",
        "and",
        "or",
        "not",
        "any",
        "all",
        "exists",
        "as",
        "on",
        "from",
        "where",
        "using",
        "values",
        "interval",
        "filter",
        "distinct",
        "by",
    ]
)
_SQL_CALL = re.compile(r"([\w\"`.\]]+)\s*\(")
_SQL_TRICKS = re.compile(r"/\*[!+]|\\|\$\w*\$|[eE]'|--[^ \t\n]")
_SQL_HIDDEN = re.compile(r"'(?:[^']|'')*'")


def awk_only_looks(program: str) -> bool:
    """Check whether an awk program can neither run nor open anything."""
    return "\\\n" not in program and _AWK_REACHES_OUT.search(program) is None


def jq_only_looks(program: str) -> bool:
    """Check whether a jq program reads its input alone."""
    return _JQ_REACHES_OUT.search(program) is None


def sed_only_edits(script: str) -> bool:
    """Check whether a sed script is made of commands that touch nothing but the text."""
    position = 0
    depth = 0
    while position < len(script):
        start = _SED_START.match(script, position)
        position = start.end() if start else position
        if position >= len(script):
            break
        sign = script[position]
        if sign in "{}":
            depth += 1 if sign == "{" else -1
            position += 1
            continue
        end = _sed_command(script, position)
        if end is None:
            return False
        position = end
    return depth == 0


def _sed_command(script: str, position: int) -> int | None:
    """Where the command that begins there ends; None when it is not a known harmless one."""
    if script[position] in "sy":
        end = _sed_replacement(script, position)
        flags = None if end is None else _SED_FLAGS.match(script, end)
        return flags.end() if flags else None
    for form in (_SED_PLAIN, _SED_TEXT):
        if found := form.match(script, position):
            return found.end()
    return None


def _sed_replacement(script: str, position: int) -> int | None:
    if position + 1 >= len(script):
        return None
    delimiter = script[position + 1]
    if delimiter in "\\\n" or delimiter.isalnum():
        return None
    position += 2
    for _ in range(2):
        while position < len(script) and script[position] != delimiter:
            if (
                script[position] == "["
                and delimiter != "["
                and not _bracket_is_plain(script, position, delimiter)
            ):
                return None
            position += 2 if script[position] == "\\" else 1
        if position >= len(script):
            return None
        position += 1
    return position


def _bracket_is_plain(script: str, position: int, delimiter: str) -> bool:
    """False when a bracket holds the delimiter: implementations differ on where it ends."""
    end = script.find("]", position + 2)
    return end == -1 or delimiter not in script[position:end]


def sql_only_looks(text: str) -> bool:
    """Check whether every statement only reads, and calls only functions that are known to."""
    if (
        len(text) > MOST_CHARACTERS
        or _SQL_TRICKS.search(_SQL_HIDDEN.sub("?", text))
        or "\\" in text
    ):
        return False
    for statement in statements(text):
        if statement[0] not in _SQL_STARTS or _SQL_WRITES & set(statement):
            return False
    plain = _SQL_HIDDEN.sub("?", text).lower()
    return all(name in _SQL_FUNCTIONS for name in _SQL_CALL.findall(plain))
