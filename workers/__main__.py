"""`python -m workers`: starts workers and checks hosts for the CLI.

    python -m workers start executor planner --threads 16
    python -m workers host-key    < host.json    fetch the host key of a server
    python -m workers host-check  < host.json    check that a host can be used
    python -m workers repo-check  < both.json    check that a repository can be worked in
    python -m workers attempt-look < given.json  look at a step's commands, and end what is left
    python -m workers worktree-look < given.json look at a workspace, and keep or remove it
    python -m workers preview    < given.json    show what a command would change on a host
    python -m workers try-runners                try the programs of agents on this machine
    python -m workers model-check anthropic      check that a model can be asked, without asking it
    python -m workers replay 7 --model NAME      repeat a recorded call with another model
    python -m workers gateway                    serve models to agents, see `--help`

Checks, trials and replays print one JSON object. `host-key` and `host-check` read a host as JSON
from standard input; looks, previews and `repo-check` read an object with a `host` and what they are
asked about.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from shared.domain.author import PlanningRole
from shared.domain.config import MODEL_PROVIDERS
from shared.domain.errors import ReplanError
from shared.domain.exits import ExitCode, code_of
from shared.domain.host import Host
from shared.domain.next_step import command_line
from shared.domain.target import Repository
from shared.settings import ServerSettings, load_settings
from shared.visible import visible
from shared.wire import from_json, to_json


def main(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code, see `ExitCode`."""
    chosen = _parser().parse_args(arguments)
    try:
        if chosen.verb == "start":
            return _start(chosen.roles, chosen.threads)
        if chosen.verb == "try-runners":
            return _try_runners()
        if chosen.verb == "model-check":
            return _check_model(chosen.provider)
        if chosen.verb == "replay":
            return _replay(chosen.call, chosen.model)
        if chosen.verb == "gateway":
            return _gateway(chosen)
        return _answer(chosen.verb)
    except ReplanError as error:
        problem = {
            "ok": False,
            "family": error.family,
            "stage": error.stage,
            "reason": error.reason,
            "next_step": None if error.next_step is None else to_json(error.next_step),
        }
        if chosen.verb in {"start", "gateway"}:
            print(visible(f"✗ {error.reason}\n  at stage: {error.stage}"), file=sys.stderr)
            if error.next_step:
                print(visible(f"next: {command_line(error.next_step)}"), file=sys.stderr)
        else:
            print(json.dumps(problem))
        return int(code_of(error))
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    start = verbs.add_parser("start", help="consume the queues of one or more roles")
    start.add_argument("roles", nargs="+", metavar="ROLE")
    start.add_argument("--threads", type=int, help="the number of jobs to run at once")
    verbs.add_parser("host-key", help="fetch the host key of a server")
    verbs.add_parser("host-check", help="check that a host can be used")
    verbs.add_parser("repo-check", help="check that a repository can be worked in")
    verbs.add_parser("attempt-look", help="look at the commands of a step on its host")
    verbs.add_parser("worktree-look", help="look at a workspace on its host")
    verbs.add_parser("preview", help="show what a command would change on a host")
    verbs.add_parser("try-runners", help="try the programs of agents on this machine")
    model = verbs.add_parser("model-check", help="check that a model can be asked")
    model.add_argument("provider", choices=MODEL_PROVIDERS)
    replay = verbs.add_parser("replay", help="repeat a recorded call with another model")
    replay.add_argument("call", type=int, help="the number of the call")
    replay.add_argument("--model", required=True)
    gateway = verbs.add_parser("gateway", help="serve models to agents")
    gateway.add_argument("--listen", metavar="HOST:PORT", help="instead of where gateway_url says")
    source = gateway.add_mutually_exclusive_group()
    source.add_argument("--script", type=Path, help="answer from a script, with no provider")
    source.add_argument("--replay", type=Path, metavar="DIR", help="answer from a recording")
    gateway.add_argument("--record", type=Path, metavar="DIR", help="write each exchange there")
    gateway.add_argument(
        "--standalone",
        action="store_true",
        help="with a script or a recording: take any token, and need no database",
    )
    return parser


