"""`replan metrics` where no agent has worked yet."""

from pathlib import Path

from tests.integration.cli.calling import Cli


def test_metrics_without_agents(cli: Cli, tmp_path: Path) -> None:
    """Nothing to count is no error; a file that exists is not overwritten."""
    file = tmp_path / "metrics.jsonl"
    found = cli.json("metrics", "--output", file)["details"]
    assert (found["runs"], found["figures"]["compliance_rate"]) == ([], None)
    assert file.read_text() == ""
    assert "already exists" in cli.refused("metrics", "--output", file)["reason"]
    assert "there is no task T7" in cli.refused("metrics", "T7")["reason"]
