"""What people do to the fix memory; each act stands in the audit."""

from sqlalchemy import Connection

from orchestrator.access import audit
from orchestrator.access.actor import Actor
from orchestrator.access.audit import Act
from orchestrator.learning import holds_secret
from orchestrator.views.fixes import require_fix
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep
from shared.domain.plan import Subtask
from shared.store import fixes


def retire(connection: Connection, actor: Actor, number: int, note: str = "") -> None:
    """Let a fix be offered no more. Raises Rejected when there is none, or it is retired."""
    because = f"retired by {actor.name}" + (f": {note}" if note else "")
    if require_fix(connection, number).retired_at or not fixes.retire(connection, number, because):
        raise _refused(number, "is retired already", NextStep.of("fix list"))
    audit.record(connection, actor, Act("fix.retire", f"F{number}", {"note": note}))


def restore(connection: Connection, actor: Actor, number: int) -> None:
    """Let a retired fix be offered again, its uses counted afresh. Raises Rejected."""
    require_fix(connection, number)
    if not fixes.restore(connection, number):
        raise _refused(number, "is not retired", NextStep.of("fix show", f"F{number}"))
    audit.record(connection, actor, Act("fix.restore", f"F{number}"))


def edit(
    connection: Connection, actor: Actor, number: int, replacement: tuple[Subtask, ...]
) -> None:
    """Put other subtasks into a fix, its uses counted afresh.

    Raises Rejected when there is none, when something in them has the form of a secret, and when
    another fix is just that already.
    """
    known = require_fix(connection, number)
    if holds_secret(replacement):
        raise Rejected(
            "something in it has the form of a secret: name it, ${secret:NAME}",
            stage="input",
            next_step=NextStep.of("secret set", Blank("NAME")),
        )
    if not fixes.edit(connection, known, replacement, author=f"human/{actor.name}"):
        raise _refused(
            number, "would be what another fix is already", NextStep.of("fix list", all=True)
        )
    commands = [subtask.command for subtask in replacement]
    audit.record(connection, actor, Act("fix.edit", f"F{number}", {"commands": commands}))


def _refused(number: int, told: str, next_step: NextStep) -> Rejected:
    return Rejected(f"F{number} {told}", stage="input", next_step=next_step)
