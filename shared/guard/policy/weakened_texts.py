"""Texts that take a protection away: checks of certificates, passwords, hashes, networks (X17)."""

import re
from collections.abc import Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.findings import Findings
from shared.guard.shell.sed_edits import edit_scripts

RULE = "weaker-protection"

_WEAKER = re.compile(
    r"(?i)verify\s*[=:]\s*(?:false|none|off)|\bssl\s*=\s*off|sslmode=disable|tls_?verify\s*[:=]\s*false"
    r"|insecure_?skip_?verify\s*[:=]\s*true|CERT_NONE|StrictHostKeyChecking\s+no"
    r"|allow_anonymous\s*[=:]?\s*true|anonymous_enable\s*=\s*yes|useSecurity>\s*false"
    r"|guest ok/?yes"
    r"|(?:auth|authentication|authorization|security)(?:\.enabled)?\s*[:=]\s*"
    r"(?:false|off|none|disabled|no)\b|requirepass\s+\"\"|protected-mode\s+no|skip-grant-tables"
    r"|PermitRootLogin\s+yes|PermitEmptyPasswords\s+yes|mynetworks\s*=.*0\.0\.0\.0/0"
    r"|listen_addresses\s*=\s*.?[\"']\*|--trusted-host|(?:^|\s)-i\s+http://|index-url\s*=?\s*http://"
    r"|<script[^>]+src\s*=\s*[\"']?(?:https?:)?//\d"
)
_SUBSTITUTION = re.compile(
    r"s(?P<sign>[/|#,@])(?P<old>(?:\\.|(?!(?P=sign)).)*)(?P=sign)(?P<new>(?:\\.|(?!(?P=sign)).)*)(?P=sign)"
)
_HASHES_REMOVED = re.compile(
    r"(?:integrity|--hash=sha\d+|sha\d+-)[^/]*/(?:d|/)|registry\.[^#|/]*[#|/]http://"
)
_SERVES = re.compile(
    r"(?i)\b(?:root|alias|documentroot|document-root)\b|nginx|apache|httpd|caddy|lighttpd|sites-"
)
_PATH = re.compile(r"/[\w.-]+(?:/[\w.-]+)*")


def weakened_verdicts(findings: Findings) -> Iterator[Verdict]:
    """A question for each text, and each edit, after which less is checked than before."""
    for file in findings.written:
        if _WEAKER.search(file.content.with_placeholder("")):
            told = f"what is written to {file.path} takes a protection away"
            yield Verdict(VerdictKind.APPROVE, RULE, told, file.path)
    edits = ((run, script) for run in findings.runs for script in edit_scripts(run))
    for run, script in edits:
        if _WEAKER.search(_new_text(script)) or _HASHES_REMOVED.search(script):
            told = f"the edit takes a protection away: {script[:80]}"
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)
        elif (folder := _served_by(script)) and _SERVES.search(run.part):
            told = f"the edit serves all of {folder}, where a folder in it was served"
            yield Verdict(VerdictKind.APPROVE, RULE, told, run.part)


def _served_by(script: str) -> str:
    """The folder that an edit puts in the place of one that lies in it; empty if it does not."""
    found = _SUBSTITUTION.search(script)
    if found is None:
        return ""
    old, new = (_PATH.findall(found[name].replace("\\", "")) for name in ("old", "new"))
    around = (folder for folder in new for each in old if each.startswith(f"{folder}/"))
    return next(around, "")


def _new_text(script: str) -> str:
    """What an edit puts there: not what it looks for, but for the line that it is about."""
    found = _SUBSTITUTION.search(script)
    return script if found is None else f"{script[: found.start()]}{found['new']}"
