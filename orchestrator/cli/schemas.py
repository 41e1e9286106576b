"""The JSON Schema of every command's output: the envelope with the details of its kind."""

from typing import Any

from pydantic import TypeAdapter

from orchestrator.access.tokens import Token
from orchestrator.acts.backlogs import BuiltPlan
from orchestrator.acts.config import SettingExplained, SettingLine
from orchestrator.acts.deliveries import Accepted
from orchestrator.acts.fixes import NamedFix
from orchestrator.acts.guard_learning import LearnedRules
from orchestrator.acts.guard_preview import CommandPreview
from orchestrator.acts.guard_tests import PolicyTests
from orchestrator.acts.hosts import Enrolment, HostCheck, NamedHost
from orchestrator.acts.interventions import Answered
from orchestrator.acts.patch_store import StoreVerification
from orchestrator.acts.projects import StartedProject
from orchestrator.acts.repairs import AttemptRepair
from orchestrator.acts.repositories import NamedRepository, RepositoryCheck
from orchestrator.acts.runbooks import RunbookLine, RunbookList, RunbookView
from orchestrator.acts.secret_grants import GivenSecret, SecretScope
from orchestrator.acts.sessions import CheckpointPlan, OpenedSession
from orchestrator.acts.signing import SigningKey
from orchestrator.acts.status import Overview
from orchestrator.acts.tasks import Submitted
from orchestrator.acts.tokens import IssuedToken, NamedToken
from orchestrator.acts.worktree_repairs import WorktreeRepair
from orchestrator.cli.answers import (
    AuditLine,
    AuditPage,
    AuditVerification,
    Cancellation,
    DatabaseVersion,
    Demonstration,
    Export,
    FetchedBundle,
    Limits,
    LogLines,
    Place,
    PlanApproval,
    ProjectReport,
    PublicKey,
    ResumedPlan,
    SignedAttestation,
    StoppedStack,
)
from orchestrator.cli.help_command import Help
from orchestrator.doctor import Finding
from orchestrator.embedded.log_files import LogLine
from orchestrator.envelope import SCHEMA_VERSION
from orchestrator.export.attestation import Attestation
from orchestrator.views.agent_figures import AgentRun
from orchestrator.views.agent_metrics import AgentMetrics
from orchestrator.views.at_work import AtWork, LiveChange
from orchestrator.views.attempts import AttemptLine, AttemptList, AttemptView
from orchestrator.views.deliveries import DeliveryLine, DeliveryList, DeliveryView
from orchestrator.views.fixes import FixLine, FixList, FixView
from orchestrator.views.host_details import HostDetails
from orchestrator.views.interventions import InterventionList, InterventionView
from orchestrator.views.logs import LoggedAttempt, TaskLogs
from orchestrator.views.plans import BundleView, PlanView
from orchestrator.views.processes import Processes, ProcessLine
from orchestrator.views.projects import ProjectLine, ProjectList, ProjectView
from orchestrator.views.report import Report
from orchestrator.views.repositories import RepositoryView
from orchestrator.views.sessions import (
    CheckpointLine,
    SessionLine,
    SessionList,
    SessionView,
    WorktreeLine,
)
from orchestrator.views.spending import CallLine, CallList
from orchestrator.views.standing_steps import RunPass
from orchestrator.views.steps import StepView
from orchestrator.views.task_lists import TaskLine, TaskList
from orchestrator.views.tasks import TaskView
from orchestrator.words.messages import Message
from shared.domain.host import Host
from shared.domain.patch_store import GcReport, Stored
from shared.domain.target import Repository
from shared.secrets.vaults.vault import Entry

_OPEN = {"type": "object"}
_TEXT = {"type": "string"}


