"""Rules that generalise over what people have approved several times, and never over a denial."""

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from posixpath import commonpath, dirname

from orchestrator.proposals.narrowest import ProposedRule, guard_with, propose
from shared.guard import Guard
from shared.guard.paths import START
from shared.guard.policy.ground import Ground
from shared.guard.policy.notation import quote, quoted_words
from shared.guard.policy.operands import BELOW, kind_of
from shared.guard.policy.territory import Territory
from shared.guard.words import literal_word

GuardFor = Callable[[str], Guard]
"""The guard of the host of that name."""

SEVERAL = 3
"""From so many different words on, a kind stands for them; fewer are listed."""

_MOST_EXAMPLES = 5
_DEPTH = 2
_KINDS = ("number", "account", "package", "name")
"""From the narrowest on."""

_UNITS = frozenset({"systemctl", "service", "rc-service"})
_NOWHERE = Ground(Territory(), (START,), re.compile("(?!)"))
_SAMPLES = {
    "number": ("0", "1", "9", "65535"),
    "account": ("root", "admin", "all", "production"),
    "package": ("openssh-server", "netcat", "libc6=1.0"),
    "name": ("production", "a=b", "v1.2", "all"),
    "unit": ("postgresql", "nginx.service", "cron"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A text that a person answered for, on which host, in which question."""

    text: str
    host: str
    question: str


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """A rule with the cases that it covers, and what else it would allow.

    `saved` is how many of the questions would not have been asked with it and those before it.
    """

    rule: ProposedRule
    cases: tuple[Case, ...]
    saved: int
    also: tuple[str, ...]


class _Guards:
    """The guards of hosts with further rules, each built once."""

    def __init__(self, guard_for: GuardFor) -> None:
        self._guard_for = guard_for
        self._known: dict[tuple[str, tuple[ProposedRule, ...]], Guard] = {}

    def of(self, host: str, rules: tuple[ProposedRule, ...] = ()) -> Guard:
        """The guard of a host with these rules."""
        guard = self._guard_for(host)
        key = (guard.version, rules)
        if key not in self._known:
            self._known[key] = guard_with(guard, rules) if rules else guard
        return self._known[key]


def learn(
    approved: Sequence[Case],
    denied: Sequence[Case],
    recorded: Iterable[tuple[str, str]],
    guard_for: GuardFor,
    *,
    at_least: int = 2,
) -> tuple[LearnedRule, ...]:
    """The rules for what was approved in at least so many questions, the most frequent first.

    Each is the narrowest that covers its cases. None covers a program of a text that was denied.
    """
    guards = _Guards(guard_for)
    support: dict[ProposedRule, list[Case]] = defaultdict(list)
    for case in approved:
        for rule in propose(guard_for(case.host), case.text).rules:
            support[rule].append(case)
    found = [
        (rule, cases)
        for alike in _alike(support)
        for rule, cases in _narrowest(alike, support, denied, guards)
        if _questions(cases) >= at_least
    ]
    found.sort(key=lambda each: -_questions(each[1]))
    return tuple(_with_effects(found, approved, tuple(recorded), guards))


def _questions(cases: Iterable[Case]) -> int:
    return len({case.question for case in cases})


def _alike(support: Iterable[ProposedRule]) -> Iterator[tuple[ProposedRule, ...]]:
    """Rules that differ in one word, which is not an option; all others stand alone."""
    shapes: dict[ProposedRule, list[ProposedRule]] = defaultdict(list)
    for rule in support:
        for at, kind in enumerate(rule.kinds):
            if not _word(kind).startswith(("-", "+")):
                shapes[replace(rule, kinds=_with_kind(rule, at, ""))].append(rule)
    taken: set[ProposedRule] = set()
    for rules in sorted(shapes.values(), key=len, reverse=True):
        left = tuple(rule for rule in rules if rule not in taken)
        if len(left) > 1:
            taken |= set(left)
            yield left
    yield from ((rule,) for rule in support if rule not in taken)


def _narrowest(
    alike: Sequence[ProposedRule],
    support: dict[ProposedRule, list[Case]],
    denied: Sequence[Case],
    guards: "_Guards",
) -> list[tuple[ProposedRule, tuple[Case, ...]]]:
    """One rule for all of them, or each for itself where one would cover what was denied."""
    whole = tuple(case for rule in alike for case in support[rule])
    for kind_rule in _unions(alike):
        if not any(_covers(guards, kind_rule, case) for case in denied):
            return [(kind_rule, whole)]
    return [
        (rule, tuple(support[rule]))
        for rule in alike
        if not any(_covers(guards, rule, case) for case in denied)
    ]


def _unions(alike: Sequence[ProposedRule]) -> Iterator[ProposedRule]:
    """The rule that covers all of these: of a kind where there are several words, or listed."""
    first = alike[0]
    if len(alike) == 1:
        yield first
        return
    at = next(i for i, kinds in enumerate(zip(*(r.kinds for r in alike), strict=True))
              if len(set(kinds)) > 1)  # fmt: skip
    words = sorted(_word(rule.kinds[at]) for rule in alike)
    if len(words) >= SEVERAL:
        for kind in _kinds(first, words):
            yield replace(first, kinds=_with_kind(first, at, kind))
    yield replace(first, kinds=_with_kind(first, at, "|".join(map(quote, words))))


def _kinds(rule: ProposedRule, words: Sequence[str]) -> Iterator[str]:
    """The narrowest kind that holds all of the words; none if none does."""
    if all(word.startswith("/") for word in words):
        folder = commonpath([dirname(word) for word in words])
        deep = len([part for part in folder.split("/") if part]) >= _DEPTH
        kinds: tuple[str, ...] = (f"{BELOW}{folder}",) if deep and " " not in folder else ()
    else:
        kinds = ("unit",) if rule.run[0] in _UNITS else _KINDS
    for kind in kinds:
        holds = kind_of(kind)
        if holds and not any(holds(literal_word(word), _NOWHERE) for word in words):
            yield kind
            return


def _covers(guards: "_Guards", rule: ProposedRule, case: Case) -> bool:
    """Whether the rule is about a program in the text, and holds for it."""
    after = guards.of(case.host, (rule,)).explain(case.text).findings
    before = guards.of(case.host).explain(case.text).findings
    return any(
        old.doubt is not None and new.doubt is None for old, new in zip(before, after, strict=False)
    )


def _with_effects(
    found: Iterable[tuple[ProposedRule, tuple[Case, ...]]],
    approved: Sequence[Case],
    recorded: Sequence[tuple[str, str]],
    guards: "_Guards",
) -> Iterator[LearnedRule]:
    """Each rule with the questions that it would have saved, and what else it would allow."""
    waiting = {case.question for case in approved}
    rules: list[ProposedRule] = []
    for rule, cases in found:
        rules.append(rule)
        still = {
            case.question
            for case in approved
            if case.question in waiting
            and not guards.of(case.host, tuple(rules)).judge(case.text).allowed
        }
        saved = len(waiting) - len(still)
        waiting = still
        known = {case.text for case in cases}
        tried = [*recorded, *((text, cases[0].host) for text in _neighbours(rule, cases))]
        also = (
            text
            for text, host in tried
            if text not in known and _newly_allowed(guards, host, rule, text)
        )
        yield LearnedRule(rule, cases, saved, tuple(dict.fromkeys(also))[:_MOST_EXAMPLES])


def _newly_allowed(guards: "_Guards", host: str, rule: ProposedRule, text: str) -> bool:
    if guards.of(host).judge(text).allowed:
        return False
    return guards.of(host, (rule,)).judge(text).allowed


def _neighbours(rule: ProposedRule, cases: Sequence[Case]) -> Iterator[str]:
    """Commands near those that were approved: another word of a kind, and another way to run."""
    for at, kind in enumerate(rule.kinds):
        for word in _samples(kind):
            words = [_word(each) for each in rule.kinds]
            words[at] = word
            yield shlex.join((*rule.run, *words))
    plain = shlex.join((*rule.run, *map(_word, rule.kinds)))
    if not any("sudo" in case.text for case in cases):
        yield f"sudo {plain}"
    yield f"{plain} > /tmp/output.txt"


def _samples(kind: str) -> Iterator[str]:
    if kind.startswith(BELOW):
        folder = kind.removeprefix(BELOW)
        yield from (f"{folder}/other", f"{folder}/a/b")
    words = quoted_words(kind) or ()
    yield from sorted(words) if len(words) > 1 else _SAMPLES.get(kind, ())


def _with_kind(rule: ProposedRule, at: int, kind: str) -> tuple[str, ...]:
    return (*rule.kinds[:at], kind, *rule.kinds[at + 1 :])


def _word(kind: str) -> str:
    """A word that the kind holds."""
    words = quoted_words(kind)
    if words:
        return min(words)
    return next(iter(_SAMPLES.get(kind, (f"{kind.removeprefix(BELOW)}/other",))))
