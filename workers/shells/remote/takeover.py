"""Takes a pass over from an earlier driver: it stops the driver, then reads its records."""

from dataclasses import dataclass

from shared.domain.errors import Transient
from workers.shells.ports import LOOK
from workers.shells.records import CommandRecord, Identity, Log, State, generation
from workers.shells.remote.errors import transient
from workers.shells.remote.runner import Runner


@dataclass(frozen=True, slots=True)
class StartedCommand:
    """A command in the host's records, and the runner that got it."""

    record: CommandRecord
    runner: Identity


def take_over(runner: Runner, stems: tuple[str, ...]) -> dict[str, StartedCommand]:
    """The commands of the pass that were started, by key; no other driver starts any more of them.

    Raises Transient if a later driver has the pass, or if the host cannot record the takeover.
    """
    known: dict[str, StartedCommand] = {}
    own = generation(runner.stem)
    for stem in sorted(stems, key=generation):
        if generation(stem) > own:
            raise overtaken_error(runner)
        if not runner.stop(stem):
            sentence = "its records are not writable, so no other worker can take over its commands"
            raise transient(runner.host, sentence, stage="execute")
        known |= _read(runner, runner.log(stem))
    return known


def overtaken_error(runner: Runner) -> Transient:
    """The error for a pass that another driver has taken over."""
    return transient(runner.host, "another worker has taken the pass over", stage="execute")


def _read(runner: Runner, log: Log) -> dict[str, StartedCommand]:
    before = log.runner
    if before is None:
        return {}
    running = log.open
    if running is not None and running.key.startswith(LOOK):
        runner.kill(running, before, "dropped")
        running = None
    ours = (before.pid, before.start) == (runner.identity.pid, runner.identity.start)
    if running is None and not ours:
        runner.quit(before)
    return {
        key: StartedCommand(record, before)
        for key, record in log.records.items()
        if record.state is not State.NEVER and not key.startswith(LOOK)
    }
