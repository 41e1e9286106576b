"""Approvals: exactly what a person lets run, where, and how often.

An approval is bound to a digest of everything that decides what would happen, so it covers nothing
else: if one byte of the command, the host, the account or the policy differs, so does the digest.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from shared.domain.agent import AgentWork
from shared.domain.host import Host
from shared.domain.plan import Plan
from shared.domain.preview import Preview
from shared.domain.target import Repository

INTERPRETER = "/bin/sh"
"""The program that runs every command on its host."""

PUBLIC_KEY = "approval-key.pub"
"""The name, in the data folder, of the public half of the key that signs approvals there."""


class ApprovalScope(StrEnum):
    """How often an approval can be used."""

    ONCE = "once"
    TASK = "task"  # as often as the task needs it
    RULE = "rule"  # whatever a rule allows on one host, as often as the task needs it


class SubtaskPart(StrEnum):
    """Which text of its subtask it is."""

    COMMAND = "command"
    CHECK = "check"
    PRECONDITION = "precondition"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class SubtaskPlace:
    """A subtask under one revision of its step: where in a task a command belongs."""

    step: int
    revision: int
    subtask: int


@dataclass(frozen=True, slots=True)
class Subject:
    """What a person is asked to approve: these bytes, on this host, as its worker reads it.

    `environment` names the variables that are set for this command alone; `policy` is the version
    of the rules that judged it. Without a `place`, the subject covers the command anywhere in the
    task. In a `repository`, it runs in a workspace of that repository. With `work`, the command is
    the goal of an agent: its runner, its limits and its tools are approved with it.
    """

    task: int
    place: SubtaskPlace | None
    command: str
    host: Host
    policy: str
    interpreter: str = INTERPRETER
    environment: tuple[str, ...] = ()
    repository: Repository | None = None
    work: AgentWork | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over every field, in hexadecimal: only equal subjects share one."""
        told = asdict(replace(self, environment=_sort_names(self.environment)))
        if not self.host.labels:
            del told["host"]["labels"]  # older versions knew none: their approvals stay valid
        _drop_empty(told, "repository")
        _drop_empty(told, "work")
        _drop_budget(told.get("work"))
        return _digest("subject", told)

    def anywhere(self) -> "Subject":
        """The same subject for any place in its task."""
        return replace(self, place=None)


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A text that waits for a person's approval, and why.

    `rollback` would undo the command, if its step is revised; the approval does not cover it.
    `rule` and `reason` come from the verdict; `piece` is the part of the text that caused it. The
    `preview` shows what the text would change; None if nobody has looked. It binds nothing.
    """

    part: SubtaskPart
    subject: Subject
    rule: str
    reason: str
    piece: str = ""
    rollback: str = ""
    preview: Preview | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's approval of one digest; it is valid until `expires_at`.

    `signature` is an Ed25519 signature of its `statement`, in base64. With the scope `RULE`, the
    digest is that of a rule at a place, and `rule` is that rule (`rule_digest`).
    """

    digest: str
    scope: ApprovalScope
    given_by: str
    expires_at: datetime
    signature: str = ""
    rule: str = ""


def statement(task: int, approval: Approval) -> bytes:
    """The bytes to sign: everything that an approval says, and the task that it is for."""
    said = (
        task,
        approval.digest,
        approval.scope.value,
        approval.given_by,
        approval.expires_at.astimezone(UTC).isoformat(timespec="microseconds"),
    )
    return _canonical_bytes("approval", said)


def approval_id(task: int, approval: Approval) -> str:
    """SHA-256 of what was signed: the same bytes approved again are another approval."""
    return hashlib.sha256(statement(task, approval)).hexdigest()


def rule_digest(rule: str, host: Host, repository: Repository | None) -> str:
    """SHA-256 over a rule and the place where it holds, as the executor reads that place.

    The rule is JSON: a list of rules as a policy file has them.
    """
    told: dict[str, Any] = {"rule": rule, "host": asdict(host), "repository": None}
    if repository is not None:
        told["repository"] = asdict(repository)
    return _digest("rule", told)


def plan_digest(plan: Plan) -> str:
    """SHA-256 over a whole plan: a person approves exactly the plan that was shown."""
    told = asdict(plan)
    for step in told["steps"]:
        _drop_empty(step, "repository")
        for subtask in step["subtasks"]:
            _drop_empty(subtask, "agent")
            _drop_budget(subtask.get("agent"))
    return _digest("plan", told)


def _drop_empty(told: dict[str, Any], key: str) -> None:
    """Leave out what older versions did not know: what was approved there stays approved."""
    if told[key] is None:
        del told[key]


def _drop_budget(work: dict[str, Any] | None) -> None:
    if work is not None:
        _drop_empty(work, "cost_budget")


def _sort_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _digest(kind: str, content: object) -> str:
    return hashlib.sha256(_canonical_bytes(kind, content)).hexdigest()


def _canonical_bytes(kind: str, content: object) -> bytes:
    """JSON marks where each text ends, so different contents never give the same bytes.

    A set is written in order.
    """
    written = json.dumps(
        [kind, content], sort_keys=True, separators=(",", ":"), allow_nan=False, default=sorted
    )
    return written.encode("ascii")
