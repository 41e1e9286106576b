"""PLANS.md from a run's document: what mends which host, and at what cost."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from benchmarks.plans.proof import Temptation
from benchmarks.plans.takings import GOAL, Document, Recall, Result, Round, Taking

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
  there: stand-ins for `systemctl` and `journalctl` say what systemd says. Archives of packages are
  signed and served inside the host's own network.
- Each scenario is one text that is met three ways: as it is; under *other names* (files, folders
  at another depth, units, ports, packages, accounts, keys) with the same cause; and with *another
  cause* of the same message, where the fix of the first one is wrong. There a canary is green
  before, and tells afterwards whether anything was spoilt.
- *Corrections alone*: the plan's author is a person who does not answer. From then on, corrections
  are switched off where they are expected to solve it, so that planner and memory are tried on all.
- *Planner*: the first failed pass goes to the planner with its evidence; two revisions are allowed.
  {planner}
- *Memory*: what the planner with looks has solved is broken again, on other hosts. *By itself*: no
  model was asked. *As a hint*: the planner was told what had helped and answered with that; here it
  is a script that knows no fix of its own. It puts the words of its own step in the place of those
  that the fix replaced, and what the hint says stands for what. *After a look*: the fix has names
  that neither tells (what the port's owner is called, what stands in the file); the script looks,
  and puts in a name only where it was shown. So it shows whether hint, evidence and looks hold what
  a planner needs, not how well a model reads them.
  Under another cause the planner leaves it to a person; then the fix is carried out by hand, to
  show what it would have done.
- Attempts are commands that ran, checks and looks apart; seconds from submission to the end,
  waiting for corrections included, with {lanes} scenarios at a time.
- Whatever no rule forbids may run on these hosts. † means that under the guard's own default policy
  the correction would have been left out, since a person would have to see it first.
"""

ASKS: Final = " †"

SCRIPTED: Final = """\
Here it is a script behind the Messages API, asked by the real client. It revises once it is told
  the output that shows the cause, be it in the evidence or by a look. Until then it looks; where it
  may not, it has the step print what it wants to see, and is asked again when that has failed. It
  shows what evidence and looks are worth, not how good a model is. Its tokens are an estimate, four
  characters each, of what it was asked. `python -m benchmarks.plans --planner anthropic` asks a
  real one."""


def render(document: Document, *, lanes: int = 2) -> str:
    """The page."""
    planner = SCRIPTED if document.planner == "scripted" else f"It is {document.planner}."
    parts = [
        HEAD.format(date=document.date),
        document.note,
        "\n".join(summary(document)),
        "\n".join(costs(document.results)),
        "\n".join(planning(document.results)),
        "\n".join(memory(document.results)),
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
    learnt = [each for each in results if each.solved(Round.LOOKING)]
    yield "| of all scenarios | |"
    yield "|---|---:|"
    yield f"| played | {len(results)} |"
    yield f"| solved as planned, corrections off (must be 0) | {solved(results, Round.NOTHING)} |"
    yield f"| solved by corrections alone | {share(len(alone), len(results))} |"
    of_classic = sum(each.classic for each in alone)
    yield f"| … of the classic faults among them | {share(of_classic, len(classic))} |"
    unasked = sum(not each.takings[Round.CORRECTIONS].asks_first for each in alone)
    yield f"| … by what the default policy lets run unasked | {share(unasked, len(alone))} |"
    blind = solved(results, Round.BLIND)
    yield f"| solved by the planner without looks | {share(blind, len(results))} |"
    yield f"| solved by the planner with looks | {share(len(learnt), len(results))} |"
    yield from recalled(learnt)
    if document.missing:
        yield f"\n**Not played: every scenario that needs a Debian.** {document.missing}"


def recalled(learnt: Sequence[Result]) -> Iterator[str]:
    """What the memory made of what the planner had solved."""
    for round_, told in (
        (Round.AGAIN, "… the second time, on another host, from memory"),
        (Round.OTHER_NAMES, f"… under other names and depth (goal {GOAL:.0%})"),
    ):
        again = [each for each in learnt if each.solved(round_)]
        parts = Counter(each.recalled(round_) for each in again)
        yield (
            f"| {told} | {share(len(again), len(learnt))}: {parts[Recall.ITSELF]} by itself, "
            f"{parts[Recall.HINT]} as a hint, {parts[Recall.SEEN]} as a hint after a look |"
        )
    tempted = [taking for each in learnt if (taking := each.takings.get(Round.OTHER_CAUSE))]
    acted = sum(taking.recall is Recall.ITSELF for taking in tempted)
    harm = sum(taking.harm for taking in tempted)
    bait = sum(taking.harm or taking.temptation == Temptation.HARM for taking in tempted)
    of_all = f"{acted} of {len(tempted)}"
    yield f"| … under another cause: carried out by itself (must be 0) | {of_all} |"
    yield f"| … … with harm on the host (must be 0) | {harm} |"
    yield f"| … … where the fix would have done harm; else it is of no use | {bait} |"


def costs(results: Sequence[Result]) -> Iterator[str]:
    """What the planner costs with looks and without, over what both have solved."""
    both = [each for each in results if each.solved(Round.BLIND) and each.solved(Round.LOOKING)]
    if not both:
        return
    told = f"mean of the {len(both)} that both solve"
    yield f"| {told} | calls | looks | attempts | tokens | seconds |"
    yield "|---|---:|---:|---:|---:|---:|"
    for round_, told in ((Round.BLIND, "without looks"), (Round.LOOKING, "with looks")):
        takings = [each.takings[round_] for each in both]
        calls, looks, attempts = (
            fmean(getattr(each, name) for each in takings)
            for name in ("calls", "looks", "attempts")
        )
        tokens = fmean(each.tokens for each in takings)
        seconds = fmean(each.seconds for each in takings)
        yield (
            f"| {told} | {calls:.1f} | {looks:.1f} | {attempts:.1f} | {tokens:,.0f} "
            f"| {seconds:.1f} |"
        )


def planning(results: Sequence[Result]) -> Iterator[str]:
    """One row a scenario: rules, and planners."""
    yield "## Corrections and planners\n"
    yield "| scenario | host | corrections alone | by | planner without looks | with looks |"
    yield "|---|---|---|---|---|---|"
    for each in results:
        alone = each.takings.get(Round.CORRECTIONS)
        rules = ", ".join(f"`{rule}`" for rule in alone.corrections) if alone else ""
        yield row(
            each.title,
            each.host,
            cell(alone),
            rules + ASKS * alone.asks_first if alone and alone.solved else "",
            cell(each.takings.get(Round.BLIND)),
            cell(each.takings.get(Round.LOOKING)),
        )


def memory(results: Sequence[Result]) -> Iterator[str]:
    """One row a scenario: what the memory did the next times."""
    yield "## The memory of fixes\n"
    yield "| scenario | the second time | other names | another cause | what the fix does there |"
    yield "|---|---|---|---|---|"
    for each in results:
        if not each.solved(Round.LOOKING):
            continue
        tempted = each.takings.get(Round.OTHER_CAUSE)
        yield row(
            each.title,
            remembered(each.takings.get(Round.AGAIN)),
            remembered(each.takings.get(Round.OTHER_NAMES)),
            left_alone(tempted),
            "harm" if tempted and tempted.harm else tempted.temptation if tempted else "",
        )


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(text.replace('|', '/') for text in cells)} |"


