"""The values that only the command line answers with: what acts return, put together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.access.chain import ChainFault
from orchestrator.embedded.log_files import LogLine
from orchestrator.views.approvals import ApprovalView
from orchestrator.views.cancellations import InHand
from orchestrator.views.projects import ProjectView
from orchestrator.views.report import Report
from orchestrator.views.values import RefValue


@dataclass(frozen=True, slots=True)
class Place:
    """A task or a step, and its phase."""

    ref: RefValue
    phase: str


@dataclass(frozen=True, slots=True)
class ProjectReport:
    """What has become of a project, as Markdown."""

    ref: RefValue
    status: str
    report: str


@dataclass(frozen=True, slots=True)
class Cancellation:
    """A cancelled task, and what workers had in hand."""

    ref: RefValue
    phase: str
    in_hand: tuple[InHand, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """A task, and its limits that were changed, by name."""

    ref: RefValue
    phase: str
    limits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResumedPlan:
    """A resumed task; `message` is the sentence of S1.17."""

    ref: RefValue
    phase: str
    message: str


@dataclass(frozen=True, slots=True)
class PlanApproval:
    """A task, the commands of its plan, and whether they are approved now."""

    ref: RefValue
    phase: str
    wanted: tuple[ApprovalView, ...]
    approved: bool


@dataclass(frozen=True, slots=True)
class Export:
    """A job made of a task: its text, and the file that holds it, if one was written."""

    ref: RefValue
    form: str
    job: str
    parameters: Mapping[str, str]
    file: str | None
    text: str


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The public half of a key."""

    public_key: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An entry of the audit; its hashes are hexadecimal."""

    seq: int
    at: str
    actor: str
    verb: str
    ref: str
    details: Mapping[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries of the audit, newest first; older ones follow after `next`, unless it is None."""

    entries: tuple[AuditLine, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """The anchor to keep, the number of entries, and the faults of the chain."""

    anchor: str
    entries: int
    faults: tuple[ChainFault, ...]


@dataclass(frozen=True, slots=True)
class SignedAttestation:
    """What a task proved, signed; `file` is where it was written, None if it was printed."""

    ref: RefValue
    file: str | None
    text: str


@dataclass(frozen=True, slots=True)
class FetchedBundle:
    """What a bundle says beside its patch; `file` has all of it, None if it was not written."""

    sha256: str
    size: int
    file: str | None
    meta: Mapping[str, Any]
    stats: Mapping[str, int] | None
    deliverables: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DatabaseVersion:
    """The version of the database, None when it is empty, and the one that is needed.

    `pending` lists what `db migrate` would add.
    """

    found: str | None
    needed: str
    pending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftCommand:
    """A command that runs on its host without a worker."""

    ref: RefValue
    command: str


@dataclass(frozen=True, slots=True)
class StoppedStack:
    """What was stopped: the process that held the data folder, None if there was none.

    `tasks` have not ended, and `commands` ran when they were last looked at, before the stop.
    """

    data_dir: str
    pid: int | None
    tasks: tuple[Place, ...] = ()
    commands: tuple[LeftCommand, ...] = ()


@dataclass(frozen=True, slots=True)
class LogLines:
    """Lines of log files, oldest first."""

    lines: tuple[LogLine, ...]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The task of the demo, the folder that was used, and the report; `project` if it is one."""

    ref: RefValue
    phase: str
    folder: str
    report: Report
    project: ProjectView | None = None
