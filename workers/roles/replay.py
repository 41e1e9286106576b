"""Repeats a recorded call with another model; the answer changes nothing."""

from dataclasses import asdict
from typing import Any

from shared.contracts.agent_answers import offer_agents
from shared.contracts.schemas import schema_of
from shared.domain.errors import Rejected
from shared.domain.next_step import NextStep
from shared.secrets.installation import own_secrets
from shared.secrets.vaults.opening import open_vaults
from shared.settings import Settings
from shared.store import model_calls
from shared.store.database import Database
from workers.llm.answer_form import why_refused
from workers.llm.calls import ModelQuestion, Speaker, Turn
from workers.llm.model import LanguageModel
from workers.llm.prices import Prices
from workers.llm.settings import LlmSettings
from workers.roles.model_calls import CallContext, ModelCalls
from workers.secrets import Secrecy

_SCHEMAS = {
    "refine": "refine-answer",
    "plan": "plan-answer",
    "detail": "detail-answer",
    "revise": "revision-answer",
    "replan": "plan-answer",
    "advise": "advice-answer",
}
"""The schema of the answer, by the purpose of the call."""


def replay(settings: Settings, number: int, model: str, environ: dict[str, str]) -> dict[str, Any]:
    """Ask `model` the question of call `number`; returns both answers and the tokens used.

    In `refused` is why the new answer would not be used, as far as the answer alone tells.

    The new call is recorded like any other and counts towards the caps. Raises Rejected if no such
    call is stored, and what a call to a model raises.
    """
    server = settings.server
    secrecy = Secrecy(open_vaults(server, environ), own_secrets(server))
    database = Database.of(server, pooled=False)
    try:
        with database.begin() as connection:
            row = model_calls.find(connection, number)
        if row is None or row.purpose not in _SCHEMAS:
            reason = f"no call {number} is stored that can be repeated"
            raise Rejected(reason, stage="replay", next_step=NextStep.of("task list"))
        calls = ModelCalls(database, Prices(server.model_prices), server.daily_cost_cap)
        asked = LanguageModel(LlmSettings.of(server), log=calls, mask=secrecy.text)
        context = CallContext(row.task_id, row.run_id, row.step, row.revision, replay_of=number)
        with calls.context(context):
            reply = asked.ask(_question(row, model))
    finally:
        database.close()
    return {
        "call": number,
        "kept": {"model": row.model, "answer": row.answer or ""},
        "replayed": {
            "model": model,
            "answer": secrecy.text(reply.text),
            "fault": "" if reply.fault is None else reply.fault.reason,
            "refused": "" if reply.fault else secrecy.text(_why_refused(row, reply.text)),
        },
        "usage": asdict(reply.usage),
    }


def _question(row: Any, model: str) -> ModelQuestion:
    """The stored question, without any rejected answer that followed it."""
    turns = tuple(
        Turn(Speaker(t["speaker"]), t["text"], tuple(t.get("breaks", ())))
        for t in row.question["turns"]
    )
    return ModelQuestion(
        purpose=row.purpose,
        role=row.role,
        prompt=row.prompt,
        model=model,
        system=tuple(row.question["system"]),
        turns=turns[:1],
        schema=offer_agents(
            schema_of(_SCHEMAS[row.purpose]),
            repositories=_offered(row, "repositories"),
            runners=_offered(row, "runners"),
        ),
        effort=row.effort,
        now=row.question.get("now", ""),
        repositories=_offered(row, "repositories"),
        runners=_offered(row, "runners"),
        next_step=NextStep.of("plan calls", f"T{row.task_id}"),
    )


def _offered(row: Any, what: str) -> tuple[str, ...]:
    """The names that an answer to the stored question may use."""
    return tuple(row.question.get(what, ()))


def _why_refused(row: Any, answer: str) -> str:
    return why_refused(row.purpose, answer, repositories=_offered(row, "repositories"))
