"""`replan doctor` about the runners of this machine."""

import json

import pytest

from shared.domain.runner_report import RunnerReport, RunnerState
from tests.integration.cli.calling import Cli

CLAUDE = RunnerReport(
    "claude-code", "claude", "2.1.330", RunnerState.WORKS, "/bin/claude", "2.1.330", True, True
)
CODEX = RunnerReport("codex", "codex", "0.169.0", RunnerState.MISSING)
OLD = RunnerReport(
    "codex",
    "codex",
    "0.169.0",
    RunnerState.FAILS,
    "/bin/codex",
    "0.100.0",
    detail="what is --json?",
)


def runners(cli: Cli, *options: str) -> dict[str, tuple[bool, str, str | None]]:
    """What the doctor finds about them, whatever else it finds."""
    said = cli("doctor", *options, "--format", "min-json")
    findings = json.loads(said.out)["details"]["findings"]
    return {
        each["check"]: (each["ok"], each["reason"], each["next_step_cmd"])
        for each in findings
        if each["check"].startswith("runner")
    }


def test_the_doctor_tries_runners_where_agents_may_have_to_work(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before there is a repository here, unless it is asked to."""
    tried: list[RunnerReport] = [CLAUDE, CODEX]
    monkeypatch.setattr("orchestrator.acts.runners.try_runners", lambda: tuple(tried))
    assert runners(cli) == {}
    ok, told, _ = runners(cli, "--runners")["runners"]
    assert ok
    assert told == "not installed on this machine: codex (npm install -g @openai/codex)"
    cli.json("repo", "add", "app", "--path", "/srv/app", "--no-ask")
    assert runners(cli, "--no-runners") == {}
    assert runners(cli)["runner claude-code"][0] is True
    cli.json("repo", "add", "old", "--path", "/srv/old", "--runner", "codex", "--no-ask")
    ok, told, step = runners(cli)["runners"]
    assert (ok, step) == (False, "npm install -g @openai/codex")
    assert told.endswith("; old can be worked in by none that is there")
    tried[1] = OLD
    ok, told, step = runners(cli)["runner codex"]
    assert (ok, step) == (False, "npm install -g @openai/codex")
    assert told == (
        "0.100.0 in /bin/codex fails: what is --json?; it is older than 0.169.0, the oldest that "
        "is known to work"
    )
