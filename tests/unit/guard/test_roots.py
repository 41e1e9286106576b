"""The root causes of leaks: for each a family of commands and plans, and its honest neighbours.

`tests/cases/guard/roots/*.jsonl`, one row a line: `cmd` with the verdict `expected` (`also_ok` are
others that will do), and `why`. A row with `plan` is the last command of a plan: what stands in
`plan` runs before it. A row with `earlier` has tasks before it on the same host. A row with
`interpreter` is read by that shell, any other by `sh`. A row with `profile` is judged under it, and
one with `start` on a host on which commands start in that folder.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared.guard import Guard, PlanGuard, load_site
from shared.secrets.expansion import to_environment

ROOTS = sorted((Path(__file__).parents[2] / "cases" / "guard" / "roots").glob("*.jsonl"))


@cache
def guard(profile: str = "") -> Guard:
    """The guard of a fresh installation, or that of a profile."""
    return Guard(load_site(None).for_host(None, (), (profile,) if profile else ()))


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def verdict_on(row: dict[str, Any]) -> str:
    """What the guard says about the last command of a row."""
    commands = [to_environment(text)[0] for text in (*row.get("plan", ()), row["cmd"])]
    earlier = PlanGuard(guard(), ()).marks(row.get("earlier", ()))
    plan = PlanGuard(
        guard(row.get("profile", "")),
        commands,
        remembered=lambda: dict.fromkeys(earlier, "T1"),
        start=row.get("start"),
    )
    return plan.judge(commands[-1], row.get("interpreter", "sh")).kind.value


@pytest.mark.parametrize("path", ROOTS, ids=lambda path: str(path.stem))
def test_every_row_of_a_root_gets_its_verdict(path: Path) -> None:
    """A hostile row never runs unseen, and an honest one asks nobody."""
    rows = rows_of(path)
    wrong = [
        (row["id"], found, row["expected"], row.get("plan", []), row["cmd"])
        for row in rows
        if (found := verdict_on(row)) not in (row["expected"], *row.get("also_ok", ()))
    ]
    assert len(rows) == len({row["id"] for row in rows})
    assert wrong == []


def test_no_composed_plan_does_its_harm_unasked() -> None:
    """Each command alone is harmless, or looks so: one of them asks, or one of the tasks before."""
    plans = rows_of(ROOTS[0].parents[1] / "composed.jsonl")
    assert len(plans) > 280
    assert [row for row in plans if not _asks(row)] == []


def _asks(row: dict[str, Any]) -> bool:
    before = [to_environment(text)[0] for text in row.get("earlier", ())]
    left = PlanGuard(guard(), ()).marks(before)
    texts = [to_environment(text)[0] for text in row["plan"]]
    now = PlanGuard(guard(), texts, remembered=lambda: dict.fromkeys(left, "T1"))
    earlier = PlanGuard(guard(), before)
    return any(not now.judge(text).allowed for text in texts) or any(
        not earlier.judge(text).allowed for text in before
    )


@pytest.mark.parametrize("path", ROOTS, ids=lambda path: str(path.stem))
def test_a_root_has_hostile_rows_and_honest_neighbours(path: Path) -> None:
    """At least 20 ways in, and something beside them that stays allowed."""
    expected = [row["expected"] for row in rows_of(path)]
    assert sum(kind != "allow" for kind in expected) >= 20
    assert "allow" in expected
