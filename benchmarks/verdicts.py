"""What verdicts cost: on the corpus one by one, and as a share of the pass that they are a part of.

python -m benchmarks.verdicts
"""

import json
import statistics
import time
from pathlib import Path

from benchmarks.stage import SPAN, Stage, set_up
from shared.guard import Guard, PlanGuard, load_site

CORPUS = Path(__file__).parents[1] / "tests/cases/guard/corpus.jsonl"


def one_by_one() -> list[float]:
    """Milliseconds for each command of the corpus, not seen before, on a warm parser."""
    guard = Guard(load_site(None).for_host("h1"))
    guard.judge("uname -a | cat")
    spans = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        command = json.loads(line)["cmd"]
        begun = time.perf_counter()
        guard.judge(command)
        spans.append((time.perf_counter() - begun) * 1000)
    return sorted(spans)


def of_pass(commands: list[str]) -> float:
    """Seconds for all verdicts of a pass over these commands, by a guard that has seen none."""
    guard = Guard(load_site(None).for_host("h1"))
    begun = time.perf_counter()
    judge = PlanGuard(guard, commands)
    for command in commands:
        judge.judge(command)
    return time.perf_counter() - begun


def share(stage: Stage, commands: list[str], rounds: int) -> float:
    """The verdicts of a pass, in hundredths of the whole of it; the median of some rounds."""
    shares = []
    for _ in range(rounds):
        task = stage.submit(commands, "h1")
        stage.wait([task])
        shares.append(100 * of_pass(commands) / float(stage.scalar(SPAN, ids=[task])))
    return statistics.median(shares)


def main() -> None:
    """Measure, and print it."""
    one_by_one()  # the first time much is made that stays
    spans = one_by_one()
    middle, late = spans[len(spans) // 2], spans[len(spans) * 95 // 100]
    print(f"a verdict on a command of the corpus: p50 {middle:.2f} ms, p95 {late:.2f} ms")
    with set_up(1) as stage:
        for name, commands in (
            ("200 times `true`", ["true"] * 200),
            ("200 times `/bin/true`", ["/bin/true"] * 200),
            ("200 different `echo N`", [f"echo {n}" for n in range(200)]),
        ):
            stage.wait([stage.submit(commands[:20], "h1")])
            print(f"verdicts in a pass of {name}: {share(stage, commands, 5):.1f} %")


if __name__ == "__main__":
    main()
