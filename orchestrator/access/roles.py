"""Which role may do which verb: one table, for every face. Nothing here but values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import Blank, NextStep


class AccessRole(StrEnum):
    """What somebody may do; each role includes those before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"

    def covers(self, needed: "AccessRole") -> bool:
        """Whether this role includes `needed`."""
        order = list(AccessRole)
        return order.index(self) >= order.index(needed)


def parse_role(text: str) -> AccessRole:
    """The role of that name. Raises Rejected, with the valid names."""
    known = {role.value: role for role in AccessRole}
    if text not in known:
        raise Rejected(
            f"{text!r} is not a valid role; use one of {', '.join(known)}",
            stage="input",
            next_step=NextStep.of("token create", help=True),
        )
    return known[text]


@dataclass(frozen=True, slots=True)
class Permission:
    """The lowest role that a verb requires. A verb that `changes` something is audited."""

    role: AccessRole
    changes: bool = False


_LOOK: Final = Permission(AccessRole.VIEWER)
_ACT: Final = Permission(AccessRole.OPERATOR, changes=True)
_APPROVE: Final = Permission(AccessRole.APPROVER, changes=True)
_RULE: Final = Permission(AccessRole.ADMIN, changes=True)

VERBS: Final[Mapping[str, Permission]] = {
    "task.list": _LOOK,
    "task.show": _LOOK,
    "task.watch": _LOOK,
    "task.logs": _LOOK,
    "task.report": _LOOK,
    "task.export": _LOOK,
    "watch": _LOOK,
    "status": _LOOK,
    "worker.list": _LOOK,
    "plan.show": _LOOK,
    "plan.calls": _LOOK,
    "step.show": _LOOK,
    "attempt.list": _LOOK,
    "attempt.show": _LOOK,
    "attempt.tail": _LOOK,
    "bundle.show": _LOOK,
    "intervention.list": _LOOK,
    "intervention.show": _LOOK,
    "session.list": _LOOK,
    "session.status": _LOOK,
    "delivery.list": _LOOK,
    "delivery.show": _LOOK,
    "checkpoint.list": _LOOK,
    "checkpoint.show": _LOOK,
    "worktree.list": _LOOK,
    "fix.list": _LOOK,
    "runbook.list": _LOOK,
    "runbook.show": _LOOK,
    "fix.show": _LOOK,
    "project.status": _LOOK,
    "project.list": _LOOK,
    "project.report": _LOOK,
    "host.list": _LOOK,
    "host.show": _LOOK,
    "repo.list": _LOOK,
    "repo.show": _LOOK,
    "config.show": _LOOK,
    "config.explain": _LOOK,
    "guard.check": _LOOK,
    "guard.rules": _LOOK,
    "guard.test": _LOOK,
    "guard.learn": _LOOK,
    "schema.show": _LOOK,
    "help": _LOOK,
    "db.status": _LOOK,
    "attestation.verify": _LOOK,
    "store.get": _LOOK,
    "store.verify": _LOOK,
    "metrics": _LOOK,
    "plan.replay": _ACT,  # it costs money
    "host.check": _ACT,  # it logs in
    "guard.preview": _ACT,
    "repo.check": _ACT,
    "doctor": Permission(AccessRole.OPERATOR),
    "task.submit": _ACT,
    "task.cancel": _ACT,
    "task.resume": _ACT,
    "task.limit": _ACT,
    "project.start": _ACT,
    "project.pause": _ACT,
    "project.resume": _ACT,
    "plan.resume": _ACT,
    "plan.provide": _ACT,
    "plan.revise": _ACT,
    "plan.build": _ACT,
    "step.revise": _ACT,
    "step.raise": _ACT,
    "step.abandon": _ACT,
    "bundle.send": _ACT,
    "attempt.cancel": _ACT,
    "attempt.run": _ACT,
    "repair.attempt": _ACT,
    "repair.worktree": _ACT,
    "intervention.answer": _ACT,
    "session.open": _ACT,
    "session.close": _ACT,
    "checkpoint.run": _ACT,
    "accept.run": _APPROVE,
    "fix.retire": _ACT,
    "fix.restore": _ACT,
    "store.put": _ACT,
    "fix.edit": _APPROVE,
    "intervention.approve": _APPROVE,
    "intervention.deny": _APPROVE,
    "plan.approve": _APPROVE,
    "secret.give": _APPROVE,
    "secret.scope": _RULE,
    "host.add": _RULE,
    "host.remove": _RULE,
    "host.label": _RULE,
    "repo.add": _RULE,
    "repo.remove": _RULE,
    "store.gc": _RULE,
    "token.create": _RULE,
    "token.rotate": _RULE,
    "token.revoke": _RULE,
    "token.list": Permission(AccessRole.ADMIN),
    "audit.list": Permission(AccessRole.ADMIN),
    "audit.verify": Permission(AccessRole.ADMIN),
}
"""Every verb that a token can allow."""

ON_THE_MACHINE: Final = frozenset(
    {
        *("db.migrate", "worker.start", "gateway.start", "coordinator.start", "up", "demo"),
        *("down", "logs"),
        *("secret.list", "secret.check", "secret.set"),
        *("intervention.key", "attestation.create", "attestation.key"),
    }
)
"""What only an account on the machine may do, never a token.

These verbs start processes there, or read the vaults and keys of that machine.
"""

_OPEN_TO_JOBS: Final = frozenset({"worker.start", "gateway.start", "coordinator.start", "up"})
_CLOSED_TO_JOBS: Final = frozenset(
    {"config.show", "config.explain", "token.list", "audit.list", "audit.verify"}
)


def open_to_jobs(verb: str) -> bool:
    """Whether a job of replan may do the verb: it may look, and start processes of its own.

    It may change nothing, and see nothing of settings, secrets, tokens, keys and the audit.
    """
    needed = VERBS.get(verb)
    if needed is None:
        return verb in _OPEN_TO_JOBS
    return not needed.changes and verb not in _CLOSED_TO_JOBS


def require(role: AccessRole, verb: str) -> None:
    """Return when the role may do the verb.

    Raises Rejected when it may not, and Misconfigured when the verb is only for an account on the
    machine, or is unknown: what the table does not name is never allowed.
    """
    needed = VERBS.get(verb)
    if needed is None:
        raise Misconfigured(
            f"{verb} cannot be done with a token: log in to the machine", stage="access"
        )
    if not role.covers(needed.role):
        raise Rejected(
            f"{verb} takes the role {needed.role.value}, and this is a {role.value}",
            stage="access",
            next_step=NextStep.of("token create", Blank("NAME"), role=needed.role.value),
        )
