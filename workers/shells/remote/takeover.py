"""Takes a pass over from an earlier driver: it stops the driver, then reads its records."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain

from shared.domain.errors import Transient
from shared.domain.ids import subtask_of_key
from shared.domain.records import HostRecord, RecordsAnswer
from workers.passes.means import ForgottenError
from workers.shells.ports import LOOK, KnownClaims
from workers.shells.records import CommandRecord, Identity, Log, State, Stem, stem_of
from workers.shells.remote.errors import transient
from workers.shells.remote.runner import Runner


@dataclass(frozen=True, slots=True)
class StartedCommand:
    """A command in the host's records, and the runner that got it."""

    record: CommandRecord
    runner: Identity


@dataclass(frozen=True, slots=True)
class Stems:
    """The stems of a step besides our own, by what they mean to the driver of a pass.

    `ours` are those of earlier drivers of the pass, `adopted` those that a person has declared
    part of it. `unknown` are those of claims that the database does not know, of whatever pass.
    """

    ours: tuple[Stem, ...] = ()
    adopted: tuple[Stem, ...] = ()
    unknown: tuple[Stem, ...] = ()


def sort_stems(own: Stem, others: Iterable[Stem], claims: KnownClaims) -> Stems:
    """Sort the other stems of a step.

    What a person has said about a claim holds for the pass that was at hand then. Of a later pass,
    it only says that the person knows of it: its own driver asks again.
    """
    ours: list[Stem] = []
    adopted: list[Stem] = []
    unknown: list[Stem] = []
    answers: dict[str, dict[int, RecordsAnswer]] = {}
    for each in claims.settled:
        answers.setdefault(each.token, {})[each.pass_no] = each.answer
    pass_no = own.place[1]
    for stem in others:
        same = stem.name == own.name
        if stem.claim in {"", own.claim, *claims.tokens}:
            ours += [stem] * same
        elif claims.adopt:
            adopted += [stem] * same
        elif stem.claim not in answers or (same and pass_no not in answers[stem.claim]):
            unknown.append(stem)
        elif same and answers[stem.claim][pass_no] is RecordsAnswer.ADOPT:
            adopted.append(stem)
    return Stems(tuple(ours), tuple(adopted), tuple(unknown))


def take_over(runner: Runner, stems: Stems) -> dict[str, StartedCommand]:
    """The commands of the pass that were started, by key; no other driver starts any more of them.

    Raises ForgottenError if something was started under an unknown claim, Transient if a later
    driver has the pass, or if the host cannot record the takeover.
    """
    unknown = [_take(runner, stem, foreign=True) for stem in _in_order(stems.unknown)]
    if any(unknown):
        raise ForgottenError(tuple(chain.from_iterable(_evidence(runner, s) for s in unknown)))
    known: dict[str, StartedCommand] = {}
    for stem in _in_order(stems.adopted):
        known |= _take(runner, stem, foreign=True)
    own = stem_of(runner.stem).generation
    for stem in _in_order(stems.ours):
        if stem.generation > own:
            raise overtaken_error(runner)
        known |= _take(runner, stem)
    return known


def overtaken_error(runner: Runner) -> Transient:
    """The error for a pass that another driver has taken over."""
    return transient(runner.host, "another worker has taken the pass over", stage="execute")


def _in_order(stems: Iterable[Stem]) -> list[Stem]:
    return sorted(stems, key=lambda stem: (stem.place[1], stem.generation))


def _take(runner: Runner, stem: Stem, *, foreign: bool = False) -> dict[str, StartedCommand]:
    if not runner.stop(stem.text):
        sentence = "its records are not writable, so no other worker can take over its commands"
        raise transient(runner.host, sentence, stage="execute")
    return _read(runner, runner.log(stem.text), foreign=foreign)


def _read(runner: Runner, log: Log, *, foreign: bool) -> dict[str, StartedCommand]:
    """The commands of a log; its idle runner is ended, unless its driver is not one of ours."""
    before = log.runner
    if before is None:
        return {}
    running = log.open
    if running is not None and running.key.startswith(LOOK):
        runner.kill(running, before, "dropped")
        running = None
    ours = (before.pid, before.start) == (runner.identity.pid, runner.identity.start)
    if running is None and not ours and not foreign:
        runner.quit(before, log.stem)
    return {
        key: StartedCommand(record, before)
        for key, record in log.records.items()
        if record.state is not State.NEVER and not key.startswith(LOOK)
    }


def _evidence(runner: Runner, started: dict[str, StartedCommand]) -> Iterable[HostRecord]:
    for key, each in started.items():
        record, stem = each.record, stem_of(each.record.stem)
        revision, pass_no = stem.place
        yield HostRecord(
            claim=stem.claim,
            revision=revision,
            pass_no=pass_no,
            key=key,
            subtask=subtask_of_key(key),
            command=record.command,
            running=record.state is State.RUNNING
            and bool(runner.remaining_processes(record, each.runner)),
            exit_code=record.exit_code,
            started_at=_started_at(runner, each),
        )


def _started_at(runner: Runner, started: StartedCommand) -> datetime | None:
    if started.record.since is None or started.runner.boot != runner.identity.boot:
        return None
    return datetime.now(UTC) - timedelta(seconds=runner.uptime() - started.record.since)
