"""The guard decides which commands may run: `Guard(load_site(None).for_host("web1")).judge(…)`."""

from shared.guard.guard import Guard
from shared.guard.plan_guard import PlanGuard
from shared.guard.policy.defaults import default_entries
from shared.guard.policy.hidden import hidden_variable
from shared.guard.policy.policy import (
    CommandPolicy,
    Forbidden,
    Site,
    load_site,
    looks,
    only_forbidden,
    planner_looks,
)
from shared.guard.policy.policy import shipped_forbidden as default_forbidden

__all__ = [
    "CommandPolicy",
    "Forbidden",
    "Guard",
    "PlanGuard",
    "Site",
    "default_entries",
    "default_forbidden",
    "hidden_variable",
    "load_site",
    "looks",
    "only_forbidden",
    "planner_looks",
]
