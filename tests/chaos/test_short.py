"""A minute of everything at once, as a part of the ordinary suite."""

from tests.chaos.conftest import STAND_STILL, Play, shortfall
from tests.chaos.phases import SHORT

KILLS = 60


def test_a_minute_of_faults_loses_nothing_and_runs_nothing_twice(play: Play) -> None:
    """S2.47-S2.48: every task ends as it must, whatever was killed on the way."""
    campaign, verdict = play(SHORT)
    assert shortfall(campaign) == {}
    assert sum(n for name, n in campaign.counts().items() if "killed" in name) >= KILLS
    assert campaign.settled_after is not None
    assert campaign.stood_still(longer=STAND_STILL) == {}
    assert verdict.clean, verdict
