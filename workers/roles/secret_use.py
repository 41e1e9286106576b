"""A plan may name only the secrets that a person has given its task (X19)."""

from collections.abc import Callable

from shared.domain.facts import Fact, LooksRequested, StepRevised
from shared.domain.jobs import JobKind
from shared.domain.secret import named_anywhere
from shared.store import secret_grants
from shared.store.database import Database
from shared.wire import to_json
from workers.process.leases import Hold
from workers.store import task_brief

Perform = Callable[[Hold], Fact]

_BY_HAND = frozenset({"runbook", "human"})
"""Backends whose plans people have written: what these name is given."""


def uses_given_secrets(database: Database, perform: Perform) -> Perform:
    """The performer of a planning job; it raises Misconfigured for a secret that was not given."""

    def plan(hold: Hold) -> Fact:
        fact = perform(hold)
        # A look gets no secret, whoever names it: its planner is told so, and asks anew.
        if isinstance(fact, LooksRequested):
            return fact
        if names := named_anywhere(str(to_json(fact))):
            _require(database, hold, fact, names)
        return fact

    return plan


def _require(database: Database, hold: Hold, fact: Fact, names: frozenset[str]) -> None:
    job = hold.job
    with database.begin() as connection:
        policy = task_brief(connection, job.task_id).policy
        backend = policy.subtask_planner if job.kind is JobKind.DETAIL else policy.planner
        if isinstance(fact, StepRevised):
            backend = fact.author.backend
        if backend in _BY_HAND:
            secret_grants.give(connection, job.task_id, names, by=backend, step=job.step)
        secret_grants.require_given(connection, job.task_id, job.step, names)
