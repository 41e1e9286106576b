"""The product as the bench uses it: everything on one machine, and a planner that has a script."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text

from orchestrator.acts.submission import Submission, submit
from orchestrator.embedded.stack import run_stack
from shared.domain.config import FixMemory, Policy
from shared.domain.host import Host
from shared.domain.plan import Plan
from shared.store import hosts
from shared.store.database import Database
from tests.fakes.model_server import Asked, Decides, ModelServer, Says, model_server
from workers.roles.guards import Guards

PATIENCE: Final = 180.0
"""Seconds after which a task has no end."""

LOOK_ROUNDS: Final = 2
"""How often a planner that may look does so, at most."""

_POLICY: Final = Path(__file__).with_name("policy.yaml")
_SHIPPED: Final = Guards()
"""The guard as it is without a policy of a site's own."""
_ENDS: Final = frozenset({"done", "error", "cancelled", "waiting"})
_CHARACTERS_PER_TOKEN: Final = 4

_RAN = text("""
    SELECT a.outcome, a.correction, a.command, a.reason, a.stderr
    FROM attempts a JOIN runs r ON r.id = a.run_id
    WHERE r.task_id = :id AND NOT a.look
        AND a.outcome IN ('ok', 'failed', 'check_failed', 'timed_out')
    ORDER BY a.id
""")
_BY_ITSELF = "SELECT count(*) FROM fix_uses WHERE task_id = :id"
_WHY = text("""
    SELECT reason FROM interventions WHERE task_id = :id ORDER BY id DESC LIMIT 1
""")
_SPENT = text("""
    SELECT count(*), coalesce(sum(input_tokens + cache_read_tokens + cache_written_tokens
        + output_tokens), 0)
    FROM model_calls WHERE task_id = :id
""")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a task ended, and what ran for it."""

    phase: str
    reason: str
    attempts: int
    seconds: float
    corrections: tuple[str, ...]
    asks_first: bool


@dataclass
class Ring:
    """A running family with its database; `model` is None where a real one is asked."""

    database: Database
    model: ModelServer | None

    def enrol(self, host: Host) -> None:
        """Enter a host."""
        with self.database.begin() as connection:
            hosts.save(connection, host)

    def carry_out(self, plan: Plan, target: str, policy: Policy) -> tuple[int, Ended]:
        """Submit a plan and wait for what becomes of it."""
        asked = Submission(plan.steps[0].title, (target,), policy, plan)
        begun = time.monotonic()
        task = submit(self.database, asked)
        while (phase := str(self._scalar("SELECT phase FROM tasks WHERE id = :id", task))) not in (
            _ENDS
        ):
            if time.monotonic() - begun > PATIENCE:
                phase = "without an end"
                break
            time.sleep(0.05)
        seconds = time.monotonic() - begun
        with self.database.begin() as connection:
            ran = connection.execute(_RAN, {"id": task}).all()
            why = connection.execute(_WHY, {"id": task}).scalar()
        corrections = tuple(
            dict.fromkeys(row.correction for row in ran if row.correction and row.outcome == "ok")
        )
        asks = any(
            not _SHIPPED((), target).judge(row.command).allowed
            for row in ran
            if row.correction and row.outcome == "ok"
        )
        return task, Ended(phase, _why(why, ran), len(ran), seconds, corrections, asks)

    def will_answer(self, answer: Callable[[Asked], Says], target: str) -> None:
        """Who revises a step on that host; a real model decides itself."""
        if self.model is not None:
            self.model.will(Decides(answer), wanted="RevisionAnswer", about=target)

    def acted_from_memory(self, task: int) -> bool:
        """Whether a revision of the task is the memory's own, without a planner."""
        return bool(self._scalar(_BY_ITSELF, task))

    def spent(self, task: int, target: str) -> tuple[int, int]:
        """Calls of the model for a task, and their tokens; those of a script are estimated."""
        if self.model is None:
            if self._scalar("SELECT to_regclass('model_calls')", task) is None:
                return 0, 0
            with self.database.begin() as connection:
                calls, tokens = connection.execute(_SPENT, {"id": task}).one()
            return int(calls), int(tokens)
        about = [asked for asked in self.model.asked if target in "\n".join(asked.said)]
        return len(about), sum(map(_tokens, about))

    def _scalar(self, query: str, task: int) -> Any:
        with self.database.autocommit() as connection:
            return connection.execute(text(query), {"id": task}).scalar()


def policy(*, corrections: bool, memory: bool, looks: bool) -> Policy:
    """What a task of the bench runs under."""
    return Policy(
        auto_correction_enabled=corrections,
        human_escalation_threshold=2,
        subtask_timeout=60.0,
        check_timeout=15.0,
        fix_memory=FixMemory.AUTO if memory else FixMemory.OFF,
        look_rounds=LOOK_ROUNDS if looks else 0,
    )


@contextlib.contextmanager
def ring(scratch: Path, *, scripted: bool) -> Iterator[Ring]:
    """Everything up; ended afterwards."""
    with contextlib.ExitStack() as stack:
        model = stack.enter_context(model_server()) if scripted else None
        environ = {
            **os.environ,
            "REPLAN_CONFIG": "",
            "REPLAN_THREADS": "8",
            "REPLAN_LOG_LEVEL": "warning",
            "REPLAN_GUARD_POLICY": str(_POLICY),
            **(model.environ if model is not None else {}),
        }
        services = stack.enter_context(run_stack(scratch / "data", environ))
        database = Database(services.database_url)
        stack.callback(database.close)
        yield Ring(database, model)


def _why(told: str | None, ran: Sequence[Any]) -> str:
    """What a person was told, and the last words of the command that failed last."""
    failed = next((row for row in reversed(ran) if row.outcome != "ok"), None)
    if failed is None:
        return told or ""
    words = failed.stderr.strip().rpartition("\n")[2]
    return f"{told or ''} ({failed.command}: {failed.reason}: {words})"


def _tokens(asked: Asked) -> int:
    return len(json.dumps(asked.body)) // _CHARACTERS_PER_TOKEN