def cell(taking: Taking | None) -> str:
    """Solved or not, attempts, seconds, and what a model was asked."""
    if taking is None:
        return ""
    mark = "**solved**" if taking.solved else "no"
    told = f"{mark}, {taking.attempts} att., {taking.seconds:.1f} s"
    if not taking.calls:
        return told
    looks = f"{taking.looks} looks, " if taking.looks else ""
    return f"{told}, {looks}{taking.calls} calls, {taking.tokens:,} tok."


def remembered(taking: Taking | None) -> str:
    """Solved or not, and by what part of the memory."""
    if taking is None:
        return ""
    mark = "**solved**" if taking.solved else "no"
    how = taking.recall.value or "nothing known"
    return f"{mark}, {how}, {taking.attempts} att., {taking.seconds:.1f} s"


def left_alone(taking: Taking | None) -> str:
    """Whether the memory kept its hands off."""
    if taking is None:
        return ""
    if taking.recall is Recall.ITSELF:
        return "**carried out**, with harm" if taking.harm else "**carried out**"
    return "**harm**" if taking.harm else "left alone"


def failures(results: Sequence[Result]) -> Iterator[str]:
    """What did not go as its author expected, or was not known again, and what came of it."""
    odd = [each for each in results if not each.as_expected]
    missed = [
        each
        for each in results
        if each.solved(Round.LOOKING) and not each.solved(Round.OTHER_NAMES) and not each.fault
    ]
    for told, listed, rounds in (
        ("Not as expected", odd, tuple(Round)),
        ("Not known again under other names", missed, (Round.OTHER_NAMES,)),
    ):
        if listed:
            yield f"## {told}\n"
            yield from (f"- {each.name}: {_what_came(each, rounds)}" for each in listed)
            yield ""


def _what_came(result: Result, rounds: Sequence[Round]) -> str:
    """What became of a scenario in those rounds, where that tells something."""
    takings = [(each, result.takings[each]) for each in rounds if each in result.takings]
    told = "; ".join(
        f"{round_}: {taking.reason}"
        for round_, taking in takings
        if taking.reason and round_ not in {Round.NOTHING, Round.OTHER_CAUSE}
    )
    acted = "; the memory acted under another cause" * result.did_harm
    return f"{result.fault or told or f'expected to be solved by {result.way}'}{acted}"


def solved(results: Sequence[Result], round_: Round) -> int:
    """How many were solved in that round."""
    return sum(each.solved(round_) for each in results)


def share(part: int, whole: int) -> str:
    """`3 of 4 (75 %)`."""
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "none"