def _check_model(provider: str) -> int:
    from workers.llm.settings import LlmSettings

    settings = LlmSettings.of(load_settings(os.environ).server, provider)
    settings.check(settings.model_of(PlanningRole.PLANNER))
    print(json.dumps({"ok": True}))
    return 0


def _replay(call: int, model: str) -> int:
    from shared.logs import configure_logs
    from workers.roles.replay import replay

    settings = load_settings(os.environ)
    configure_logs("error")
    print(json.dumps(replay(settings, call, model, dict(os.environ))))
    return 0


def _try_runners() -> int:
    from shared.logs import configure_logs
    from workers.runner_trials import try_runners

    configure_logs("error")
    print(json.dumps({"ok": True, "reports": [to_json(each) for each in try_runners()]}))
    return 0


def _gateway(chosen: argparse.Namespace) -> int:
    from shared.logs import configure_logs
    from workers.gateway.run import GatewayOrder, run_gateway

    settings = load_settings(os.environ)
    configure_logs(settings.server.log_level)
    order = GatewayOrder(
        chosen.listen, chosen.script, chosen.replay, chosen.record, chosen.standalone
    )
    run_gateway(settings.server, order, os.environ)
    return 0


def _start(roles: list[str], threads: int | None) -> int:
    from shared.logs import configure_logs
    from workers.run import run_worker

    settings = load_settings(os.environ)
    configure_logs(settings.server.log_level)
    return int(run_worker(settings, roles, threads=threads))


def _answer(verb: str) -> int:
    from shared.secrets.vaults.opening import open_vaults
    from workers.shells.remote import enrol

    server = load_settings(os.environ).server
    vaults = open_vaults(server, os.environ)

    def reveal(name: str) -> str:
        return vaults.secret(name).reveal()

    given = json.load(sys.stdin)
    if verb == "repo-check":
        print(json.dumps(_check_repository(given, reveal, server)))
        return 0
    if verb in {"attempt-look", "worktree-look"}:
        from workers.repairs import answer_about

        print(json.dumps(answer_about(verb, given, reveal, server)))
        return 0
    if verb == "preview":
        from workers.roles.previews import answer_preview
        from workers.secrets import Secrecy

        print(json.dumps(answer_preview(given, Secrecy(vaults), server)))
        return 0
    host = from_json(Host, given)
    if verb == "host-key":
        key = enrol.fetch_host_key(
            host.address, host.port, name=host.name, via=host.via, reveal=reveal
        )
        answer = {"ok": True, "line": key.line, "fingerprint": key.fingerprint}
    else:
        report = enrol.check_host(host, reveal, records_cap=server.records_cap_bytes)
        answer = {"ok": report.ok, "report": to_json(report)}
    print(json.dumps(answer))
    return 0


def _check_repository(
    given: dict[str, Any], reveal: Callable[[str], str], server: ServerSettings
) -> dict[str, Any]:
    from workers.agents.containment.containing import find_containment
    from workers.agents.repository_check import check_repository
    from workers.agents.runner_programs import runner_programs
    from workers.roles.guards import Guards
    from workers.shells.remote.connections import HostConnections

    host = from_json(Host, given["host"])
    repository = from_json(Repository, given["repository"])
    with closing(HostConnections(reveal)) as connections, closing(connections.shell(host)) as shell:
        report = check_repository(shell, repository, root=server.workspaces)
        if report.fault is None:
            confinement = Guards(server.guard_policy).confinement(host.name)
            agents = find_containment(shell, confinement, server.gateway_url)
            report = replace(report, programs=runner_programs(shell), agents=agents)
    return {"ok": report.fault is None, "report": to_json(report)}


if __name__ == "__main__":
    sys.exit(main())
