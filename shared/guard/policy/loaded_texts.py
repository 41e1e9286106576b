"""Texts that make the program that loads them run code, or open the host (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.findings import Written

RULE = "loaded-code"

_BUILDS = re.compile(
    r"!!?(?:python|ruby|perl|php|java[sx]?|js|lua|com\.|org\.|net\.)[/:.\w]|!<tag:[^>]*(?:python|ruby)"
    r"|!(?:js|ruby|python)/|tag:yaml\.org,2002:(?:python|js)"  # YAML
    r"|^c(?:os|posix|nt|subprocess|builtins|__builtin__)\n|\(S'|__reduce(?:_ex)?__|\\x80\\x0[2-5]c"
    r"|[\x00-\x1f]posix\b|\\x0?5posix|gASV|cos\\nsystem"  # pickle
    r"|jdbc:h2:[^\s]*INIT=|autoDeserialize=true|\$\{jndi:|socketFactory=org"  # JDBC, JNDI
    r"|\bO:\d+:\"|rO0AB|\\xac\\xed\\x00\\x05|<!ENTITY\s+\S+\s+(?:SYSTEM|PUBLIC)"  # PHP, Java, XML
    r"|\"(?:\$type|@type|@class)\"\s*:\s*\"[\w.]*(?:System\.|java\.|javax\.|com\.sun|org\.apache)",
    re.MULTILINE,
)


_OPENS = re.compile(
    # whoever has that key may log in
    r"(?m)^(?:[\w=\",.*-]+ )?(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+) AAAA"
    r"|\b(?:alias|root)\s+/(?:etc|home|root|var|srv|opt)?/?\s*;|<Directory\s+\"?/\"?>"
    r"|host\s+all\s+\S+\s+(?:0\.0\.0\.0/0|::/0|all)\s+trust|NOPASSWD\s*:"
    r"|exec-(?:asap|pre-app|post-app)\s*="
)


def loaded_verdicts(written: Iterable[Written]) -> Iterator[Verdict]:
    """A question for each file whose text names what its loader would build or run."""
    for file in written:
        if _BUILDS.search(file.content.with_placeholder("")):
            told = f"what is written to {file.path} makes a program that loads it run code"
            yield Verdict(VerdictKind.APPROVE, RULE, told, file.path)
        elif _OPENS.search(file.content.with_placeholder("")) and not file.path.endswith(".pub"):
            told = f"what is written to {file.path} opens the host to whoever it names"
            yield Verdict(VerdictKind.APPROVE, RULE, told, file.path)
