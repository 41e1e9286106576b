"""Passwords that a text writes into a file by themselves, where a secret has a name (X17, X19)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.findings import Written

RULE = "password-in-file"

_PASSWORD = re.compile(
    r"(?i)\b[\w.-]*(?:passw(?:or)?d|passphrase|secret|api_?-?key|access_?-?key|auth_?-?token)[\w.-]*"
    r"\s*[=:]\s*[\"']?"
    r"(?!change_?-?me|example|placeholder|your|xxx|none\b|null\b|true\b|false\b|file\b|/|<|\{|\$|%|\*)"
    r"[^\s\"'#;,]{6,}"
)
_SAMPLE = re.compile(r"(?i).*\.(?:example|sample|dist|tmpl|template|j2|py|js|ts|go|rb|php|java)")


def password_verdicts(written: Iterable[Written]) -> Iterator[Verdict]:
    """A question for each file that would hold a password in so many words."""
    for file in written:
        if _SAMPLE.fullmatch(file.path) or not _PASSWORD.search(file.content.with_placeholder("…")):
            continue
        told = (
            f"{file.path} would hold what looks like a password: name a secret (${{secret:NAME}})"
        )
        yield Verdict(VerdictKind.APPROVE, RULE, told, file.path)
