"""Searches whose answer is a secret: a pattern that names one, in a file that may hold it (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.shell.written_files import operands
from shared.guard.words import Run, Word

RULE = "secret-search"

_SEARCHING = frozenset(
    {"grep", "egrep", "fgrep", "zgrep", "awk", "gawk", "mawk", "nawk", "sed", "rg"}
)
_NAMES = re.compile(
    r"(?i)(?<!invalid )(?<!failed )(?<!accepted )"
    r"(?:PASS\[|--?pass(?:word)?\b|(?:require|master|bind|root|db|user|auth|smtp|admin)?_?-?"
    r"(?:password|passphrase|(?<!\^)passwd)\b|secret(?:s|_?key)?\b|api_?-?key|access_?-?key|private_?-?key"
    r"|auth_?-?token|access_?-?token|_token\b|\btoken\b|requirepass|masterauth|credentials?\b)"
)
_NOT_SECRET = re.compile(r"/etc/(?:nsswitch\.conf|passwd|group|pam\.d/.*|login\.defs|services)")
_CODE = re.compile(r"(?i).*\.(?:py|js|ts|go|rb|java|rs|c|h|sh|md|rst|txt|log|html?)(?:\.\d+)?")
_QUERYING = frozenset({"psql", "mysql", "mariadb", "sqlite3", "mongosh", "mongo", "jq", "yq"})
_COLUMN = re.compile(
    r"(?i)(?<![\w.])(?:\w+\.)?(?:passwords?|passwd|pwd|passw_?hash|password_hash|salt|secrets?|api_?keys?"
    r"|access_?tokens?|refresh_?tokens?|private_?keys?|credentials?|otp_?secret)(?![\w(])"
)
_ASKS_ONLY = re.compile(r"(?i)\bis (?:not )?null|count\(|show\s+(?:global\s+)?(?:variables|status)")
_ONLY_COUNTS = re.compile(
    r"-\w*[cqlL]\w*|--count|--quiet|--silent|--files-with(?:out)?-match(?:es)?"
)


def searched_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that would print what stands beside the name of a secret."""
    for run in runs:
        if run.program in _QUERYING and (column := _column(run)):
            told = f"it would print what stands in {column}"
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
        if run.program not in _SEARCHING:
            continue
        words = run.argv[1:]
        if any(_ONLY_COUNTS.fullmatch(str(word)) for word in words) and "grep" in run.program:
            continue
        plain = operands(words)
        pattern = _pattern(run, plain)
        if "@" in pattern and any(_tells_addresses(maker) for maker in run.feeders):
            told = "it takes the account and its password out of the address of a repository"
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
        if not _NAMES.search(pattern):
            continue
        if where := _looked_in(run, [str(word) for word in plain if str(word) != pattern]):
            told = f"it looks in {where} for what is called a secret, and would print it"
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)


def _tells_addresses(run: Run) -> bool:
    """Whether a run shows where a repository comes from: masking knows whole addresses alone."""
    return run.program == "git" and bool({"remote", "config"} & set(map(str, run.argv)))


def _column(run: Run) -> str:
    """The column, the field or the collection by whose name a query asks for secrets."""
    for word in operands(run.argv[1:]):
        text = str(word)
        found = _COLUMN.search(text) if not _ASKS_ONLY.search(text) else None
        if found and "/" not in text[: found.start()].rpartition(" ")[2]:
            return found[0]
    return ""


def _pattern(run: Run, plain: list[Word]) -> str:
    texts = [str(word) for word in run.argv[1:]]
    given = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text in ("-e", "--regexp")]
    after = texts[texts.index("--") + 1 :][:1] if "--" in texts else []
    return " ".join((*given, *after)) or next(map(str, plain), "")


def _only_matches(run: Run) -> bool:
    return any(re.fullmatch(r"-[a-zA-Z]*o[a-zA-Z]*", str(word)) for word in run.argv[1:])


def _looked_in(run: Run, files: list[str]) -> str:
    """What it searches that may hold the secret itself; empty where only logs or code do."""
    if any(maker.program == "ps" for maker in run.feeders):
        return "the arguments of all processes"
    if any(maker.program == "journalctl" for maker in run.feeders):
        return "what was logged" if "-o" in map(str, run.argv) or _only_matches(run) else ""
    fed = (str(word) for maker in run.feeders for word in operands(maker.argv[1:]))
    for name in (*files, *map(str, run.reads), *fed):
        if (
            "/var/log/" in name
            or _NOT_SECRET.fullmatch(name)
            or _CODE.fullmatch(name)
            or name.startswith("-")
        ):
            continue
        if "/" in name or "." in name:
            return name
    return ""
