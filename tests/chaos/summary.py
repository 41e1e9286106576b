"""What a reader of the campaign sees: a table of faults, the counts, and the first few of each."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.chaos.campaign import Campaign
from tests.chaos.evidence import Evidence
from tests.chaos.ledger import Record
from tests.chaos.oracle import Verdict
from tests.chaos.resumption import percentiles

SHOWN: Final = 25
_TRACE: Final = "Traceback (most recent call last)"
_PLACES: Final = re.compile(r"0x[0-9a-f]+|\d+")


def summary(
    campaign: Campaign, verdict: Verdict, record: Record, evidence: Evidence
) -> Iterator[str]:
    """The lines of it."""
    yield from _faults(campaign)
    yield from _listed("not possible here", campaign.impossible.items())
    crew = campaign.stage.crew
    yield from _by_fault(campaign)
    yield f"tasks {len(campaign.stage.book.orders)}, commands begun {record.begun.total()}"
    book = campaign.stage.book
    yield f"set back: {len(book.forgotten)} tasks and {len(book.passes)} passes forgotten"
    yield f"interventions about them: {len(evidence.asked)}"
    yield f"commands cut short on a host: {record.unfinished}"
    yield from _listed("processes that ended alone", Counter(crew.ended_alone).items())
    yield from crew.last_words[:SHOWN]
    logs = sorted(crew.folder.glob("*.log"))
    yield from _listed("tracebacks in the logs", tracebacks(logs).most_common(SHOWN))
    yield from _listed("facts parked as defects", evidence.defects)
    yield from _listed("unknown where a fault explains it", verdict.excused)
    yield from _listed("output cut where a fault explains it", verdict.cut)
    yield from _listed("LOSS", verdict.loss)
    yield from _listed("DUP", verdict.dup)
    yield from _listed("FORGED RUNS", verdict.forged)
    yield from _listed("UNKNOWN without a fault", verdict.unknown)


def tracebacks(logs: Iterable[Path]) -> Counter[str]:
    """The last lines of the tracebacks in some logs, numbers left out, and how often each came."""
    found: Counter[str] = Counter()
    for log in logs:
        lines = log.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines):
            if _TRACE in line:
                found[_PLACES.sub("#", _last_line(line, lines[number + 1 :]))[:200]] += 1
    return found


def _last_line(line: str, following: Sequence[str]) -> str:
    """The line that names the error: inside a log entry, or after what is indented."""
    if line.startswith("{"):
        entry = json.loads(line)
        trace: str = entry.get("exception") or entry.get("event", "")
        return f"{entry.get('event', '')[:60]!r}: {trace.strip().splitlines()[-1]}"
    return next((text for text in following if text and not text.startswith((" ", "{"))), line)


def _faults(campaign: Campaign) -> Iterator[str]:
    phases = list(dict.fromkeys(moment.phase for moment in campaign.moments))
    names = sorted({moment.fault.name for moment in campaign.moments} | set(campaign.missing))
    counts = {phase: campaign.counts(phase) for phase in phases}
    total = campaign.counts()
    phases = [phase for phase in phases if len(counts[phase]) > 1]
    yield " ".join([f"{'fault':<30}", *(f"{phase:>9}" for phase in phases), "    total  missing"])
    for name in names:
        cells = (f"{counts[phase][name] or '':>9}" for phase in phases)
        missing = campaign.missing[name] or ""
        yield " ".join([f"{name:<30}", *cells, f"{total[name]:>9}", f"{missing:>8}"])


def _by_fault(campaign: Campaign) -> Iterator[str]:
    """The longest stand-still under each fault, and how soon the work in hand went on."""
    seconds = campaign.stage.resumptions.seconds
    yield f"{'fault':<30} longest stand-still  after its end     resumed     p50     p95 (s)"
    for name in sorted({moment.fault.name for moment in campaign.moments} | set(seconds)):
        whole, after = campaign.stand_still(name)
        spans = seconds.get(name, [])
        yield f"{name:<30} {whole:>19.1f} {after:>14.1f}  {_spread(spans)}"
    everything = campaign.stage.resumptions.everything
    yield f"{'all':<30} {'':>19} {'':>14}  {_spread(everything)}"


def _spread(spans: list[float]) -> str:
    if not spans:
        return f"{'':>10}"
    p50, p95 = percentiles(spans)
    return f"{len(spans):>10} {p50:>7.1f} {p95:>7.1f}"


def _listed(title: str, found: Iterable[object]) -> Iterator[str]:
    listed = [each if isinstance(each, str) else " x ".join(map(str, each)) for each in found]  # type: ignore[call-overload]
    yield f"{title}: {len(listed)}"
    yield from (f"  {each}" for each in listed[:SHOWN])
    if len(listed) > SHOWN:
        yield f"  … and {len(listed) - SHOWN} more"
