"""What `python -m benchmarks.peers` may be asked."""

from pathlib import Path

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers.catalogue import PEER_NAMES


def test_everybody_takes_part_unless_named() -> None:
    """`--peers` picks."""
    assert command.arguments([]).peers == list(PEER_NAMES)
    assert command.arguments(["--peers", "dbos", "fabric"]).peers == ["dbos", "fabric"]


@pytest.mark.parametrize("words", [["--peers", "nobody"], ["--write", "--render"], ["--peers"]])
def test_what_makes_no_sense_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2 and a sentence."""
    with pytest.raises(SystemExit) as left:
        command.arguments(words)
    assert left.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_there_is_no_page_without_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to do first."""
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results.json")
    with pytest.raises(SystemExit):
        command.arguments(["--render"])


def test_who_does_not_take_part_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A short run installs nothing."""
    monkeypatch.setattr("benchmarks.peers.environments.PLACE", tmp_path)
    missing = command.prepare(["dbos"], install=False)
    assert set(missing) == set(PEER_NAMES)
    assert "installs nothing" in missing["dbos"]
    assert missing["fabric"] == "not asked for in this run"
