"""The fix memory as people see it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from orchestrator.views.values import RefValue
from shared.domain.errors import Rejected
from shared.domain.fix import Proof
from shared.domain.ids import Ref
from shared.domain.next_step import NextStep
from shared.domain.plan import Subtask
from shared.guard.remembered import Obstacle, ObstacleKind, harm, unproven
from shared.store import fixes
from shared.store.fixes import StoredFix


@dataclass(frozen=True, slots=True)
class FixLine:
    """A fix: what it is for, and how well it worked.

    `failure` is what failed, in its normal form, on hosts of the kind `family`; `learnt` counts how
    often a planner or a person found it, `offered` its uses, `worked` and `failed` their results.
    """

    id: int
    ref: str
    family: str
    failure: tuple[str, ...]
    reason: str
    author: str
    learnt_from: str
    learnt: int
    offered: int
    worked: int
    failed: int
    created_at: datetime
    retired_at: datetime | None
    retired_because: str


@dataclass(frozen=True, slots=True)
class FixUse:
    """A step that the fix was offered to; `worked` is None until a pass has ended."""

    ref: RefValue
    revision: int
    offered_at: datetime
    worked: bool | None


@dataclass(frozen=True, slots=True)
class FixView:
    """A fix with what it replaces, the replacement, and its uses, newest first.

    `proofs` are the steps that it put right under the eye of their author. `obstacles` say why it
    is only a hint to planners, wherever a step fails like that; without any, it is carried out by
    itself on hosts with the labels in `scopes`, if the failed step names all that it names.
    """

    fix: FixLine
    replaces: tuple[Subtask, ...]
    replacement: tuple[Subtask, ...]
    uses: tuple[FixUse, ...]
    proofs: tuple[Proof, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    scopes: tuple[str, ...] = ()


USES_SHOWN = 20

_USES = text("""
    SELECT uses.*, runs.target FROM fix_uses AS uses LEFT JOIN runs ON runs.id = uses.run_id
    WHERE uses.fix_id = :id ORDER BY uses.id DESC LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class FixList:
    """Fixes by number; there are more after `next`, unless it is None."""

    fixes: tuple[FixLine, ...]
    next: int | None = None


def list_fixes(
    connection: Connection, *, limit: int, every: bool = False, after: int | None = None
) -> FixList:
    """The fixes by number, at most `limit`; with `after`, those with greater numbers.

    With `every`, the retired ones too.
    """
    found = fixes.page(connection, limit=limit + 1, every=every, after=after or 0)
    lines = tuple(map(_line, found[:limit]))
    return FixList(lines, next=lines[-1].id if len(found) > limit else None)


def fix_view(connection: Connection, number: int) -> FixView:
    """A fix; raises Rejected when no fix has that number."""
    known = require_fix(connection, number)
    used = connection.execute(_USES, {"id": number, "limit": USES_SHOWN})
    return FixView(
        fix=_line(known),
        replaces=known.fix.replaced,
        replacement=known.fix.replacement,
        uses=tuple(
            FixUse(
                Ref(row.task_id, row.step, target=row.target),
                row.revision,
                row.offered_at,
                row.worked,
            )
            for row in used
        ),
        proofs=known.proofs,
        obstacles=obstacles(known),
        scopes=tuple(
            dict.fromkeys(p.scope for p in known.proofs if not unproven(known.proofs, p.scope))
        ),
    )


def obstacles(known: StoredFix) -> tuple[Obstacle, ...]:
    """What stands against carrying out a fix by itself, on whatever host."""
    worked, failed = known.recent
    return (
        *harm(known.fix.replaced, known.fix.replacement),
        *([Obstacle(ObstacleKind.VAGUE)] if known.vague else []),
        *unproven(known.proofs),
        *([Obstacle(ObstacleKind.FAILED)] if failed > worked else []),
    )


def require_fix(connection: Connection, number: int) -> StoredFix:
    """The fix of that number; raises Rejected when there is none."""
    known = fixes.find(connection, number)
    if known is None:
        raise Rejected(
            f"there is no fix F{number}", stage="input", next_step=NextStep.of("fix list", all=True)
        )
    return known


def parse_fix(text: str) -> int:
    """The number in `F7` or `7`; raises Rejected for any other text."""
    digits = text[1:] if text[:1] in {"F", "f"} else text
    if not (digits.isdecimal() and digits.isascii() and 0 < len(digits) < 18):  # noqa: PLR2004
        raise Rejected(
            f"{text!r} is not a valid fix; write it as F7",
            stage="input",
            next_step=NextStep.of("fix list", all=True),
        )
    return int(digits)


def _line(known: StoredFix) -> FixLine:
    return FixLine(
        id=known.id,
        ref=f"F{known.id}",
        family=known.family,
        failure=known.told,
        reason=known.reason,
        author=known.author,
        learnt_from=known.learnt_from,
        learnt=known.learnt,
        offered=known.offered,
        worked=known.worked,
        failed=known.failed,
        created_at=known.created_at,
        retired_at=known.retired_at,
        retired_because=known.retired_because,
    )
