"""The state of a host that goes into a bundle shows no secret of the step, whoever reads it."""

import json
import platform
from pathlib import Path

import pytest

from tests.integration.cli.calling import Cli
from tests.integration.cli.conftest import at_work
from tests.services.ring import eventually

PLAN = """
steps:
  - title: It names a secret, and fails
    planner: human
    subtasks:
      - command: test -n ${secret:KEPT} && cat /nowhere/kept
"""


@pytest.mark.usefixtures("short_looks")
def test_another_worker_hides_what_only_the_pass_has_fetched(
    coordinated: Cli, database_url: str, bare: Path
) -> None:
    """The vault cannot list its names, and the worker that looks at the host ran no command."""
    value = platform.freedesktop_os_release()["PRETTY_NAME"]
    (bare / "KEPT").write_text(value)
    (bare / "plan.yaml").write_text(PLAN)
    environ = {
        "HOME": str(bare),
        "REPLAN_DATABASE_URL": database_url,
        "REPLAN_VAULTS": "command",
        "REPLAN_VAULT_COMMAND": json.dumps(["cat", f"{bare}/NAME"]),
    }
    limit = ("--set", "error_threshold_per_step=1")
    assert coordinated("task", "submit", "--local", "--plan", "plan.yaml", *limit).code == 0
    with at_work(environ, role="executor"):
        eventually(lambda: coordinated.rows("SELECT id FROM interventions"), "an approval")
        assert coordinated("intervention", "approve", "I1").code == 0
        failed = "SELECT id FROM jobs WHERE kind = 'gather'"
        eventually(lambda: coordinated.rows(failed), "a job for the evidence")
    with at_work(environ, role="escalation"):
        eventually(lambda: coordinated.rows("SELECT id FROM bundles"), "a bundle")
    ((bundle,),) = coordinated.rows("SELECT body FROM bundles")
    assert "‹secret:KEPT›" in bundle["snapshot"]["os"]
    assert value not in json.dumps(bundle, ensure_ascii=False)
    waiting = "SELECT id FROM interventions WHERE kind = 'revision'"
    eventually(lambda: coordinated.rows(waiting), "a person who is asked for a revision")
    (asked,) = coordinated.json("intervention", "list")["details"]["interventions"]
    missing = {"kind": "path_missing", "subject": "/nowhere/kept", "by": "/nowhere", "subtask": 1}
    assert missing.items() <= asked["causes"][0].items()
    shown = coordinated("intervention", "show", f"I{asked['id']}")
    assert "/nowhere/kept does not exist, because there is no /nowhere" in shown.out
    assert "/nowhere/kept does not exist" in coordinated("task", "report", "T1").out
