"""Approvals: what exactly a person lets run, where, and how often.

An approval is bound to a digest of everything that decides what would happen, so that it serves for
nothing else: one byte of the command, another host, another account or another policy, and it is
another digest.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from shared.domain.host import Host
from shared.domain.plan import Plan, Subtask

INTERPRETER = "/bin/sh"
"""What every command is given to on its host."""

PUBLIC_KEY = "approval-key.pub"
"""The name, in the data folder, of the public half of the key that signs approvals there."""


class ApprovalScope(StrEnum):
    """How often an approval serves."""

    ONCE = "once"
    TASK = "task"  # as often as the task needs it


class SubtaskPart(StrEnum):
    """What a text is in its subtask."""

    COMMAND = "command"
    CHECK = "check"
    PRECONDITION = "precondition"
    ROLLBACK = "rollback"


def parts(subtask: Subtask) -> Iterator[tuple[SubtaskPart, str]]:
    """All that a subtask asks its target, in the order in which it would run.

    The bytes are those of `shared.secrets.sent.as_sent`, if the subtask comes from there.
    """
    if subtask.check is not None:
        yield SubtaskPart.CHECK, subtask.check
    for precondition in subtask.preconditions:
        yield SubtaskPart.PRECONDITION, precondition
    yield SubtaskPart.COMMAND, subtask.command


@dataclass(frozen=True, slots=True)
class SubtaskPlace:
    """A subtask under one revision of its step: where in a task a command belongs."""

    step: int
    revision: int
    subtask: int


@dataclass(frozen=True, slots=True)
class Subject:
    """What a person is asked to approve: these bytes, on this host, as its worker reads it.

    `environment` are the names of the variables that are set for this command alone, `policy` is
    the version of the rules that it was judged by. Without a `place` it is meant wherever in the
    task it stands.
    """

    task: int
    place: SubtaskPlace | None
    command: str
    host: Host
    policy: str
    interpreter: str = INTERPRETER
    environment: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over all of it, in hexadecimal: two subjects share one only if they are equal."""
        return _digest("subject", asdict(replace(self, environment=_sort_names(self.environment))))

    def anywhere(self) -> "Subject":
        """The same wherever in its task it stands."""
        return replace(self, place=None)


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A text that waits for a person's word, and why.

    `rule` and `reason` are the verdict's, `piece` is the piece of the text that it is about.
    """

    part: SubtaskPart
    subject: Subject
    rule: str
    reason: str
    piece: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's word for one digest, given once; it serves until `expires_at`.

    The `signature` is Ed25519's over the `statement` of it, in base64.
    """

    digest: str
    scope: ApprovalScope
    given_by: str
    expires_at: datetime
    signature: str = ""


def statement(task: int, approval: Approval) -> bytes:
    """What is signed: all that an approval says, of which task it says it, and nothing else."""
    said = (
        task,
        approval.digest,
        approval.scope.value,
        approval.given_by,
        approval.expires_at.astimezone(UTC).isoformat(timespec="microseconds"),
    )
    return _canonical_bytes("approval", said)


def plan_digest(plan: Plan) -> str:
    """SHA-256 over a whole plan: what a person has seen, and nothing else, is what is approved."""
    return _digest("plan", asdict(plan))


def _sort_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _digest(kind: str, content: object) -> str:
    return hashlib.sha256(_canonical_bytes(kind, content)).hexdigest()


def _canonical_bytes(kind: str, content: object) -> bytes:
    """JSON says where each text ends, so that no two contents are written alike."""
    written = json.dumps([kind, content], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return written.encode("ascii")
