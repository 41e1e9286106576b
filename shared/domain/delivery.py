"""A delivery: what a pass published, and what becomes of it until it is on the remote."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.errors import Defect

ISSUE_ID: Final = r"L-\d{6,}"
"""The form of the id of an issue (S2.41)."""

_BRANCHES: Final = "refs/heads/"


def is_issue_id(text: str) -> bool:
    """Whether the text has the form of an issue's id."""
    return re.fullmatch(ISSUE_ID, text, re.ASCII) is not None


def issue_id(task: int, step: int, key: str) -> str:
    """The id under which a step delivers: its own key if that has the form, else of its place."""
    return key if is_issue_id(key) else f"L-{task:03d}{step:03d}"


def session_branch(task: int, repository: str, runs: int) -> str:
    """The name of the branch of a session on its remote; `runs` counts those of its task.

    Two repositories may have one remote.
    """
    branch = f"session/T{task}"
    return branch if runs == 1 else f"{branch}-{repository}"


def branch_ref(branch: str) -> str:
    """The full name of a branch, as git has it; `branch` may be either name."""
    return f"{_BRANCHES}{branch_name(branch)}"


def branch_name(ref: str) -> str:
    """The name of a branch, as people know it; `ref` may be either name."""
    return ref.removeprefix(_BRANCHES)


class DeliveryStatus(StrEnum):
    """Where a delivery stands; recorded, never inferred (S2.28)."""

    REFUSED = "refused"  # the gates let it not be published
    PUBLISHED = "published"
    ACCEPTED = "accepted"  # it is on the head of its session
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"  # its step was revised, cancelled or given up before
    CHECKPOINTED = "checkpointed"  # it is on the remote, and was verified there


class Rejection(StrEnum):
    """Why a delivery was rejected, or could not be published."""

    GATE = "gate"
    CONFLICT = "conflict"  # it cannot be merged with the head of its session
    CHECK = "check"  # a check was red on the merged tree
    REVIEWER = "reviewer"
    PERSON = "person"


class Trust(StrEnum):
    """Who may accept a delivery; each one includes those before it."""

    CHECKS = "checks"
    REVIEW = "review"  # checks, and a reviewer that did not write it
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Published:
    """What a pass published; `delivery` is the SHA-256 of its bundle, in hexadecimal.

    `reviewed` says that a reviewer must approve it, `allowed` that a person must; `why` says to
    that person what there is to see.
    """

    delivery: str
    reviewed: bool = False
    allowed: bool = False
    why: str = ""


class Stage(StrEnum):
    """How far a delivery has come that is neither accepted nor rejected."""

    JUDGING = "judging"  # merged with the head and checked, for those who look at it next
    REVIEWING = "reviewing"
    ALLOWING = "allowing"  # a person looks at it
    QUEUED = "queued"  # accepted as soon as those before it are, and it is green behind them


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of merging a delivery with the line behind which it stands, and of the checks.

    `commit` and `tree` are those of the merge, None where there is none. `rejection` says why it
    cannot be accepted, None if it can.
    """

    commit: str | None
    tree: str | None
    rejection: Rejection | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        """What can be accepted has a commit, which becomes the head of its session."""
        if self.rejection is None and not (self.commit and self.tree):
            raise Defect("a judgement accepts a delivery and names no commit", stage="accept")


@dataclass(frozen=True, slots=True)
class Line:
    """What a delivery is judged behind.

    That is the `head` of its session, None where it began, and the deliveries `ahead` in the queue.
    """

    head: str | None = None
    ahead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A delivery on its way to the head of its session.

    `asked` says that the job of its stage is under way. `turn` counts its judgements: one of an
    earlier turn was behind another line. `judgement` is that of the present turn. `place` orders
    the queue, and is 0 while it is not in it.
    """

    published: Published
    stage: Stage
    asked: bool = False
    turn: int = 0
    line: Line | None = None
    judgement: Judgement | None = None
    place: int = 0

    @property
    def awaits_judgement(self) -> bool:
        """Whether its judgement behind its present line is under way."""
        judged = self.stage in {Stage.JUDGING, Stage.QUEUED}
        return judged and self.line is not None and self.judgement is None


class CheckpointPhase(StrEnum):
    """Where the checkpoint of a session stands."""

    IDLE = "idle"
    UNDER_WAY = "under_way"
    WAITING = "waiting"  # it did not complete, and a person has to do something first
    HELD = "held"  # nothing is published before a person says so


class CheckpointEnding(StrEnum):
    """How a checkpoint ended (S2.8): it is complete, or it was refused and changed nothing more."""

    COMPLETE = "complete"
    DIVERGED = "diverged"  # the remote has commits that the session does not have (S2.51)
    REFUSED = "refused"  # the remote did not take it
    UNPROVEN = "unproven"  # its head is not known to be checked: the remote was not asked
    GIVEN_UP = "given_up"  # another one followed, or its session was cancelled


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The newest checkpoint of a session; `number` counts them, `postponed` its postponements.

    It publishes the first `accepted` acceptances, and those that came before a worker began.
    `wanted` says that a person wants another one to follow.
    """

    number: int = 0
    phase: CheckpointPhase = CheckpointPhase.IDLE
    postponed: int = 0
    wanted: bool = False
    accepted: int = 0
