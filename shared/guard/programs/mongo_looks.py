"""JavaScript for the shell of MongoDB that certainly only reads: calls and properties by name."""

import re

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_$][\w$]*)|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<text>\"(?:[^\"\\\n]|\\[\"nt])*\"|'(?:[^'\\\n]|\\['nt])*')"
    r"|(?P<sign>=>|===?|!==?|<=|>=|&&|\|\||[.,;:()\[\]{}+*%<>!?-]))"
)
_ROOTS = frozenset({"db", "rs", "sh", "JSON", "EJSON", "true", "false", "null", "new", "Date"})
_OBJECTS = frozenset({"db", "rs", "sh"})
_CALLS = frozenset({
    *("status", "conf", "config", "hello", "isMaster", "version", "stats", "serverStatus"),
    *("hostInfo", "getName", "getCollectionNames", "getCollectionInfos", "getSiblingDB"),
    *("getCollection", "serverBuildInfo", "currentOp", "getProfilingStatus", "getReplicationInfo"),
    *("printReplicationInfo", "printSecondaryReplicationInfo", "printSlaveReplicationInfo"),
    *("printShardingStatus", "adminCommand", "runCommand", "countDocuments", "getMongo"),
    *("getDBNames", "getDBs", "estimatedDocumentCount", "count", "getIndexes", "totalSize"),
    *("storageSize", "dataSize", "totalIndexSize", "latencyStats", "isCapped", "find", "findOne"),
    *("sort", "limit", "skip", "toArray", "pretty", "size", "distinct", "map", "filter", "forEach"),
    *("some", "every", "join", "keys", "stringify", "print", "printjson", "toString", "length"),
    *("ISODate", "ObjectId", "NumberLong", "NumberInt", "Date", "explain", "indexStats"),
})  # fmt: skip
"""Functions and methods that change nothing with plain arguments."""

_OF_ITSELF = frozenset({"print", "printjson", "ISODate", "ObjectId", "NumberLong", "NumberInt"})
"""Functions that stand alone."""

_COMMANDS = frozenset({
    *("ping", "hello", "isMaster", "buildInfo", "serverStatus", "dbStats", "dbstats", "collStats"),
    *("listDatabases", "listCollections", "listIndexes", "replSetGetStatus", "replSetGetConfig"),
    *("connectionStatus", "currentOp", "hostInfo", "top", "count", "listShards", "balancerStatus"),
    *("connPoolStats", "features", "whatsmyip"),
})  # fmt: skip
"""Commands of the server that only tell."""

_FORBIDDEN = re.compile(
    r"(?i)system|constructor|__proto__|prototype"
    r"|\$(?!exists|in\b|n?e\b|[gl]te?\b|and\b|or\b|not\b|regex\b|size\b)"
)
_SHOWS = re.compile(r"\s*show (?:dbs|databases|collections|tables)\s*;?\s*")
_PARAMETERS = re.compile(r"(?:\(\s*)?(\w+(?:\s*,\s*\w+)*)\s*\)?\s*=>")


def mongo_only_looks(text: str) -> bool:
    """Check whether a text for the shell of MongoDB can neither change nor run anything."""
    if _SHOWS.fullmatch(text):
        return True
    tokens = _tokens(text)
    if not tokens:
        return False
    parameters = {name for found in _PARAMETERS.findall(text) for name in re.findall(r"\w+", found)}
    return all(_is_plain(tokens, at, parameters) for at in range(len(tokens)))


def _tokens(text: str) -> list[tuple[str, str]] | None:
    found: list[tuple[str, str]] = []
    position = 0
    text = text.strip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        found.append((str(token.lastgroup), token[0].strip()))
        position = token.end()
    return found


def _is_plain(tokens: list[tuple[str, str]], at: int, parameters: set[str]) -> bool:
    kind, text = tokens[at]
    before = tokens[at - 1][1] if at else ""
    after = tokens[at + 1][1] if at + 1 < len(tokens) else ""
    if kind == "sign":
        # what is called has to have a name
        return not (text == "(" and before in (")", "]"))
    if _FORBIDDEN.search(text):
        return False
    if kind != "name":
        return True
    if after == "(":
        if text in ("adminCommand", "runCommand"):
            return _tells(tokens[at + 2 : at + 4])
        return text in _CALLS and (before == "." or text in _OF_ITSELF or before == "new")
    if text in _OBJECTS and before != "." and not _is_asked(tokens[at + 1 :]):
        return False
    return before == "." or after == ":" or text in _ROOTS | parameters


def _is_asked(behind: list[tuple[str, str]]) -> bool:
    """Whether something of an object is called, and not handed on for somebody else to call."""
    for (_, dot), (kind, _), (_, called) in zip(
        behind[::2], behind[1::2], behind[2::2], strict=False
    ):
        if dot != "." or kind != "name":
            return False
        if called == "(":
            return True
    return False


def _tells(argument: list[tuple[str, str]]) -> bool:
    """Whether the argument of a command of the server begins with one that only tells."""
    first, second = [*argument, ("", ""), ("", "")][:2]
    named = second if first[1] == "{" else first
    return named[1].strip("\"'") in _COMMANDS
