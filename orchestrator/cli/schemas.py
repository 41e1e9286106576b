"""The JSON Schema of every command's output: the envelope with the details of its kind."""

from typing import Any

from pydantic import TypeAdapter

from orchestrator.access.chain import ChainFault
from orchestrator.access.tokens import Token
from orchestrator.acts.fixes import NamedFix
from orchestrator.acts.hosts import Enrolment, HostCheck, NamedHost
from orchestrator.acts.tokens import IssuedToken, NamedToken
from orchestrator.doctor import Finding
from orchestrator.envelope import SCHEMA_VERSION
from orchestrator.views.approvals import ApprovalView
from orchestrator.views.attempts import AttemptLine, AttemptList, AttemptView
from orchestrator.views.cancellations import InHand
from orchestrator.views.fixes import FixLine, FixList, FixView
from orchestrator.views.interventions import InterventionList, InterventionView
from orchestrator.views.plans import BundleView, PlanView
from orchestrator.views.report import Report
from orchestrator.views.spending import CallLine, CallList
from orchestrator.views.steps import StepView
from orchestrator.views.tasks import TaskLine, TaskList, TaskView
from orchestrator.words.messages import Message
from shared.domain.host import Host
from shared.secrets.vaults.vault import Entry

_TEXT = {"type": "string"}
_OPEN = {"type": "object"}
_NULLABLE = {"type": ["string", "null"]}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list_of(name: str, item: Any) -> dict[str, Any]:
    return _object(**{name: {"type": "array", "items": item}})


def _entries() -> dict[str, Any]:
    following = {"type": ["integer", "null"]}
    return _object(entries={"type": "array", "items": _ENTRY}, next=following)


def _view(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema(mode="serialization")


def _views(name: str, kind: Any) -> dict[str, Any]:
    return _list_of(name, _view(kind))


def _demo() -> dict[str, Any]:
    return _object(ref=_TEXT, phase=_TEXT, folder=_TEXT, report=_view(Report))


def _cancellation() -> dict[str, Any]:
    ended = {"type": "array", "items": _view(InHand)}
    return _object(ref=_TEXT, phase=_TEXT, in_hand=ended)


def _plan_approval() -> dict[str, Any]:
    wanted = {"type": "array", "items": _view(ApprovalView)}
    return _object(ref=_TEXT, phase=_TEXT, approved={"type": "boolean"}, wanted=wanted)


def _verification() -> dict[str, Any]:
    faults = {"type": "array", "items": _view(ChainFault)}
    return _object(anchor=_TEXT, entries={"type": "integer"}, faults=faults)


_ANSWER = _object(model=_TEXT, answer=_TEXT)
_SETTING = _object(scope=_TEXT, key=_TEXT, source=_TEXT)
_PLACE = _object(ref=_TEXT, phase=_TEXT)
_ENTRY = _object(
    seq={"type": "integer"},
    at=_TEXT,
    actor=_TEXT,
    verb=_TEXT,
    ref=_TEXT,
    details=_OPEN,
    previous=_TEXT,
    hash=_TEXT,
)

DETAILS: dict[str, Any] = {
    "task.submit": lambda: _object(ref=_TEXT, targets={"type": "array", "items": _TEXT}),
    "task.list": lambda: _view(TaskList),
    "task.show": lambda: _view(TaskView),
    "task.watch": lambda: _view(TaskView),
    "task.cancel": _cancellation,
    "task.resume": lambda: _PLACE,
    "task.limit": lambda: _object(ref=_TEXT, phase=_TEXT, limits=_OPEN),
    "plan.resume": lambda: _object(ref=_TEXT, phase=_TEXT, message=_TEXT),
    "task.report": lambda: _view(Report),
    "task.export": lambda: _object(
        ref=_TEXT, form=_TEXT, job=_TEXT, parameters=_OPEN, file=_NULLABLE, text=_TEXT
    ),
    "plan.show": lambda: _view(PlanView),
    "plan.provide": lambda: _PLACE,
    "plan.calls": lambda: _view(CallList),
    "plan.replay": lambda: _object(
        ref=_TEXT, call={"type": "integer"}, kept=_ANSWER, replayed=_ANSWER, usage=_OPEN
    ),
    "plan.approve": _plan_approval,
    "step.show": lambda: _view(StepView),
    "step.revise": lambda: _PLACE,
    "step.abandon": lambda: _PLACE,
    "attempt.list": lambda: _view(AttemptList),
    "attempt.show": lambda: _view(AttemptView),
    "attempt.tail": lambda: _view(AttemptView),
    "attempt.cancel": lambda: _view(AttemptLine),
    "bundle.show": lambda: _view(BundleView),
    "bundle.send": lambda: _PLACE,
    "intervention.list": lambda: _view(InterventionList),
    "intervention.show": lambda: _view(InterventionView),
    "intervention.answer": lambda: _object(
        ref=_TEXT, phase=_TEXT, intervention=_TEXT, answer=_TEXT
    ),
    "intervention.approve": lambda: _object(
        ref=_TEXT, phase=_TEXT, intervention=_TEXT, answer=_TEXT
    ),
    "intervention.deny": lambda: _object(ref=_TEXT, phase=_TEXT, intervention=_TEXT, answer=_TEXT),
    "intervention.key": lambda: _object(public_key=_TEXT),
    "fix.list": lambda: _view(FixList),
    "fix.show": lambda: _view(FixView),
    "fix.retire": lambda: _view(NamedFix),
    "fix.restore": lambda: _view(NamedFix),
    "fix.edit": lambda: _view(NamedFix),
    "host.add": lambda: _view(Enrolment),
    "host.list": lambda: _views("hosts", Host),
    "host.check": lambda: _view(HostCheck),
    "host.remove": lambda: _view(NamedHost),
    "secret.list": lambda: _views("secrets", Entry),
    "secret.check": lambda: _view(Entry),
    "secret.set": lambda: _view(Entry),
    "token.create": lambda: _view(IssuedToken),
    "token.rotate": lambda: _view(IssuedToken),
    "token.list": lambda: _views("tokens", Token),
    "token.revoke": lambda: _view(NamedToken),
    "audit.list": _entries,
    "audit.verify": _verification,
    "doctor": lambda: _views("findings", Finding),
    "config.show": lambda: _list_of("settings", _SETTING),
    "guard.check": lambda: _OPEN,
    "guard.rules": lambda: _OPEN,
    "schema.show": lambda: _OPEN,
    "db.migrate": lambda: _object(found=_TEXT, needed=_TEXT),
    "db.status": lambda: _object(found=_NULLABLE, needed=_TEXT),
    "worker.start": lambda: _OPEN,
    "coordinator.start": lambda: _OPEN,
    "up": lambda: _OPEN,
    "demo": _demo,
    "replan": lambda: _OPEN,
    "task.message": lambda: _view(Message),
    "task.line": lambda: _view(TaskLine),
    "plan.line": lambda: _view(CallLine),
    "attempt.line": lambda: _view(AttemptLine),
    "intervention.line": lambda: _view(InterventionView),
    "fix.line": lambda: _view(FixLine),
    "host.line": lambda: _view(Host),
    "config.line": lambda: _SETTING,
    "secret.line": lambda: _view(Entry),
    "token.line": lambda: _view(Token),
    "audit.line": lambda: _ENTRY,
    "doctor.line": lambda: _view(Finding),
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
