"""`make bench-plans`: broken hosts; what corrections, a planner and the memory of fixes solve.

python -m benchmarks.plans                          play, and print the page
python -m benchmarks.plans --write                  play, and write PLANS.md and plans.json
python -m benchmarks.plans --only port-taken        one scenario, or some
python -m benchmarks.plans --planner anthropic      a real model revises (with a key)
python -m benchmarks.plans --render                 write the page again from plans.json
python -m benchmarks.plans --prove                  the scenarios by hand, without replan
python -m benchmarks.plans --list                   the scenarios
"""

import argparse
import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.peers import machine
from benchmarks.plans import page
from benchmarks.plans.places import BrokenScenarioError, Places
from benchmarks.plans.playing import Players
from benchmarks.plans.proof import Proof, prove
from benchmarks.plans.ring import ring
from benchmarks.plans.scenario import Scenario, Variant, chosen, scenarios
from benchmarks.plans.takings import Document

FOLDER: Final = Path(__file__).parents[1]
RESULTS: Final = FOLDER / "plans.json"
PAGE: Final = FOLDER / "PLANS.md"
NOT_AS_EXPECTED: Final = 1


def main(words: Sequence[str] | None = None) -> int:
    """Play, and print or write the page; 1 when something is not as expected."""
    known = scenarios()
    asked = arguments(known, words)
    if asked.list:
        for name, scenario in known.items():
            print(f"{name:24} {scenario.host:7} {scenario.way:12} {scenario.title}")
        return 0
    if asked.prove:
        return proved(chosen(known, asked.only), lanes=asked.lanes)
    if asked.render:
        PAGE.write_text(page.render(Document.read(RESULTS)), encoding="utf-8")
        return 0
    document = played(chosen(known, asked.only), planner=asked.planner, lanes=asked.lanes)
    if asked.write:
        document.write(RESULTS)
        PAGE.write_text(page.render(document, lanes=asked.lanes), encoding="utf-8")
    else:
        print(page.render(document, lanes=asked.lanes))
    return 0 if document.is_as_expected else NOT_AS_EXPECTED


def arguments(known: Mapping[str, Scenario], words: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for; exits with 2 and a sentence when it makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plans",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="SCENARIO")
    parser.add_argument("--planner", choices=("scripted", "anthropic"), default="scripted")
    parser.add_argument("--lanes", type=int, default=2, help="scenarios at a time")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--write", action="store_true", help="write what was measured")
    output.add_argument("--render", action="store_true", help="play nothing, write the page")
    output.add_argument("--prove", action="store_true", help="play by hand, without replan")
    output.add_argument("--list", action="store_true", help="play nothing, list the scenarios")
    asked = parser.parse_args(words)
    unknown = [name for name in asked.only if name not in known]
    if unknown:
        parser.error(f"no such scenario: {', '.join(unknown)}; --list names them all")
    if asked.lanes < 1:
        parser.error("--lanes: at least one")
    if asked.render and not RESULTS.exists():
        parser.error("there is no plans.json yet: play with --write first")
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    if asked.planner == "anthropic" and not any(os.environ.get(key) for key in keys):
        parser.error(f"--planner anthropic needs {' or '.join(keys)} in the environment")
    return asked


def played(wanted: Mapping[str, Scenario], *, planner: str, lanes: int) -> Document:
    """The whole run."""
    with _scratch() as scratch:
        places = Places(scratch)
        say("preparing hosts …")
        places.prepare(list(wanted.values()))
        if places.missing:
            say(f"no Debian hosts: {places.missing}")
        say("starting Postgres, Valkey, a coordinator and workers …")
        with ring(scratch, scripted=planner == "scripted") as running:
            results = Players(running, places, lanes=lanes, say=say).play(wanted)
    return Document(
        date=datetime.now(UTC).date().isoformat(),
        planner=planner,
        machine={
            "cores": str(os.cpu_count()),
            "processor": machine.processor(),
            "memory": machine.memory(),
            "Python": platform.python_version(),
        },
        missing=places.missing,
        results=results,
    )


def proved(wanted: Mapping[str, Scenario], *, lanes: int) -> int:
    """Print what each variant shows by hand; 1 when one is not as it says."""
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(_scratch())
        places = Places(scratch)
        places.prepare(list(wanted.values()))
        pool = stack.enter_context(ThreadPoolExecutor(lanes))
        parts = [(n, s, v) for n, s in wanted.items() if places.can_host(s) for v in Variant]
        return max(pool.map(lambda part: _proved(places, *part), parts), default=0)


def _proved(places: Places, name: str, scenario: Scenario, variant: Variant) -> int:
    try:
        proof = prove(scenario, variant, places)
    except (BrokenScenarioError, subprocess.TimeoutExpired) as error:
        proof = Proof(variant, "", str(error))
    told = f"FAULT: {proof.fault}" if proof.fault else proof.temptation or "mended"
    print(f"{name} ({variant}): {told}\n    {proof.message}", flush=True)
    return int(bool(proof.fault))


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    scratch = Path(tempfile.mkdtemp(prefix="replan-plans-"))
    scratch.chmod(0o755)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def say(words: str) -> None:
    """Tell how it goes, beside the page."""
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
