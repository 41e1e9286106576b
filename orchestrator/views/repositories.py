"""A repository, with what agents have needed there."""

from dataclasses import dataclass, fields

from sqlalchemy import Connection

from orchestrator.views.agent_figures import BudgetSuggestion
from orchestrator.views.agent_metrics import agent_metrics
from shared.domain.target import Repository
from shared.store import repositories

_NEWEST = 1000
"""The tasks that suggestions are made from."""


@dataclass(frozen=True, slots=True)
class RepositoryView(Repository):
    """A repository; `suggestions` are time budgets that fit what was done there (S4.58)."""

    suggestions: tuple[BudgetSuggestion, ...] = ()


def repository_view(connection: Connection, name: str) -> RepositoryView:
    """The repository of that name. Raises Rejected."""
    found = repositories.get(connection, name)
    known = {each.name: getattr(found, each.name) for each in fields(found)}
    metrics = agent_metrics(connection, newest=_NEWEST, repository=name)
    return RepositoryView(**known, suggestions=metrics.suggestions)
