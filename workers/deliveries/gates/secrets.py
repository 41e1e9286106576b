"""Gates about secrets: text that a delivery adds, and that has the form of one or is a known one.

The rules are those that mask output. Only content that no file of the base side has is searched:
text that was moved is not new. Of what is found, neither value nor line is told, only its place.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Final

from shared.domain.findings import Effect, Finding, GateRule
from shared.secrets import keyblocks
from shared.secrets.kinds import SecretKind
from shared.secrets.marks import MARK
from shared.secrets.rule import Found, MaskRule
from shared.secrets.structure import Structure
from shared.secrets.tokens import TOKENS
from shared.secrets.worth import is_token
from workers.deliveries.changes import FileChange
from workers.deliveries.gates.suites import is_test
from workers.deliveries.gates.values import GateInput

_PIECE: Final = 65_536
_OVERLAP: Final = 4_096
"""Bytes of a long line that are searched at once, and again with the next piece."""

_KEY_HEAD: Final = 8
"""Lines in which a private key has its first line of base64, after its name and header fields."""

_KEY_TEXT: Final = re.compile(rb"[A-Za-z0-9+/]{40,}")

_CERTAIN: Final = frozenset(TOKENS)
"""Rules whose text only an issuer of tokens writes."""

_SPOKEN: Final = (".md", ".rst", ".adoc", ".txt")
_DATA: Final = re.compile(
    r"(?:.*\.)?(?:env|ya?ml|json5?|toml|ini|cfg|conf|cnf|properties|xml|plist|tfvars|netrc|pgpass"
    r"|npmrc|pypirc|htpasswd|envrc|sh|bash|zsh|ps1|bat)(?:\..*)?|[^.]+"
)
"""Names of files in which a value need not stand between quotes."""

_RANDOM: Final = re.compile(rb"(?![A-Z0-9_.-]+$)(?=.*[0-9!@#$%^&*+~?])\S+")
"""No sentence, and no name of a variable, which has other words in it than a value."""

_FEWEST: Final = 5
"""Different bytes that a value has unless somebody made it up: `xxxxxxxx`, `00000000`."""


def find_secrets(given: GateInput) -> Iterator[Finding]:
    """Secrets in what is added.

    A private key and the token of an issuer are refused; in a test, which may have made them up, a
    person looks. So does one where text only stands in the place of a secret, but not in tests and
    documents: there it is made up more often than not.
    """
    before = _lines_before(given)
    for change in given.changes:
        content = given.new(change)
        if content:
            yield from _known(given, change, content)
            yield from _formed(change, content, before)


def _known(given: GateInput, change: FileChange, content: bytes) -> Iterator[Finding]:
    """Values of the installation's secrets, wherever they stand in the file, in any form."""
    if given.masker is None:
        return
    old = given.old(change)
    there = () if old is None else given.masker.names_in(old.decode("utf-8", "surrogateescape"))
    for name in given.masker.names_in(content.decode("utf-8", "surrogateescape")):
        if name not in there:
            yield Finding(GateRule.KNOWN_SECRET, Effect.REFUSE, change.path, name)


def _formed(change: FileChange, content: bytes, before: frozenset[bytes]) -> Iterator[Finding]:
    kept = [
        (number, piece)
        for number, line in enumerate(content.splitlines(keepends=True), 1)
        if line not in before
        for piece in _pieces(line)
    ]
    ends = list(accumulate(len(piece) for _, piece in kept))
    asked: dict[int, dict[MaskRule, None]] = {}
    for start, rules in _structure().suspicions(b"".join(piece for _, piece in kept)):
        asked.setdefault(bisect_right(ends, start), {}).update(dict.fromkeys(rules))
    found: dict[tuple[int, SecretKind], bool] = {}
    for place in sorted(asked):
        number, line = kept[place]
        if _begins_a_key([piece for _, piece in kept[place : place + _KEY_HEAD]]):
            found[number, SecretKind.PRIVATE_KEY] = True
        for rule in asked[place]:
            certain = rule in _CERTAIN
            if any(_is_secret(match, rule, change.path) for match in _matches(line, rule)):
                found[number, rule.kind] = found.get((number, rule.kind), False) or certain
    for (number, kind), certain in found.items():
        effect = Effect.REFUSE if certain and not is_test(change.path) else Effect.PERSON
        yield Finding(GateRule.SECRET, effect, change.path, kind, count=number)


def _matches(line: bytes, rule: MaskRule) -> Iterator[Found]:
    return rule.pattern.finditer(line) if rule.needs in line else iter(())


def _is_secret(found: Found, rule: MaskRule, path: str) -> bool:
    if not rule.holds(found) or _is_made_up(found["value"]):
        return False
    return rule in _CERTAIN or (is_token(found) and _may_be_real(found, path))


def _begins_a_key(lines: Sequence[bytes]) -> bool:
    """Whether the first line begins a private key: its name alone stands in many programs."""
    begins = keyblocks.BEGIN.search(lines[0])
    if begins is None:
        return False
    rest = lines[0][begins.end() :]
    return _KEY_TEXT.search(rest) is not None or any(map(keyblocks.is_full, lines[1:]))


def _may_be_real(found: Found, path: str) -> bool:
    """Whether text in the place of a secret may be one.

    In a program a value stands between quotes: what does not is the name of a variable.
    """
    name = path.rpartition("/")[2].casefold()
    if is_test(path) or name.endswith(_SPOKEN):
        return False
    if _RANDOM.fullmatch(found["value"].strip(b"\"'`")) is None:
        return False
    start = found.start("value")
    return found.string[start - 1 : start] in {b'"', b"'", b"`"} or bool(_DATA.fullmatch(name))


def _is_made_up(value: bytes) -> bool:
    """Whether the value is a mask, or says that it is an example."""
    bare = value.strip(b"\"'`")
    return (
        MARK.search(bare) is not None
        or b"example" in bare.lower()
        or len(set(bare[-16:])) < _FEWEST
    )


def _lines_before(given: GateInput) -> frozenset[bytes]:
    """The lines of all files of the base side."""
    contents = filter(None, map(given.old, given.changes))
    return frozenset(line for each in contents for line in each.splitlines(keepends=True))


def _pieces(line: bytes) -> Iterator[bytes]:
    """The line, cut where it is too long to be searched at once; pieces overlap."""
    yield line[:_PIECE]
    for start in range(_PIECE - _OVERLAP, len(line) - _OVERLAP, _PIECE - _OVERLAP):
        yield line[start : start + _PIECE]


@cache
def _structure() -> Structure:
    """The rules, compiled once in a process."""
    return Structure(also=keyblocks.TRIGGERS)
