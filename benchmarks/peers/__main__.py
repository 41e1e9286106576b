"""`make bench-peers`: replan, its floors and its peers, in turn, in one run.

python -m benchmarks.peers                        measure, and print the page
python -m benchmarks.peers --write                measure, and write RESULTS.md, results.json, plots
python -m benchmarks.peers --peers ansible dbos   only these peers
python -m benchmarks.peers --short                less of it, and only peers installed already
python -m benchmarks.peers --render               write the page again from results.json
"""

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks import memory
from benchmarks.peers import inside, machine, page, plots, rounds
from benchmarks.peers.catalogue import FLOORS, OURS, PEER_NAMES, PEERS, REPLAN, Contestant
from benchmarks.peers.document import Document
from benchmarks.peers.environments import Environment, NotInstalledError
from benchmarks.peers.workloads import WORKLOADS
from benchmarks.stage import Stage, set_up

FOLDER: Final = Path(__file__).parents[1]
RESULTS: Final = FOLDER / "results.json"
PAGE: Final = FOLDER / "RESULTS.md"
PLOTS: Final = FOLDER / "plots"
HOSTS: Final = 4

_BEGUN: Final = time.monotonic()


def main() -> None:
    """Measure, and print or write the page."""
    asked = arguments()
    if asked.render:
        write(Document.read(RESULTS))
        return
    missing = prepare(asked.peers, install=not asked.short)
    document = measure(
        [peer for peer in PEERS if peer.peer in asked.peers and peer.peer not in missing],
        missing,
        short=asked.short,
    )
    if asked.write:
        document.write(RESULTS)
        write(document)
    else:
        print(page.render(document))


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for; exits with 2 and a sentence when it makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--peers", nargs="+", default=list(PEER_NAMES), metavar="PEER")
    parser.add_argument("--short", action="store_true", help="fewer commands, one round, no pip")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--write", action="store_true", help="write what was measured")
    output.add_argument("--render", action="store_true", help="measure nothing, write the page")
    asked = parser.parse_args(words)
    unknown = [peer for peer in asked.peers if peer not in PEER_NAMES]
    if unknown:
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEER_NAMES)}")
    if asked.render and not RESULTS.exists():
        parser.error("there is no results.json yet: measure with --write first")
    return asked


def prepare(peers: Sequence[str], *, install: bool) -> dict[str, str]:
    """Install what is not there yet; says of each peer that will not take part why."""
    missing = {peer: "not asked for in this run" for peer in PEER_NAMES if peer not in peers}
    for name in (*peers, plots.ENVIRONMENT.name):
        reason = made_ready(Environment(name), install=install)
        if reason:
            say(f"{name}: {reason}")
            missing[name] = reason
    missing.pop(plots.ENVIRONMENT.name, None)
    return missing


def made_ready(environment: Environment, *, install: bool) -> str:
    """Why that environment is not there, empty when it is."""
    if environment.is_ready:
        return ""
    if not install:
        return "not installed, and a short run installs nothing"
    say(f"installing {environment.name} …")
    try:
        environment.install()
    except NotInstalledError as error:
        return str(error)
    return ""


def measure(peers: Sequence[Contestant], missing: dict[str, str], *, short: bool) -> Document:
    """The whole run."""
    often = (*OURS, *FLOORS)
    contestants = [*often, *peers, *often]
    workloads = [workload.shortened() for workload in WORKLOADS] if short else WORKLOADS
    say(f"starting Postgres, Valkey, {HOSTS} sshd, a coordinator and workers …")
    with set_up(HOSTS) as stage:
        described = machine.describe(stage)
        warm_up(stage)
        figures = rounds.measure(
            rounds.taker(stage), contestants, workloads, say, at_most=1 if short else 3
        )
    return Document(
        date=datetime.now(UTC).date().isoformat(),
        short=short,
        machine=described,
        versions=versions(peers),
        missing=missing,
        figures=figures,
        memory=sizes(short=short),
    )


def warm_up(stage: Stage) -> None:
    """Each workload once, as every peer's program connects and warms up before it is timed."""
    say("warming up …")
    for workload in WORKLOADS:
        inside.take(stage, REPLAN, workload)


def sizes(*, short: bool) -> memory.Memory | None:
    """The memory figures; None, the reason told, when they cannot be had on this machine."""
    say("memory …")
    try:
        return memory.measure(say, hosts=20, commands=500) if short else memory.measure(say)
    except Exception as error:  # noqa: BLE001 - the rates that were measured shall not be lost
        say(f"no memory figures: {type(error).__name__}: {error}")
        return None


def versions(peers: Sequence[Contestant]) -> dict[str, str]:
    """What each of these peers was measured with."""
    names = dict.fromkeys(peer.peer for peer in peers)
    return {f"peer {name}": Environment(name).versions for name in names}


def write(document: Document) -> None:
    """The plots and the page; without plots when they cannot be drawn here."""
    try:
        drawn = plots.draw(document, PLOTS)
    except plots.NotDrawnError as error:
        say(str(error))
        drawn = []
    PAGE.write_text(page.render(document, drawn), encoding="utf-8")
    say(f"written: {PAGE.relative_to(FOLDER.parent)}")


def say(words: str) -> None:
    """A line for whoever watches, with the seconds since the start."""
    print(f"[{time.monotonic() - _BEGUN:5.0f} s] {words}", flush=True)


if __name__ == "__main__":
    main()
