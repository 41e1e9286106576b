"""What a person may do with the fix memory: retire, restore and edit a fix."""

from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.typed_secrets import typed_text
from orchestrator.acts.verbs import act
from orchestrator.views.fixes import require_fix
from shared.contracts.planfile import load_revision
from shared.domain.errors import Rejected
from shared.domain.next_step import Blank, NextStep, edit_file
from shared.secrets.written import holds_secret
from shared.store import fixes


@dataclass(frozen=True, slots=True)
class NamedFix:
    """A fix by its name: `F7`."""

    ref: str


@act("fix.retire")
def retire(caller: Caller, number: int, note: str = "") -> Done[NamedFix]:
    """Stop offering a fix. Raises Rejected when it does not exist or is already retired."""
    typed = typed_text(caller)
    note = typed.masked(note)
    caller.remarks.extend(typed.notes)
    because = f"retired by {caller.actor.name}" + (f": {note}" if note else "")
    fix = _name(number)
    with caller.database.begin() as connection:
        known = require_fix(connection, number)
        if known.retired_at or not fixes.retire(connection, number, because):
            raise _refusal(number, "is already retired", NextStep.of("fix list"))
        audit.record(connection, caller.actor, Act("fix.retire", fix.ref, {"note": note}))
    return Done(fix)


@act("fix.restore")
def restore(caller: Caller, number: int) -> Done[NamedFix]:
    """Offer a retired fix again, with its counters at zero. Raises Rejected."""
    fix = _name(number)
    with caller.database.begin() as connection:
        require_fix(connection, number)
        if not fixes.restore(connection, number):
            raise _refusal(number, "is not retired", NextStep.of("fix show", fix.ref))
        audit.record(connection, caller.actor, Act("fix.restore", fix.ref))
    return Done(fix)


@act("fix.edit")
def edit(caller: Caller, number: int, given: PlanText) -> Done[NamedFix]:
    """Replace the subtasks of a fix and reset its counters; `given` has the form of a revision.

    Raises Rejected when there is no such fix, when a subtask contains what looks like a secret, and
    when another fix is already the same.
    """
    fix = _name(number)
    replacement = load_revision(
        given.text,
        policy=caller.settings.agent,
        source=given.source,
        next_step=edit_file(given.source),
    )
    with caller.database.begin() as connection:
        known = require_fix(connection, number)
        if any(subtask.agent is not None for subtask in replacement):
            raise _refusal(number, "cannot have the work of an agent", NextStep.of("fix list"))
        if holds_secret(replacement):
            raise Rejected(
                "it contains what looks like a secret: write ${secret:NAME} in its place",
                stage="input",
                next_step=NextStep.of("secret set", Blank("NAME")),
            )
        author = f"human/{caller.actor.name}"
        if not fixes.edit(connection, known, replacement, author=author):
            other = NextStep.of("fix list", all=True)
            raise _refusal(number, "would be the same as another fix", other)
        commands = [subtask.command for subtask in replacement]
        audit.record(connection, caller.actor, Act("fix.edit", fix.ref, {"commands": commands}))
    return Done(fix)


def _name(number: int) -> NamedFix:
    return NamedFix(f"F{number}")


def _refusal(number: int, why: str, next_step: NextStep) -> Rejected:
    return Rejected(f"F{number} {why}", stage="input", next_step=next_step)
