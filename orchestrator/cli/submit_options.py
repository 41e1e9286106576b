"""What the options of `task submit` set for the task."""

from typing import Final

from shared.domain.config import BACKENDS
from shared.domain.errors import Rejected
from shared.domain.nearest import nearest
from shared.domain.next_step import NextStep

PLANNERS: Final = (*BACKENDS, "auto")
"""Who can plan, and the choice among them."""


def settings_of(
    given: list[str] | None,
    planner: str | None,
    autonomy: str | None,
    *,
    taskmaster: bool | None,
    dry_run: bool,
) -> tuple[str, ...]:
    """Settings for a task, as `key=value`. Raises Rejected for a planner that there is not."""
    overrides = list(given or ())
    if taskmaster is not None:
        overrides.append(f"taskmaster_enabled={str(taskmaster).lower()}")
    if planner is not None:
        _require_planner(planner)
        overrides += [f"planner={planner}", f"subtask_planner={planner}"]
    if autonomy is not None:
        overrides.append(f"autonomy={autonomy}")
    return (*overrides, "dry_run_mode=true") if dry_run else tuple(overrides)


def _require_planner(name: str) -> None:
    """Raise Rejected unless there is such a planner."""
    if name in PLANNERS:
        return
    near = nearest(name, PLANNERS)
    meant = f"; did you mean {near}?" if near else ""
    raise Rejected(
        f"--planner: {name!r} is not a planner{meant}; there are: {', '.join(PLANNERS)}",
        stage="input",
        next_step=NextStep.of("task submit", help=True),
    )
