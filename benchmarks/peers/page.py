"""RESULTS.md from a run's document: tables of ratios, what bounds each, memory, the machine."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.memory import Memory
from benchmarks.peers.catalogue import FLOORS, OURS, PEERS, REPLAN, Contestant, Kind
from benchmarks.peers.document import Document
from benchmarks.peers.takings import Figure, Percentiles
from benchmarks.peers.workloads import WORKLOADS, Workload

CONTESTANTS: Final = {each.name: each for each in (*OURS, *FLOORS, *PEERS)}

HEAD: Final = """\
# replan beside its peers

Measured on {date} by `make bench-peers`, which wrote this page; `benchmarks/results.json` holds the
figures. Ratios count: all were taken in turn, in one run, on one machine, against the same servers
(real OpenSSH and Postgres, on loopback). An absolute rate says little about another machine.
"""

SHORT: Final = (
    "**A short run**: a quarter of the commands or fewer, one round. It shows only that it works."
)

METHOD: Final = """\
## How it was measured

- Every rate is a median of rounds in which everybody took a turn, replan and the floors one before
  the others and one after them; the lowest and the highest stand behind it. What is slow took part
  in one round only.
- Starting a peer's program, connecting and warming up are not counted. replan's own time on one
  host is that of the job, from its claim to its end; elsewhere from the first submission until all
  tasks are known to be done.
- `true` is answered by the shell that runs anyway: on replan's side by one that stays, on the
  others' by the login shell of each command. Where a row says `/bin/true`, a program is started;
  it is compared with replan's row for the same.
- *commit each*: the tool keeps no results, so its program commits a row to the same Postgres for
  each. replan does that by itself, and guards each command.
- Latencies are of one command, until the next one may begin. In a program that runs all plans in
  step it is the step's. replan is told of several answers of the staying shell at once, so most of
  its latencies are close to nothing and a few are those of all: for its tail `/bin/true` says more.
- Each peer has its own environment, its versions pinned in `benchmarks/peers/requirements/`; what
  it runs stands in `benchmarks/peers/programs/`.
"""

COLUMNS: Final = (
    "| | {unit} | lowest–highest | p50 / p95 / p99 ms | replan is … as fast | bound by |"
)
RULE: Final = "|---|---:|---:|---:|---:|---|"


def render(document: Document, plots: Sequence[str] = ()) -> str:
    """The page. `plots` are the keys of the workloads that a plot was drawn of."""
    parts = [HEAD.format(date=document.date)]
    if document.short:
        parts.append(SHORT + "\n")
    for workload in WORKLOADS:
        figures = document.of(workload.key)
        if figures:
            parts.append("\n".join(section(workload, figures, workload.key in plots)))
    if document.memory is not None:
        parts.append("\n".join(memory(document.memory)))
    if document.missing:
        parts.append("\n".join(("## Not measured\n", *listed(document.missing))))
    parts.append(METHOD)
    machine = {**document.machine, **document.versions}
    parts.append("\n".join(("## Machine and versions\n", *listed(machine))))
    return "\n".join(parts)


def section(workload: Workload, figures: Sequence[Figure], plotted: bool) -> Iterator[str]:
    """A workload's table, the fastest first."""
    yield f"## {workload.title}\n"
    if plotted:
        yield f"![{workload.title}: {workload.unit}](plots/{workload.key}.svg)\n"
    yield COLUMNS.format(unit=workload.unit)
    yield RULE
    rates = {figure.contestant: figure.rate for figure in figures}
    for figure in sorted(figures, key=lambda figure: -(figure.rate or 0)):
        yield row(figure, rates.get(counterpart(figure).name))
    yield ""


def counterpart(figure: Figure) -> Contestant:
    """The form of replan that ran the same command."""
    contestant = CONTESTANTS.get(figure.contestant)
    same = (each for each in OURS if contestant and each.command == contestant.command)
    return next(same, REPLAN)


def row(figure: Figure, ours: float | None) -> str:
    """One contestant: in bold what is ours, in italics the floors."""
    contestant = CONTESTANTS.get(figure.contestant)
    mark = {Kind.REPLAN: "**", Kind.FLOOR: "*"}.get(contestant.kind, "") if contestant else ""
    bound = contestant.bound if contestant else ""
    reason = f"{bound}; not measured again: {figure.failure}" if figure.failure else bound
    if figure.rate is None:
        reason = f"not measured: {figure.failure}"
    cells = (
        f"{mark}{figure.contestant}{mark}",
        number(figure.rate),
        f"{number(min(figure.rates))}–{number(max(figure.rates))}" if figure.rates else "",
        milliseconds(figure.percentiles),
        ratio(ours, figure),
        reason.replace("|", "/"),
    )
    return f"| {' | '.join(cells)} |"


def ratio(ours: float | None, figure: Figure) -> str:
    """How many times as fast replan is."""
    if figure.contestant == counterpart(figure).name or ours is None or not figure.rate:
        return ""
    return f"{number(ours / figure.rate)} ×"


def number(value: float | None) -> str:
    """Three digits that say something."""
    if value is None:
        return ""
    if value >= 100:  # noqa: PLR2004 - three digits
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"  # noqa: PLR2004 - three digits


def milliseconds(percentiles: Percentiles | None) -> str:
    """The three of them; nothing where they are not known."""
    if percentiles is None:
        return ""
    values = (percentiles.p50, percentiles.p95, percentiles.p99)
    return " / ".join(number(value) for value in values)


def memory(taken: Memory) -> Iterator[str]:
    """What an executor keeps in memory."""
    yield "## Memory of one executor (resident)\n"
    yield "| | MiB |"
    yield "|---|---:|"
    yield f"| started, before any of those hosts | {taken.fresh:.0f} |"
    hosts = f"idle, holding {taken.hosts} warm hosts ({taken.connections} connections)"
    yield f"| {hosts} | {taken.warm:.0f} |"
    yield f"| another, after {taken.commands // 10:,} commands | {taken.before:.1f} |"
    yield f"| after {taken.commands:,} more | {taken.after:.1f} |"
    yield f"| growth | {taken.after - taken.before:+.1f} |"
    yield ""


def listed(values: Mapping[str, str]) -> Iterator[str]:
    """One line each."""
    for name, value in values.items():
        yield f"- {name}: {value}"
    yield ""
