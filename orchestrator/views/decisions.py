"""People's decisions about a task: who, when, and what they wrote (S0.80)."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.access import audit
from orchestrator.access.chain import AuditEntry
from orchestrator.views.values import RefValue
from shared.domain.ids import Ref, parse_ref

MOST = 10_000
"""At most this many acts are shown."""

_CLOCKS = timedelta(seconds=1)
"""A coordinator's transaction may have begun before that of the act."""

_FACTS = {
    "step.revise": ("RevisionRequested", "StepRevised"),
    "bundle.send": ("BundleSent",),
    "intervention.deny": ("ApprovalDenied",),
    "intervention.answer": ("QuestionAnswered", "OutcomeTold", "RecordsSettled"),
}
"""The facts that contain the words of an act."""

_SAID = text("""
    SELECT events.id, events.at, events.kind, events.body, runs.target
    FROM events LEFT JOIN runs ON runs.id = events.run_id
    WHERE events.task_id = :task_id AND events.kind = ANY(:kinds)
    ORDER BY events.id
""")


@dataclass(frozen=True, slots=True)
class HumanDecision:
    """An act of a person, by its verb; `said` is the note or the answer that came with it.

    `details` are those of the audit entry, by name.
    """

    at: datetime
    by: str
    verb: str
    ref: RefValue
    details: Mapping[str, Any]
    said: str = ""


def human_decisions(connection: Connection, ref: Ref) -> tuple[HumanDecision, ...]:
    """Every act of a person on a task, or on its run on one target, oldest first."""
    kinds = [kind for named in _FACTS.values() for kind in named]
    told = connection.execute(_SAID, {"task_id": ref.task, "kinds": kinds}).all()
    entries = audit.newest(connection, limit=MOST, ref=str(ref.of_task()))
    return tuple(_decisions(reversed(entries), told, ref.target))


def _decisions(
    entries: Iterable[AuditEntry], told: Sequence[Any], target: str | None
) -> Iterator[HumanDecision]:
    unused = list(told)
    for entry in entries:
        place, details = parse_ref(entry.ref), json.loads(entry.details)
        if target is not None and place.target not in {None, target}:
            continue
        event = next((row for row in unused if _belongs(row, entry, place)), None)
        if event is not None:
            unused.remove(event)
        said = "" if event is None else _words(event.body)
        yield HumanDecision(entry.at, entry.actor, entry.verb, place, details, said)


def _belongs(row: Any, entry: AuditEntry, place: Ref) -> bool:
    """Whether the event contains the words of the act."""
    if row.kind not in _FACTS.get(entry.verb, ()) or row.at < entry.at - _CLOCKS:
        return False
    if row.kind == "StepRevised" and row.body.get("fix") is not None:
        return False
    return (row.body.get("step"), row.target) == (place.step, place.target)


def _words(body: Mapping[str, Any]) -> str:
    return str(body.get("note") or body.get("answer") or body.get("reason") or "")
