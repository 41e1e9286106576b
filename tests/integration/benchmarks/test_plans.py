"""The bench of broken hosts in its shortest form: folders, a round each, everything else real."""

from pathlib import Path

from benchmarks.plans.places import Places
from benchmarks.plans.playing import Players
from benchmarks.plans.ring import Ring as Bench
from benchmarks.plans.scenario import Scenario, scenarios
from benchmarks.plans.takings import Round
from tests.fakes.model_server import model_server
from tests.services.ring import Ring


def test_rules_and_a_planner_mend_what_a_plan_alone_does_not(ring: Ring, tmp_path: Path) -> None:
    """One host that a correction mends, one that a planner does after a look, one not broken."""
    known = scenarios()
    sound = known["missing-directory"].model_dump() | {"check": "true"}
    with model_server() as model:
        ring.extra |= model.environ
        ring.coordinator()
        ring.worker("all")
        players = Players(Bench(ring.database, model), Places(tmp_path))
        mended = players.round(known["missing-directory"], Round.CORRECTIONS)
        revised = players.round(known["missing-variable"], Round.LOOKING)
        (odd,) = players.play({"sound": Scenario.model_validate(sound)})
        ring.stop()

    assert mended.solved, mended
    assert (mended.attempts, mended.corrections) == (2, ("make_parent_folder",))
    assert (mended.calls, mended.tokens) == (0, 0)

    assert revised.solved, revised
    assert (revised.attempts, revised.corrections) == (2, ())
    assert (revised.calls, revised.looks) == (2, 1)
    assert revised.tokens > 1000

    assert odd.fault == "its check is green before anything was done"
    assert not odd.as_expected
    assert list(tmp_path.glob("host*")) == []
