"""The whole campaign, for `make chaos`: less than a quarter of an hour on two cores."""

import time

import pytest

from tests.chaos.conftest import STAND_STILL, Play, shortfall
from tests.chaos.phases import FULL
from tests.services.availability import only_when_asked

WITHIN = 900.0
"""Seconds."""


@only_when_asked("REPLAN_CHAOS", "full", "`make chaos` runs it; a quarter of an hour long")
@pytest.mark.timeout(1200)
def test_whatever_fails_nothing_is_lost_and_nothing_runs_twice(play: Play) -> None:
    """S2.47-S2.48: every phase of the plan, each fault counted."""
    began = time.monotonic()
    campaign, verdict = play(FULL)
    counts = campaign.counts()
    assert shortfall(campaign) == {}
    assert len(campaign.stage.book.orders) >= FULL.tasks
    assert sum(counts[f"{kind} killed"] for kind in ("executor", "coordinator", "planner")) >= 200
    assert campaign.settled_after is not None
    assert campaign.stood_still(longer=STAND_STILL) == {}
    assert verdict.clean, verdict
    assert time.monotonic() - began < WITHIN
