"""PLANS.md from a run's document: what mends which host, and at what cost."""

from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.plans.takings import Document, Result, Round, Taking

HEAD: Final = """\
# Broken hosts, and what mends them

Measured on {date} by `make bench-plans`, which wrote this page; `benchmarks/plans.json` holds the
figures. Every host was really broken, and thrown away after its round; every result was decided by
a check of the scenario's own, run on the host and not through replan.
"""

METHOD: Final = """\
## How it was measured

- A scenario (`benchmarks/plans/scenarios/`) says how a host is broken, gives a plan that would do
  on a sound host, and a check. Before a round the host is broken and the check must be red. As a
  control each plan is carried out with corrections switched off: it must fail.
- *folder*: a folder of this machine, over the local connection. *debian*: a Debian of its own in
  namespaces (mounts, processes, network, host name), over real SSH, as root. systemd does not run
  there: a stand-in `systemctl` starts units and scripts of `/etc/init.d`. Archives of packages are
  signed and served inside the host's own network.
- *Corrections alone*: the plan's author is a person who does not answer. *Planner*: played where
  corrections alone do not do; the first failed pass goes to the planner with its evidence, and one
  revision is allowed. {planner}
- *Second time*: what the planner solved is broken again, on another host, and carried out with the
  memory of fixes. The planner has no answer for it: a call of it would be a failure.
- Attempts are commands that ran, checks apart; seconds from submission to the end, waiting for
  corrections included, with {lanes} scenarios at a time.
- Whatever no rule forbids may run on these hosts. † means that under the guard's own default policy
  the correction would have been left out, since a person would have to see it first.
"""

ASKS: Final = " †"

SCRIPTED: Final = """\
Here it is a script
  behind the Messages API, asked by the real client: it shows that the way to a planner and back
  works, not how good a model is. Its tokens are an estimate, four characters each, of what it was
  asked. `python -m benchmarks.plans --planner anthropic` asks a real one."""


def render(document: Document, *, lanes: int = 2) -> str:
    """The page."""
    planner = SCRIPTED if document.planner == "scripted" else f"It is {document.planner}."
    parts = [
        HEAD.format(date=document.date),
        "\n".join(summary(document)),
        "\n".join(table(document)),
        "\n".join(failures(document.results)),
        METHOD.format(planner=planner, lanes=lanes),
        "\n".join(
            ("## Machine\n", *(f"- {name}: {value}" for name, value in document.machine.items()))
        ),
    ]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part)


def summary(document: Document) -> Iterator[str]:
    """The shares that count."""
    results = document.results
    classic = [each for each in results if each.classic]
    alone = [each for each in results if each.solved(Round.CORRECTIONS)]
    planned = [each for each in results if each.solved(Round.PLANNER)]
    yield "| of all scenarios | |"
    yield "|---|---:|"
    yield f"| played | {len(results)} |"
    yield f"| solved as planned, corrections off (must be 0) | {solved(results, Round.NOTHING)} |"
    yield f"| solved by corrections alone | {share(len(alone), len(results))} |"
    of_classic = sum(each.classic for each in alone)
    yield f"| … of the classic faults among them | {share(of_classic, len(classic))} |"
    unasked = sum(not each.takings[Round.CORRECTIONS].asks_first for each in alone)
    yield f"| … by what the default policy lets run unasked | {share(unasked, len(alone))} |"
    asked = len([each for each in results if Round.PLANNER in each.takings])
    yield f"| solved by the planner, of the rest | {share(len(planned), asked)} |"
    if document.memory:
        again = solved(results, Round.MEMORY)
        silent = sum(
            each.solved(Round.MEMORY) and not each.takings[Round.MEMORY].calls for each in results
        )
        yield f"| … and the second time, on another host | {share(again, len(planned))} |"
        yield f"| … without a call of the planner | {share(silent, len(planned))} |"
    else:
        yield "| … and the second time, from memory | not available |"
    if document.missing:
        yield f"\n**Not played: every scenario that needs a Debian.** {document.missing}"


def table(document: Document) -> Iterator[str]:
    """One row a scenario."""
    yield "| scenario | host | corrections alone | by | planner | second time |"
    yield "|---|---|---|---|---|---|"
    for each in document.results:
        alone = each.takings.get(Round.CORRECTIONS)
        rules = ", ".join(f"`{rule}`" for rule in alone.corrections) if alone else ""
        cells = (
            each.title,
            each.host,
            cell(alone),
            rules + ASKS * alone.asks_first if alone and alone.solved else "",
            cell(each.takings.get(Round.PLANNER), tokens=True),
            cell(each.takings.get(Round.MEMORY), tokens=True)
            if document.memory
            else ("not available" if Round.PLANNER in each.takings else ""),
        )
        yield f"| {' | '.join(text.replace('|', '/') for text in cells)} |"


def cell(taking: Taking | None, *, tokens: bool = False) -> str:
    """Solved or not, attempts, seconds, and where asked for tokens."""
    if taking is None:
        return ""
    mark = "**solved**" if taking.solved else "no"
    told = f"{mark}, {taking.attempts} att., {taking.seconds:.1f} s"
    return f"{told}, {taking.tokens:,} tok." if tokens and taking.calls else told


def failures(results: Sequence[Result]) -> Iterator[str]:
    """What did not go as its author expected."""
    odd = [each for each in results if not each.as_expected]
    if not odd:
        return
    yield "## Not as expected\n"
    for each in odd:
        told = "; ".join(
            f"{round_}: {taking.reason}" for round_, taking in each.takings.items() if taking.reason
        )
        yield f"- {each.name} (expected: {each.way}): {each.fault or told or 'solved otherwise'}"


def solved(results: Sequence[Result], round_: Round) -> int:
    """How many were solved in that round."""
    return sum(each.solved(round_) for each in results)


def share(part: int, whole: int) -> str:
    """`3 of 4 (75 %)`."""
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "none"
