"""Matches glob patterns against partly unknown words: yes, no, or maybe."""

import re
from dataclasses import dataclass
from enum import IntEnum

from shared.guard.words import Glob, Hole, Text, Word

_MOST_TOKENS = 4096
_MOST_MEMBERS = 1000
_BRACKET = re.compile(r"\[([!^]?)(\]?[^\]]*)\]")


class Match(IntEnum):
    """Whether a rule matches: MAYBE if that depends on what is known only at run time."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Any:
    """One character, or any number of them when `many`: of `members`, or not when `negated`."""

    members: str = ""
    negated: bool = True
    many: bool = False

    def holds(self, character: str) -> bool:
        """True when the token matches the character."""
        return (character in self.members) != self.negated


Token = str | Any
"""A known character, or a placeholder for others."""

_ANYTHING = Any(many=True)
_IN_ONE_NAME = Any("/", many=True)
_IN_ONE_STEM = Any("/.", many=True)


def _class_of(negation: str, body: str) -> Any:
    members = []
    position = 0
    while position < len(body):
        if body.startswith("[:", position):
            return Any()  # a named class: taken as any character
        if position + 2 < len(body) and body[position + 1] == "-":
            first, last = ord(body[position]), ord(body[position + 2])
            if last - first > _MOST_MEMBERS:
                return Any()
            members += [chr(code) for code in range(first, last + 1)]
            position += 3
        else:
            members.append(body[position])
            position += 1
    return Any("".join(members), negated=bool(negation))


def tokens_of_pattern(pattern: str, star: Any = _ANYTHING) -> list[Token]:
    """The tokens of a glob, in which `*` is `star`."""
    out: list[Token] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            out.append(star)
        elif character == "?":
            out.append(Any(star.members))
        elif character == "[" and (found := _BRACKET.match(pattern, position)):
            out.append(_class_of(found[1], found[2]))
            position = found.end() - 1
        elif character == "[":
            out.append(star)  # a later part of the word may close it
        else:
            out.append(character)
        position += 1
    return out


def tokens_of_word(word: Word) -> list[Token]:
    """The tokens of a word; unknown parts are any run of characters."""
    out: list[Token] = []
    for piece in word.pieces:
        match piece:
            case Text(value):
                out += value
            case Glob(pattern):
                out += tokens_of_pattern(pattern, _IN_ONE_NAME)
            case Hole():
                out.append(_ANYTHING)
    return out


def intersect(left: list[Token], right: list[Token]) -> bool:
    """True when some text matches both."""
    waiting = [(0, 0)]
    seen = {(0, 0)}
    while waiting:
        i, j = waiting.pop()
        if i == len(left) and j == len(right):
            return True
        for step in _steps(left, right, i, j):
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return False


def _steps(left: list[Token], right: list[Token], i: int, j: int) -> list[tuple[int, int]]:
    a = left[i] if i < len(left) else None
    b = right[j] if j < len(right) else None
    a_many = isinstance(a, Any) and a.many
    b_many = isinstance(b, Any) and b.many
    steps = []
    if a_many:
        steps.append((i + 1, j))
    if b_many:
        steps.append((i, j + 1))
    if a is not None and b is not None and _meet(a, b):
        steps.append((i if a_many else i + 1, j if b_many else j + 1))
    return [step for step in steps if step != (i, j)]


def _meet(left: Token, right: Token) -> bool:
    """True when one character could match both."""
    if isinstance(left, str):
        return left == right if isinstance(right, str) else right.holds(left)
    return left.holds(right) if isinstance(right, str) else True


class Pattern:
    """A glob of a rule.

    `*` matches any text. If `path` is true it matches only within one name, and, if only the end of
    the path is known, no dots: `"$name.bak"` is not taken for a disk.
    """

    def __init__(self, text: str, *, path: bool = False) -> None:
        self.text = text
        self._tokens = tokens_of_pattern(text, _IN_ONE_NAME if path else _ANYTHING)
        self._cautious = tokens_of_pattern(text, _IN_ONE_STEM) if path else self._tokens
        wild = any(not isinstance(token, str) for token in self._tokens)
        self._literal = None if wild else text
        self._regex = re.compile("".join(map(_regex, self._tokens)), re.DOTALL)

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"

    def match(self, word: Word) -> Match:
        """Whether the word matches the pattern, or may match it at run time."""
        literal = word.literal
        if literal is not None:
            return Match.YES if self.holds(literal) else Match.NO
        if self._tokens == [_ANYTHING]:
            return Match.MAYBE if word.splits else Match.YES
        given = tokens_of_word(word)
        if len(given) > _MOST_TOKENS:
            return Match.MAYBE
        ends_known = isinstance(word.pieces[-1], Text) and word.unknown
        if not intersect(self._cautious if ends_known else self._tokens, given):
            return Match.NO
        # a pattern for file names matches existing files: `/[a-z]*` does name `/etc`
        return Match.MAYBE if word.unknown or self._literal is None else Match.YES

    def holds(self, text: str) -> bool:
        """True when the whole text matches."""
        if self._literal is not None:
            return text == self._literal
        return self._regex.fullmatch(text) is not None


def _regex(token: Token) -> str:
    match token:
        case Any(members, negated, many):
            inside = "".join(re.escape(member) for member in members)
            one = f"[{'^' if negated else ''}{inside}]" if members else "."
            return f"{one}*" if many else one
        case character:
            return re.escape(character)