def _view(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema(mode="serialization")


def _views(name: str, kind: Any) -> dict[str, Any]:
    listed = {name: {"type": "array", "items": _view(kind)}}
    return {"type": "object", "properties": listed, "required": [name]}


def _replay() -> dict[str, Any]:
    """What a worker process answers; only the orchestrator's part of it is promised."""
    said = {"type": "object", "properties": {"model": _TEXT, "answer": _TEXT}}
    said["required"] = ["model", "answer"]
    parts = {"ref": _TEXT, "call": {"type": "integer"}, "kept": said, "replayed": said}
    parts["usage"] = _OPEN
    return {"type": "object", "properties": parts, "required": list(parts)}


DETAILS: dict[str, Any] = {
    "task.submit": lambda: _view(Submitted),
    "task.list": lambda: _view(TaskList),
    "task.show": lambda: _view(TaskView),
    "task.watch": lambda: _view(TaskView),
    "task.logs": lambda: _view(TaskLogs),
    "task.cancel": lambda: _view(Cancellation),
    "task.resume": lambda: _view(Place),
    "task.limit": lambda: _view(Limits),
    "plan.resume": lambda: _view(ResumedPlan),
    "task.report": lambda: _view(Report),
    "task.export": lambda: _view(Export),
    "plan.show": lambda: _view(PlanView),
    "plan.provide": lambda: _view(Place),
    "plan.revise": lambda: _view(Place),
    "plan.build": lambda: _view(BuiltPlan),
    "plan.calls": lambda: _view(CallList),
    "plan.replay": _replay,
    "plan.approve": lambda: _view(PlanApproval),
    "step.show": lambda: _view(StepView),
    "step.revise": lambda: _view(Place),
    "step.raise": lambda: _view(Place),
    "step.abandon": lambda: _view(Place),
    "attempt.list": lambda: _view(AttemptList),
    "attempt.show": lambda: _view(AttemptView),
    "attempt.run": lambda: _view(RunPass),
    "repair.attempt": lambda: _view(AttemptRepair),
    "repair.worktree": lambda: _view(WorktreeRepair),
    "attempt.tail": lambda: _view(AttemptView),
    "attempt.cancel": lambda: _view(AttemptLine),
    "bundle.show": lambda: _view(BundleView),
    "bundle.send": lambda: _view(Place),
    "intervention.list": lambda: _view(InterventionList),
    "intervention.show": lambda: _view(InterventionView),
    "intervention.answer": lambda: _view(Answered),
    "intervention.approve": lambda: _view(Answered),
    "intervention.deny": lambda: _view(Answered),
    "intervention.key": lambda: _view(SigningKey),
    "session.open": lambda: _view(OpenedSession),
    "session.list": lambda: _view(SessionList),
    "session.status": lambda: _view(SessionView),
    "session.close": lambda: _view(SessionView),
    "delivery.list": lambda: _view(DeliveryList),
    "delivery.show": lambda: _view(DeliveryView),
    "accept.run": lambda: _view(Accepted),
    "checkpoint.run": lambda: _view(CheckpointPlan),
    "checkpoint.list": lambda: _views("checkpoints", CheckpointLine),
    "checkpoint.show": lambda: _view(CheckpointLine),
    "worktree.list": lambda: _views("worktrees", WorktreeLine),
    "fix.list": lambda: _view(FixList),
    "fix.show": lambda: _view(FixView),
    "fix.retire": lambda: _view(NamedFix),
    "fix.restore": lambda: _view(NamedFix),
    "fix.edit": lambda: _view(NamedFix),
    "project.start": lambda: _view(StartedProject),
    "project.status": lambda: _view(ProjectView),
    "project.list": lambda: _view(ProjectList),
    "project.pause": lambda: _view(ProjectView),
    "project.resume": lambda: _view(ProjectView),
    "project.report": lambda: _view(ProjectReport),
    "host.add": lambda: _view(Enrolment),
    "host.list": lambda: _views("hosts", Host),
    "host.show": lambda: _view(HostDetails),
    "host.check": lambda: _view(HostCheck),
    "host.remove": lambda: _view(NamedHost),
    "host.label": lambda: _view(NamedHost),
    "repo.add": lambda: _view(RepositoryCheck),
    "repo.list": lambda: _views("repositories", Repository),
    "repo.show": lambda: _view(RepositoryView),
    "repo.check": lambda: _view(RepositoryCheck),
    "repo.remove": lambda: _view(NamedRepository),
    "secret.list": lambda: _views("secrets", Entry),
    "secret.check": lambda: _view(Entry),
    "secret.set": lambda: _view(Entry),
    "secret.give": lambda: _view(GivenSecret),
    "secret.scope": lambda: _view(SecretScope),
    "token.create": lambda: _view(IssuedToken),
    "token.rotate": lambda: _view(IssuedToken),
    "token.list": lambda: _views("tokens", Token),
    "token.revoke": lambda: _view(NamedToken),
    "audit.list": lambda: _view(AuditPage),
    "attestation.create": lambda: _view(SignedAttestation),
    "attestation.key": lambda: _view(PublicKey),
    "attestation.verify": lambda: _view(Attestation),
    "store.put": lambda: _view(Stored),
    "store.get": lambda: _view(FetchedBundle),
    "store.verify": lambda: _view(StoreVerification),
    "store.gc": lambda: _view(GcReport),
    "audit.verify": lambda: _view(AuditVerification),
    "watch": lambda: _view(AtWork),
    "status": lambda: _view(Overview),
    "worker.list": lambda: _view(Processes),
    "help": lambda: _view(Help),
    "doctor": lambda: _views("findings", Finding),
    "metrics": lambda: _view(AgentMetrics),
    "runbook.list": lambda: _view(RunbookList),
    "runbook.show": lambda: _view(RunbookView),
    "config.show": lambda: _views("settings", SettingLine),
    "config.explain": lambda: _view(SettingExplained),
    "guard.check": lambda: _OPEN,
    "guard.preview": lambda: _view(CommandPreview),
    "guard.rules": lambda: _OPEN,
    "guard.test": lambda: _view(PolicyTests),
    "guard.learn": lambda: _view(LearnedRules),
    "schema.show": lambda: _OPEN,
    "db.migrate": lambda: _view(DatabaseVersion),
    "db.status": lambda: _view(DatabaseVersion),
    "worker.start": lambda: _OPEN,
    "gateway.start": lambda: _OPEN,
    "coordinator.start": lambda: _OPEN,
    "up": lambda: _OPEN,
    "down": lambda: _view(StoppedStack),
    "logs": lambda: _view(LogLines),
    "demo": lambda: _view(Demonstration),
    "replan": lambda: _OPEN,
    "task.message": lambda: _view(Message),
    "task.line": lambda: _view(TaskLine),
    "runbook.line": lambda: _view(RunbookLine),
    "plan.line": lambda: _view(CallLine),
    "attempt.line": lambda: _view(AttemptLine),
    "log.line": lambda: _view(LoggedAttempt),
    "intervention.line": lambda: _view(InterventionView),
    "session.line": lambda: _view(SessionLine),
    "delivery.line": lambda: _view(DeliveryLine),
    "checkpoint.line": lambda: _view(CheckpointLine),
    "worktree.line": lambda: _view(WorktreeLine),
    "fix.line": lambda: _view(FixLine),
    "project.line": lambda: _view(ProjectLine),
    "host.line": lambda: _view(Host),
    "repo.line": lambda: _view(Repository),
    "config.line": lambda: _view(SettingLine),
    "secret.line": lambda: _view(Entry),
    "token.line": lambda: _view(Token),
    "audit.line": lambda: _view(AuditLine),
    "watch.line": lambda: _view(LiveChange),
    "worker.line": lambda: _view(ProcessLine),
    "doctor.line": lambda: _view(Finding),
    "metrics.line": lambda: _view(AgentRun),
    "logs.line": lambda: _view(LogLine),
}
"""Each kind of answer with the schema of its details; a `…line` is an item of a list in `jsonl`."""


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind of answer; raises KeyError for an unknown one."""
    definitions: dict[str, Any] = {}
    details = _without_definitions(DETAILS[kind](), definitions)
    nullable = {"type": ["string", "null"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind,
        "type": "object",
        "properties": {
            "schema_version": {"const": SCHEMA_VERSION},
            "kind": {"const": kind},
            "ok": {"type": "boolean"},
            "stage": nullable,
            "reason": nullable,
            "next_step_cmd": nullable,
            "details": {"anyOf": [details, {"type": "null"}]},
        },
        "required": ["schema_version", "kind", "ok", "stage", "reason", "next_step_cmd", "details"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _without_definitions(schema: Any, found: dict[str, Any]) -> Any:
    """The schema without definitions; they go to `found`, because references start at the root."""
    if isinstance(schema, list):
        return [_without_definitions(part, found) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: _without_definitions(part, found) for name, part in schema.items()}
    found |= parts.pop("$defs", {})
    return parts
