"""What a person waits for who has three everyday jobs done: by replan, and by ansible-playbook.

python -m benchmarks.everyday [--write]

Each has a Debian of its own. A job is done once on the fresh host, then again where all of it is
there already, in turn. What is measured is a whole call, from the start of the program to its end:
`replan task submit --plan … --wait` beside a system that is up, and `ansible-playbook` with
pipelining over a connection that stays open. The policy lets replan run what the plans say.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.peers.environments import Environment
from orchestrator.embedded.stack import run_stack
from orchestrator.process_command import process_command
from shared.store import hosts
from shared.store.database import Database
from tests.journeys.everyday_plans import CASES, PREPARED, RELEASE, SERVED, Case
from tests.journeys.on_debian import debian_hosts
from tests.services.debian_host import DebianHost

AGAIN: Final = 5
PAGE: Final = Path(__file__).parents[1] / "EVERYDAY.md"
PLAYBOOKS: Final = Path(__file__).parent
POLICY: Final = Path(__file__).parents[1] / "plans" / "policy.yaml"

Carry = Callable[[Case], None]


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds that a job took: the first time, and each further time."""

    first: float
    again: tuple[float, ...]


def timed(carry: Carry, case: Case) -> float:
    """Seconds of a whole call."""
    begun = time.perf_counter()
    carry(case)
    return time.perf_counter() - begun


def call(command: tuple[str, ...], environ: Mapping[str, str]) -> None:
    """Run a command; what it says is shown when it fails."""
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")


@contextmanager
def replan(host: DebianHost, scratch: Path) -> Iterator[Carry]:
    """The system is up, and knows the host."""
    environ = {
        **os.environ,
        "HOME": str(scratch),
        "REPLAN_CONFIG": "",
        "REPLAN_GUARD_POLICY": str(POLICY),
        "REPLAN_LOG_LEVEL": "warning",
    }
    data = scratch / "data"
    with run_stack(data, environ) as stack, closing(Database(stack.database_url)) as database:
        with database.begin() as connection:
            hosts.save(connection, host.described())
        settings = {
            "REPLAN_DATA_DIR": str(data),
            "REPLAN_DATABASE_URL": stack.database_url,
            "REPLAN_BROKER_URL": stack.broker_url,
        }

        def carry(case: Case) -> None:
            words = ("task", "submit", "--plan", str(case.file), "--host", host.name, "--wait")
            call(process_command("orchestrator.cli.main", *words), environ | settings)

        yield carry


@contextmanager
def ansible(host: DebianHost, scratch: Path) -> Iterator[Carry]:
    """An inventory of the host, and settings that make it fast."""
    environment = Environment("ansible")
    if not environment.is_ready:
        environment.install()
    known = host.described()
    (scratch / "known_hosts").write_text(f"[{known.address}]:{known.port} {known.host_key}\n")
    variables = {
        "ansible_host": known.address,
        "ansible_port": known.port,
        "ansible_user": known.user,
        "ansible_ssh_private_key_file": known.key_path,
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={scratch}/known_hosts",
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    inventory = scratch / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": {host.name: variables}}}))
    (scratch / "ansible.cfg").touch()
    environ = {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_HOME": str(scratch),
        "ANSIBLE_CONFIG": str(scratch / "ansible.cfg"),
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_SSH_ARGS": "-F none -o ControlMaster=auto -o ControlPersist=60s",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(scratch / "c"),
    }
    program = str(environment.python.with_name("ansible-playbook"))

    def carry(case: Case) -> None:
        call((program, "-i", str(inventory), str(PLAYBOOKS / f"{case.name}.yaml")), environ)

    try:
        yield carry
    finally:
        for master in (scratch / "c").glob("*"):
            leave = ("ssh", "-F", "none", "-O", "exit", "-o", f"ControlPath={master}", "any")
            subprocess.run(leave, capture_output=True, check=False)


def measure() -> dict[str, dict[str, Took]]:
    """For each job, what it took for each of the two."""
    found: dict[str, dict[str, Took]] = {}
    with (
        debian_hosts(RELEASE, PREPARED, served=SERVED, names=("web1", "web2")) as (ours, theirs),
        tempfile.TemporaryDirectory(prefix="replan-everyday-") as scratch,
    ):
        folders = [Path(scratch) / name for name in ("replan", "ansible")]
        for folder in folders:
            folder.mkdir()
        with replan(ours, folders[0]) as carry, ansible(theirs, folders[1]) as play:
            ways = {"replan": (carry, ours), "ansible": (play, theirs)}
            for case in CASES:
                first = {name: timed(way, case) for name, (way, _) in ways.items()}
                for _, host in ways.values():
                    _require(host, case)
                again = [
                    {name: timed(way, case) for name, (way, _) in ways.items()}
                    for _ in range(AGAIN)
                ]
                found[case.name] = {
                    name: Took(first[name], tuple(each[name] for each in again)) for name in ways
                }
                print(case.name, found[case.name], flush=True)
    return found


def _require(host: DebianHost, case: Case) -> None:
    done = host.run(case.effects)
    if done.returncode != 0:
        raise SystemExit(f"{case.name} is not done on {host.name}: {done.stderr}")


def page(found: Mapping[str, Mapping[str, Took]]) -> str:
    """The figures as a page."""
    rows = []
    for name, by in found.items():
        ours, theirs = by["replan"], by["ansible"]
        again = median(theirs.again) / median(ours.again)
        rows.append(
            f"| {name} | {ours.first:.1f} s | {theirs.first:.1f} s | {median(ours.again):.2f} s"
            f" | {median(theirs.again):.2f} s | {again:.1f} × |"
        )
    total = {
        who: sum(median(by[who].again) for by in found.values()) for who in ("replan", "ansible")
    }
    rows.append(
        f"| all three | {sum(by['replan'].first for by in found.values()):.1f} s"
        f" | {sum(by['ansible'].first for by in found.values()):.1f} s"
        f" | {total['replan']:.2f} s | {total['ansible']:.2f} s"
        f" | {total['ansible'] / total['replan']:.1f} × |"
    )
    return "\n".join(
        (
            "# Everyday jobs beside ansible-playbook",
            "",
            "Measured by `make bench-everyday`, which wrote this page, in one run and in turn:",
            "a web server with a site of its own, a Python app in a virtual environment, and log",
            "rotation, each as a plan (`tests/journeys/everyday`) and as a playbook",
            "(`benchmarks/everyday`), each on a fresh Debian. A whole call is measured, from the",
            "start of the program to its end: `replan task submit --plan … --wait`, and",
            f"`ansible-playbook` ({Environment('ansible').versions}) with pipelining and without",
            "gathering facts. *Again* is where everything is there already: the median of",
            f"{AGAIN} runs. The first run is mostly the work of apt and pip.",
            "",
            "| job | first: replan | first: ansible | again: replan | again: ansible | ratio |",
            "|---|---:|---:|---:|---:|---:|",
            *rows,
            "",
        )
    )


def main() -> None:
    """Measure, print the page, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write benchmarks/EVERYDAY.md")
    arguments = parser.parse_args()
    told = page(measure())
    sys.stdout.write(told)
    if arguments.write:
        PAGE.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
