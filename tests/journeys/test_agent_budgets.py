"""Money of agents: it is used up, a person raises it, and the work goes on."""

import re
import sys
from pathlib import Path

from tests.fakes.gateway import NotingUpstream
from tests.journeys.conftest import PLACES, processes_of
from tests.services.ring import Ring, eventually
from workers.call_ledger import CallLedger
from workers.gateway.app import Gateway
from workers.gateway.ledger import LedgerAccounts
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving
from workers.llm.prices import Prices

KEY = "k" * 64


SPENDS = """#!{python}
# Spends until the gateway refuses, then hangs with a process of its own; the next time it finishes.
import json, os, pathlib, subprocess, sys, time, urllib.error, urllib.request

def ask():
    body = {{"model": "dear", "max_tokens": 9, "messages": [{{"role": "user", "content": "hi"}}]}}
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps(body).encode(),
        {{"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}},
    )
    with urllib.request.urlopen(request) as answer:
        answer.read()

half = pathlib.Path("half.txt")
if half.exists():
    ask()
    pathlib.Path("app.txt").write_text("new")
    sys.exit()
half.write_text("half")
subprocess.Popen(["sleep", "600"], start_new_session=True)
try:
    while True:
        ask()
except urllib.error.HTTPError as error:
    (pathlib.Path.home() / "refused").write_text(f"{{error.code}} {{error.read().decode()}}")
time.sleep(600)
"""


def test_an_agent_out_of_money_ends_and_goes_on_once_a_person_raises_its_budget(
    ring: Ring, project: Path, tmp_path: Path
) -> None:
    """Must show 4: it is ended at once, with all that it started; no error, and no other runner."""
    program = tmp_path / "agent"
    program.write_text(SPENDS.format(python=Path(sys.executable).resolve()))
    program.chmod(0o755)
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"""
steps:
  - title: Renew the app
    repository: {project.name}
    subtasks:
      - kind: agent
        goal: Put the word new into app.txt
        agent:
          cost_budget: 0.05
          runners:
            - {{runner: command, command: "{program} {{task_file}}"}}
            - {{runner: command, command: "false", alias: second}}
        check: grep -q new app.txt
""")
    answers = [{"text": "x"}, {"usage": {"input": 1000, "cached": 2000, "output": 100}}]
    ledger = CallLedger(ring.database, Prices(["dear=10/10/1/10"]), 0.0)
    accounts = LedgerAccounts(ring.database, ledger, KEY.encode())
    upstream = NotingUpstream(ScriptedUpstream(parse_script([answers])))
    with serving(Gateway(upstream, accounts)) as gateway:
        ring.extra |= {"REPLAN_GATEWAY_URL": gateway.url, "REPLAN_GATEWAY_KEY": KEY}
        ring.coordinator()
        ring.worker("executor")
        ring.replan("repo", "add", project.name, "--path", str(project))
        ring.replan("task", "submit", "--plan", str(plan), "--local")
        ring.ends(1, "waiting")
        (refused,) = (PLACES / project.name).glob("work/*/home/*/refused")
        assert refused.read_text().startswith("402 ")
        assert "billing_error" in refused.read_text()
        token = ring.scalar("SELECT token FROM runs")
        eventually(lambda: not processes_of(token), "the end of what it had started", 15)
        asked = ring.replan("intervention", "show", "I1").stdout
        assert "$0.0520 of $0.05 for T1.1.1@localhost (the cost budget of the subtask)" in asked
        ring.replan("task", "resume", "T1", check=2)
        ring.replan("step", "raise", "T1.1", "--cost-budget", "0.05", check=2)
        (raising,) = re.findall(r"replan (step raise .*)", asked)
        assert raising == "step raise T1.1@localhost --cost-budget 0.11"
        ring.replan(*raising.split())
        ring.ends(1)
    first, second = ring.rows("SELECT * FROM attempts ORDER BY id")
    assert (first.outcome, first.ended_by, first.counted) == ("over_budget", "spending", False)
    assert (second.outcome, second.body["runner"]) == ("ok", "command")
    assert second.body["before"] == first.body["tree"]
    assert second.body["changed_files"] == ["app.txt", "half.txt"]
    assert len(upstream.requests) == 5
    (raised,) = ring.rows("SELECT details FROM audit WHERE verb = 'step.raise' LIMIT 1")
    assert "0.11" in str(raised.details)
