"""What the gates found, in words: for people, and for the agents and planners that go on."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from shared.domain.findings import Effect, Finding, GateRule, NameFault, Weakening

_NAMES: Final[Mapping[str, str]] = {
    NameFault.GIT: "some file systems take it for git's own folder",
    NameFault.CHARACTER: "it has a character that not every file system can hold",
    NameFault.ENDING: "a name in it ends with a dot or a blank, which Windows drops",
    NameFault.RESERVED: "Windows keeps that name for a device",
    NameFault.LENGTH: "a name in it is longer than 255 bytes",
    NameFault.ENCODING: "its bytes are not UTF-8",
}
_WEAKER: Final[Mapping[str, Callable[[Finding], str]]] = {
    Weakening.TESTS: lambda f: _gone((f.bound or 0) - (f.count or 0), f.bound),
    Weakening.ASSERTIONS: lambda f: f"it has {_count(f.count, 'assertion')}, and had {f.bound}",
    Weakening.SKIPPED: lambda f: (
        f"{_count(f.count, 'mark')} in it keep tests from counting, {f.bound} did before"
    ),
    Weakening.BROKEN: lambda _: "it can no longer be read as a program",
}
_ASKS: Final = {Effect.PERSON: "person", Effect.REVIEW: "review", Effect.REFUSE: "person"}
_WHO: Final = {Effect.PERSON: "person", Effect.REVIEW: "reviewer", Effect.REFUSE: "person"}
_WORDS: Final[Mapping[GateRule, Callable[[Finding], str]]] = {
    GateRule.DELIVERABLES: lambda f: f.detail,
    GateRule.NO_OP: lambda _: "it changes nothing",
    GateRule.SAME_AGAIN: lambda f: f"the same change was rejected before: {f.detail}",
    GateRule.BASE: lambda f: f"it was made from {f.detail[:12]}, which the session does not have",
    GateRule.LEFT_OUT: lambda f: f"{f.path} is too large or cannot be read: no tree can hold it",
    GateRule.FILE_SIZE: lambda f: f"{f.path} has {f.count} bytes; at most {f.bound} are accepted",
    GateRule.PATCH_SIZE: lambda f: f"its patch has {f.count} bytes; at most {f.bound} are accepted",
    GateRule.FILE_COUNT: lambda f: f"it changes {f.count} files; at most {f.bound} are accepted",
    GateRule.UNREAD: lambda f: f"{f.path} could not be examined",
    GateRule.NAME: lambda f: f"{f.path!r} cannot be held everywhere: {_NAMES[f.detail]}",
    GateRule.SAME_NAME: lambda f: f"{f.path!r} and {f.detail!r} are one name on some file systems",
    GateRule.SUBMODULE: lambda f: f"{f.path} is a repository of its own: its files would be lost",
    GateRule.LINK_OUT: lambda f: f"the link {f.path} leads out of the repository: {f.detail}",
    GateRule.SECRET: lambda f: f"{f.path}, line {f.count}, looks like a secret ({f.detail})",
    GateRule.KNOWN_SECRET: lambda f: f"{f.path} holds the value of the secret {f.detail}",
    GateRule.FORBIDDEN: lambda f: f"the repository forbids to change {f.path} ({f.detail})",
    GateRule.REVERTED: lambda f: f"{f.path} is what it was in {f.detail[:12]}: newer work is lost",
    GateRule.STEERING: lambda f: f"{f.path} steers agents, CI or git",
    GateRule.CHECKS: lambda f: f"{f.path} decides what the checks do{_of(f.detail)}",
    GateRule.TEST_DELETED: lambda f: f"{f.path}, a test file, is gone",
    GateRule.TEST_WEAKENED: lambda f: f"{f.path} tests less: {_WEAKER[f.detail](f)}",
    GateRule.TRUST: lambda f: (
        f"{f.path}: the rule {f.detail}={_ASKS[f.effect]} asks for a {_WHO[f.effect]}"
    ),
}
_EFFECTS: Final = {
    Effect.REFUSE: "refused",
    Effect.PERSON: "a person has to allow it",
    Effect.REVIEW: "a reviewer has to approve it",
}


def describe_finding(finding: Finding) -> str:
    """What was found, as the beginning of a sentence; it never holds a secret."""
    told = _WORDS[finding.rule](finding)
    return told if not finding.more else f"{told}; the same is true of {finding.more} more"


def describe_findings(findings: Iterable[Finding]) -> Iterator[str]:
    """A line for each finding, which begins with what follows from it."""
    return (f"{_EFFECTS[each.effect]}: {describe_finding(each)}" for each in findings)


def say_findings(findings: Iterable[Finding]) -> str:
    """All that was found, as one text; empty for nothing."""
    return "; ".join(map(describe_finding, findings))


def explain_refusal(findings: Iterable[Finding]) -> str:
    """Why a delivery is refused, for who made it; empty if nothing refuses it."""
    told = say_findings(each for each in findings if each.effect is Effect.REFUSE)
    return f"the delivery was refused: {told}" if told else ""


def explain_person(findings: Iterable[Finding]) -> str:
    """What a person who is to allow a delivery should look at; empty if none is needed."""
    return say_findings(each for each in findings if each.effect is Effect.PERSON)


def _of(detail: str) -> str:
    return f" ({detail})" if detail else ""


def _gone(number: int, whole: int | None) -> str:
    return f"{number} of its {whole} tests {'is' if number == 1 else 'are'} gone"


def _count(number: int | None, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
