"""ansible-core: a playbook of our making, with pipelining and ControlPersist.

A form is two words: a strategy (linear, free), and command, raw or loop (`raw` in a loop).
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.programs.brief import Brief, answer, read

FORKS = 20
CALLBACK = Path(__file__).with_name("ansible_callback")


def inventory(brief: Brief) -> dict[str, Any]:
    """A host for each plan."""
    hosts = {}
    for number in range(brief.plans):
        server = brief.server_of(number)
        hosts[f"p{number}"] = {
            "ansible_host": server.host,
            "ansible_port": server.port,
            "ansible_user": server.user,
            "ansible_ssh_private_key_file": server.key,
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={server.known_hosts}",
            "ansible_python_interpreter": "auto_silent",
        }
    return {"all": {"hosts": hosts}}


def playbook(brief: Brief) -> list[dict[str, Any]]:
    """A play that warms up the connections, and the one that is measured."""
    strategy, _, what = brief.form.partition(" ")
    module = "ansible.builtin.command" if what == "command" else "ansible.builtin.raw"
    task: dict[str, Any] = {"name": "command", module: "true"}
    if what == "loop":
        tasks = [{**task, "loop": list(range(brief.commands))}]
    else:
        tasks = [task] * brief.commands
    each = {"hosts": "all", "gather_facts": False, "strategy": strategy}
    return [{**each, "name": "warm", "tasks": [task]}, {**each, "name": "measured", "tasks": tasks}]


def environment(brief: Brief) -> dict[str, str]:
    """The settings: fast, quiet, and everything in the scratch folder."""
    return {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_HOME": brief.scratch,
        "ANSIBLE_CONFIG": f"{brief.scratch}/ansible.cfg",
        "ANSIBLE_FORKS": str(FORKS),
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_SSH_ARGS": "-F none -o ControlMaster=auto -o ControlPersist=60s",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": f"{brief.scratch}/c",
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACK),
        "ANSIBLE_STDOUT_CALLBACK": "spans",
    }


def main() -> None:
    """Write the files, run the playbook, end the connections that it leaves."""
    brief = read()
    scratch = Path(brief.scratch)
    (scratch / "ansible.cfg").touch()
    (scratch / "hosts.json").write_text(json.dumps(inventory(brief)), encoding="utf-8")
    (scratch / "play.json").write_text(json.dumps(playbook(brief)), encoding="utf-8")
    program = Path(sys.executable).with_name("ansible-playbook")
    command = [str(program), "-i", f"{scratch}/hosts.json", f"{scratch}/play.json"]
    done = subprocess.run(
        command, env=environment(brief), stdout=subprocess.PIPE, text=True, check=False
    )
    for master in (scratch / "c").iterdir():
        leave = ["ssh", "-F", "none", "-O", "exit", "-o", f"ControlPath={master}", "any"]
        subprocess.run(leave, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    spans = json.loads(done.stdout.splitlines()[-1])
    latencies = spans["latencies"] if brief.plans == 1 else ()
    answer(spans["count"], spans["seconds"], latencies)


if __name__ == "__main__":
    main()
