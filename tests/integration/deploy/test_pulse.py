"""Health is what a process does, not that it is there."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from orchestrator.process_command import process_command
from shared.domain.errors import Misconfigured
from shared.health import FOLDER, SILENCE, Pulse, silent
from tests.services.ring import Ring, eventually


def check(folder: Path | None) -> subprocess.CompletedProcess[str]:
    """Run the check as a container's health check does."""
    return subprocess.run(
        process_command("shared.health"),
        env={**os.environ, FOLDER: str(folder or "")},
        capture_output=True,
        text=True,
        check=False,
    )


def age(path: Path, seconds: float) -> None:
    """Make a sign of life that old."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_process_is_well_when_each_of_its_parts_was_heard(tmp_path: Path) -> None:
    pulse = Pulse(tmp_path, "a", "b")
    pulse.beat("a")
    pulse.beat("b")
    done = check(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_part_that_has_not_begun_is_not_well(tmp_path: Path) -> None:
    pulse = Pulse(tmp_path, "a", "b")
    pulse.beat("a")
    done = check(tmp_path)
    assert (done.returncode, done.stdout) == (1, "b: no sign of life yet\n")


def test_a_part_is_silent_after_a_minute_and_not_before(tmp_path: Path) -> None:
    pulse = Pulse(tmp_path, "a")
    pulse.beat("a")
    age(tmp_path / "a", SILENCE - 5)
    assert silent(tmp_path) == []
    age(tmp_path / "a", SILENCE + 1)
    assert silent(tmp_path) == ["a: no sign of life for 61 s"]


def test_a_process_that_starts_anew_has_to_beat_anew(tmp_path: Path) -> None:
    """The signs that an earlier process left do not count for it."""
    Pulse(tmp_path, "a").beat("a")
    Pulse(tmp_path, "a")
    assert silent(tmp_path) == ["a: no sign of life yet"]


@pytest.mark.parametrize("earlier", [(), ("a", "b")], ids=["the first start", "a later start"])
def test_a_process_is_at_no_moment_of_its_start_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: tuple[str, ...]
) -> None:
    """A check may look between any two calls of the start."""
    for part in earlier:
        Pulse(tmp_path, *earlier).beat(part)
    seen: list[list[str]] = []

    def look_before(name: str) -> None:
        done = getattr(os, name)

        def looked(*args: object, **named: object) -> object:
            seen.append(silent(tmp_path))
            return done(*args, **named)

        monkeypatch.setattr(os, name, looked)

    for name in ("utime", "open", "replace"):
        look_before(name)
    Pulse(tmp_path, "a", "b")
    assert len(seen) >= 4
    assert all(seen)


def test_a_sign_that_cannot_be_given_stops_nobody(tmp_path: Path) -> None:
    pulse = Pulse(tmp_path, "a")
    (tmp_path / "a").unlink()
    pulse.beat("a")
    assert silent(tmp_path) == [f"{tmp_path}: no part has started"]


def test_nobody_listens_where_no_folder_is_named(tmp_path: Path) -> None:
    Pulse.from_environ({FOLDER: " "}, "a").beat("a")
    assert list(tmp_path.iterdir()) == []
    assert check(None).stdout == f"{FOLDER} is not set\n"


def test_a_folder_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Misconfigured, match="signs of life cannot be written"):
        Pulse.from_environ({FOLDER: str(tmp_path / "file" / "folder")}, "a")


def test_a_worker_that_stands_still_is_found_out(ring: Ring, tmp_path: Path) -> None:
    """Frozen, not ended: it is there, and does nothing. It is well again when it goes on."""
    folder = tmp_path / "pulse"
    ring.extra[FOLDER] = str(folder)
    ring.worker("executor")
    eventually(lambda: folder.is_dir() and not silent(folder), "every part's first sign of life")
    assert {path.name for path in folder.iterdir()} == {"leases", "queues"}
    worker = ring.processes["executor"].pid
    os.kill(worker, signal.SIGSTOP)
    try:
        eventually(lambda: len(silent(folder, limit=4)) == 2, "silence")
    finally:
        os.kill(worker, signal.SIGCONT)
    eventually(lambda: not silent(folder, limit=4), "signs of life again")


def test_every_loop_of_a_coordinator_gives_signs_of_life(ring: Ring, tmp_path: Path) -> None:
    folder = tmp_path / "pulse"
    ring.extra[FOLDER] = str(folder)
    ring.coordinator()
    eventually(lambda: folder.is_dir() and not silent(folder), "every loop's first sign of life")
    assert {path.name for path in folder.iterdir()} == {
        "coordinator",
        "relay",
        "sweeper",
        "presence",
    }
