"""A rule about effects, through processes of their own: what it lets run, and what it does not."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.plans import plan, step
from tests.services.availability import UnavailableError, give_up, not_possible_here
from tests.services.ring import Ring

# Outside of the places to which policies let plans write.
OUTSIDE = Path("/run/lock")


@pytest.fixture
def settings(ring: Ring, tmp_path: Path) -> Iterator[Path]:
    """A folder of settings that may be edited where their test passes; everything is up."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="replan-effects-", dir=OUTSIDE)
    except OSError:
        not_possible_here(f"{OUTSIDE} cannot be written to")
    with scratch:
        folder = Path(scratch.name) / "app"
        folder.mkdir()
        (folder / "app.conf").write_text("port 80\n")
        policy = tmp_path / "policy.yaml"
        rule = {
            "run": "sed -i",
            "below": [str(folder)],
            "then": f"echo tested > {folder.parent}/tested; grep -qx 'port 8[0-9]' {folder}/*.conf",
        }
        policy.write_text(json.dumps({"effects": [rule]}))
        ring.extra["REPLAN_GUARD_POLICY"] = str(policy)
        ring.coordinator()
        ring.worker("executor")
        yield folder
        ring.stop()


def test_an_edit_in_bounds_runs_and_says_by_which_rule(ring: Ring, settings: Path) -> None:
    file = settings / "app.conf"
    task = ring.submit(plan(step([f"sed -i s/80/81/ {file}"])), "localhost")
    told = ring.replan("task", "watch", f"T{task}", check=None)
    if "effects: not known" in (shown := _shown(ring)):
        give_up(UnavailableError(f"this machine gives no previews: {shown}"))
    assert ring.phase(task) == "done", f"{told.stdout}\n{shown}"
    assert file.read_text() == "port 81\n"
    assert not (settings.parent / "tested").exists()

    (ran,) = ring.rows("SELECT outcome, rule FROM attempts")
    assert tuple(ran) == ("ok", "effects: sed -i")
    seen = ring.replan("attempt", "show", f"T{task}.1.1#1@localhost").stdout
    assert "let run by the rule effects: sed -i" in seen
    assert f"changed {file}" in seen
    assert "-port 80" in seen
    assert "+port 81" in seen
    assert "tested" not in seen.partition("effects: changed")[2]
    assert ring.scalar("SELECT count(*) FROM interventions") == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("sed -i s/80/81/ DIR/app/app.conf; echo x > DIR/extra", "created DIR/extra"),
        ("sed -i 's/80/81/w DIR/extra' DIR/app/app.conf", "created DIR/extra"),
        ("sed -i s/80/81/ DIR/app/link", "DIR/app/link (link becomes file"),
        ("sed -i s/80/81/ DIR/app/app.conf && systemctl reload app", "not seen: what services do"),
        ("sed -i s/80/eighty/ DIR/app/app.conf", "+port eighty"),
    ],
)
def test_whatever_goes_further_asks_and_shows_it(
    ring: Ring, settings: Path, command: str, told: str
) -> None:
    """A second file, a file behind a link, a service, an edit that its test does not pass."""
    (settings.parent / "key").write_text("80\n")
    (settings / "link").symlink_to(settings.parent / "key")
    command, told = (text.replace("DIR", str(settings.parent)) for text in (command, told))
    task = ring.submit(plan(step([command])), "localhost")
    ring.ends(task, "waiting")
    question = _shown(ring)
    if "effects: not known" in question:
        give_up(UnavailableError(f"this machine gives no previews: {question}"))
    assert told in question
    assert (settings / "app.conf").read_text() == "port 80\n"
    assert not (settings.parent / "extra").exists()
    assert ring.rows("SELECT outcome FROM attempts") == [("needs_approval",)]


def _shown(ring: Ring) -> str:
    """What a person sees who is asked; empty if nobody is."""
    number = ring.scalar("SELECT max(id) FROM interventions")
    return ring.replan("intervention", "show", f"I{number}").stdout if number else ""
