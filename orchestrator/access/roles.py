"""Which role may do which verb: one table, for every face. Nothing here but values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import Blank, NextStep


class AccessRole(StrEnum):
    """What somebody may do; each role may do whatever those before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    ADMIN = "admin"

    def covers(self, needed: "AccessRole") -> bool:
        """Whether this role may do what that one may."""
        order = list(AccessRole)
        return order.index(self) >= order.index(needed)


def parse_role(text: str) -> AccessRole:
    """The role of that name. Raises Rejected, with the names there are."""
    known = {role.value: role for role in AccessRole}
    if text not in known:
        raise Rejected(
            f"{text!r} is no role; there are {', '.join(known)}",
            stage="input",
            next_step=NextStep.of("token create", help=True),
        )
    return known[text]


@dataclass(frozen=True, slots=True)
class Permission:
    """What a verb takes: the least role. One that `changes` does more than look: it is audited."""

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
    "task.report": _LOOK,
    "task.export": _LOOK,
    "plan.show": _LOOK,
    "plan.calls": _LOOK,
    "step.show": _LOOK,
    "attempt.list": _LOOK,
    "attempt.show": _LOOK,
    "attempt.tail": _LOOK,
    "bundle.show": _LOOK,
    "intervention.list": _LOOK,
    "intervention.show": _LOOK,
    "fix.list": _LOOK,
    "fix.show": _LOOK,
    "host.list": _LOOK,
    "config.show": _LOOK,
    "guard.check": _LOOK,
    "guard.rules": _LOOK,
    "schema.show": _LOOK,
    "db.status": _LOOK,
    "plan.replay": _ACT,  # it costs money
    "host.check": _ACT,  # it logs in
    "doctor": Permission(AccessRole.OPERATOR),
    "task.submit": _ACT,
    "task.cancel": _ACT,
    "task.resume": _ACT,
    "task.limit": _ACT,
    "plan.resume": _ACT,
    "plan.provide": _ACT,
    "step.revise": _ACT,
    "step.abandon": _ACT,
    "bundle.send": _ACT,
    "attempt.cancel": _ACT,
    "intervention.answer": _ACT,
    "fix.retire": _ACT,
    "fix.restore": _ACT,
    "fix.edit": _APPROVE,
    "intervention.approve": _APPROVE,
    "intervention.deny": _APPROVE,
    "plan.approve": _APPROVE,
    "host.add": _RULE,
    "host.remove": _RULE,
    "token.create": _RULE,
    "token.rotate": _RULE,
    "token.revoke": _RULE,
    "token.list": Permission(AccessRole.ADMIN),
    "audit.list": Permission(AccessRole.ADMIN),
    "audit.verify": Permission(AccessRole.ADMIN),
}
"""Every verb that a token may ever stand for."""

ON_THE_MACHINE: Final = frozenset(
    {
        *("db.migrate", "worker.start", "coordinator.start", "up", "demo"),
        *("secret.list", "secret.check", "secret.set", "intervention.key"),
    }
)
"""What only an account on the machine can do, whatever its token says.

It starts processes there, or looks into the vaults and keys of that machine.
"""


def require(role: AccessRole, verb: str) -> None:
    """Return when the role may do the verb.

    Raises Rejected when it may not, and Misconfigured when the verb is for nobody but an account
    on the machine, or is none: what the table does not name is never allowed.
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
