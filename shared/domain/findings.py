"""What the gates find in a delivery, as values; `shared.domain.finding_words` says them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.delivery import Trust


class GateRule(StrEnum):
    """What a delivery is examined for."""

    DELIVERABLES = "deliverables"  # they are not valid, or not those of this delivery
    NO_OP = "no_op"  # it changes nothing
    SAME_AGAIN = "same_again"  # somebody has rejected the same change before
    BASE = "base"  # it was made from a commit that the session does not have
    LEFT_OUT = "left_out"  # its tree does not hold a file of the workspace
    FILE_SIZE = "file_size"
    PATCH_SIZE = "patch_size"
    FILE_COUNT = "file_count"
    UNREAD = "unread"  # what it holds could not be examined
    NAME = "name"  # a name that some file system, or git, cannot hold
    SAME_NAME = "same_name"  # two names that are one where case does not count
    SUBMODULE = "submodule"  # a commit of another repository in place of files
    LINK_OUT = "link_out"  # a symbolic link that leads out of the tree, or into `.git`
    SECRET = "secret"  # text that has the form of a secret  # noqa: S105 - a rule
    KNOWN_SECRET = "known_secret"  # the value of a secret  # noqa: S105 - a rule
    FORBIDDEN = "forbidden"  # a path that its repository forbids to change
    REVERTED = "reverted"  # a file that is what it was before, as a stale tree would make it
    STEERING = "steering"  # a file that steers agents, CI or git
    CHECKS = "checks"  # a file that decides what the checks do
    TEST_DELETED = "test_deleted"
    TEST_WEAKENED = "test_weakened"
    TRUST = "trust"  # a rule of the repository about who may accept it


class Effect(StrEnum):
    """What follows from a finding."""

    REVIEW = "review"  # a reviewer has to approve it
    PERSON = "person"  # a person has to allow it
    REFUSE = "refuse"  # it cannot be published or accepted


class NameFault(StrEnum):
    """What is wrong with a name."""

    GIT = "git"  # some file system takes it for `.git`
    CHARACTER = "character"  # a character that Windows or a terminal cannot hold
    ENDING = "ending"  # a dot or a blank at the end, which Windows drops
    RESERVED = "reserved"  # the name of a device on Windows
    LENGTH = "length"
    ENCODING = "encoding"  # its bytes are not UTF-8


class Weakening(StrEnum):
    """How a test file became weaker."""

    TESTS = "tests"  # tests are gone
    ASSERTIONS = "assertions"  # fewer of them
    SKIPPED = "skipped"  # more tests are skipped, expected to fail, or shut out by another
    BROKEN = "broken"  # it can no longer be read as a program


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found at a path, empty where it is about the whole delivery.

    `detail` is what it found, never a secret: the pattern of a rule of the repository, the target
    of a link, the older commit, a kind or the name of a secret, a `NameFault`, a `Weakening`, the
    other name; for DELIVERABLES the reason in words, for SAME_AGAIN that of the rejection. `count`
    is a number that belongs to it: a line, bytes, files, tests; `bound` is what it was compared
    with, a limit or the count before. `more` counts further paths of which the
    same is true, and that are not named.
    """

    rule: GateRule
    effect: Effect
    path: str = ""
    detail: str = ""
    count: int | None = None
    bound: int | None = None
    more: int = 0


_TRUST: Final = {Effect.REVIEW: Trust.REVIEW, Effect.PERSON: Trust.PERSON}
_STRICTNESS: Final = {trust: number for number, trust in enumerate(Trust)}


def trust_after(findings: Iterable[Finding]) -> Trust:
    """Who may accept a delivery of which this was found, unless that refuses it."""
    needed = (_TRUST.get(each.effect, Trust.CHECKS) for each in findings)
    return max(needed, key=_STRICTNESS.__getitem__, default=Trust.CHECKS)
