"""The key of a provider of models: the gateway uses it, and no attempt of an agent ever has it."""

import subprocess
import sys
from pathlib import Path

from tests.fakes.model_server import KEY, Says, model_server
from tests.journeys.conftest import PLACES
from tests.journeys.test_canaries import everything_at, everything_in, files_below
from tests.services.ring import Ring

CURIOUS = """#!{python}
# Asks its model, and tells all that it finds about itself and its machine.
import json, os, pathlib, subprocess, urllib.request

body = {{"model": "claude-sonnet-5-5", "max_tokens": 9}}
body["messages"] = [{{"role": "user", "content": [{{"type": "text", "text": "hi"}}]}}]
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    json.dumps(body).encode(),
    {{"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}},
)
with urllib.request.urlopen(request) as answer:
    print(answer.headers, answer.read().decode())
print(dict(os.environ))
print(subprocess.run(["ps", "axww"], capture_output=True, text=True).stdout)
for place in (pathlib.Path.home(), pathlib.Path.cwd()):
    for path in place.rglob("*"):
        if path.is_file():
            print(path, path.read_bytes()[:20000])
pathlib.Path("app.txt").write_text("new")
(pathlib.Path.home() / "found").write_text(json.dumps(dict(os.environ)))
"""


def test_the_key_of_the_provider_is_nowhere_in_an_attempt(
    ring: Ring, project: Path, tmp_path: Path
) -> None:
    """Not in its environment, its files, the list of processes, its stream, or a bundle.

    The executor has the key as well, as where it runs beside planners.
    """
    program = tmp_path / "agent"
    program.write_text(CURIOUS.format(python=Path(sys.executable).resolve()))
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
          runners: [{{runner: command, command: "{program} {{task_file}}"}}]
        check: "! grep -q new app.txt && cat missing"
""")
    with model_server() as provider:
        provider.streams = False
        provider.will(*[Says("ok")] * 9)
        ring.extra |= provider.environ
        ring.gateway()
        ring.coordinator()
        ring.worker("executor", "escalation")
        ring.replan("repo", "add", project.name, "--path", str(project))
        limits = ("--set", "error_threshold_per_step=1")
        ring.replan("task", "submit", "--plan", str(plan), "--local", *limits)
        ring.ends(1, "waiting")
    assert {asked.headers["x-api-key"] for asked in provider.asked} == {KEY}, "it was used"
    assert ring.scalar("SELECT count(*) FROM bundles") > 0
    shown = ring.replan("attempt", "tail", "T1.1.1", "--raw").stdout
    assert "ANTHROPIC_BASE_URL" in shown, "the agent has told its environment"
    found = (PLACES / project.name).glob("work/*/home/*/found")
    for what, content in {
        "its environment": b"".join(each.read_bytes() for each in found),
        "what is shown": shown.encode(),
        "its files": files_below(PLACES / project.name),
        "Postgres": everything_in(ring),
        "Redis": everything_at(ring.broker_url),
        "the logs": b"".join(path.read_bytes() for path in tmp_path.glob("*.log")),
        "the list of processes": subprocess.check_output(["ps", "axww"]),
    }.items():
        assert content, what
        assert KEY.encode() not in content, what
