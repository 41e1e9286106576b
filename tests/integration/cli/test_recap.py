"""What came of a task on each host is told at its end, and nothing that nobody knows."""

import re
from pathlib import Path

from tests.integration.cli.calling import Cli

PLAN = """
steps:
  - title: Files
    on_failure: continue
    subtasks:
      - {{run: 'echo proved > {folder}/proved', check: 'test -s {folder}/proved'}}
      - {{run: 'echo again > {folder}/there', check: 'test -e {folder}/there'}}
      - {{run: 'echo nobody can say'}}
      - {{id: fails, run: 'ls /nowhere'}}
      - {{run: 'true', needs: [fails]}}
"""


def test_each_host_has_a_line_of_what_came_of_it(
    working: Cli, hosts: list[str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.format(folder=tmp_path))
    (tmp_path / "there").write_text("x")
    once = ("--set", "error_threshold_per_step=1", "--set", "send_to_planner_after_threshold=false")
    submit = ("task", "submit", "--plan", plan, "--host", hosts[0], "--wait")
    said = working(*submit, "--dry-run")
    assert table(said.out)[hosts[0]]["unchanged"] == 1
    assert "changed" not in table(said.out)[hosts[0]]
    said = working(*submit, *once)
    assert table(said.out) == {
        hosts[0]: {"ok": 3, "changed": 1, "unchanged": 1, "failed": 1, "skipped": 1}
    }


def table(out: str) -> dict[str, dict[str, int]]:
    """The numbers of each host, by the word above them."""
    lines = [re.split(" {2,}", line.strip()) for line in out.splitlines()]
    (at,) = [at for at, cells in enumerate(lines) if "unchanged" in cells]
    rows = [cells for cells in lines[at + 1 :] if cells[0] in {"one", "two"}]
    return {host: dict(zip(lines[at], map(int, counts), strict=True)) for host, *counts in rows}
