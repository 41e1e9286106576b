"""Taking a pass over from whoever drove it before: it is stopped, then its records are read."""

from dataclasses import dataclass

from shared.domain.errors import Transient
from workers.shells.records import CommandRecord, Identity, Log, State, generation
from workers.shells.remote.errors import transient
from workers.shells.remote.runner import Runner

UNKEYED = "look"
"""Begins the keys of commands that only look at something: they may run again."""


def is_unkeyed(key: str | None) -> bool:
    """Whether that is no key of its caller's."""
    return key is None or key.startswith(UNKEYED)


@dataclass(frozen=True, slots=True)
class StartedCommand:
    """A command that the host has a record of, and the runner that it was given to."""

    record: CommandRecord
    runner: Identity


def take_over(runner: Runner, stems: tuple[str, ...]) -> dict[str, StartedCommand]:
    """What was started of the pass under its keys; nothing further is, by anybody else.

    Raises Transient when a later driver has it, or the host cannot note that somebody has.
    """
    known: dict[str, StartedCommand] = {}
    own = generation(runner.stem)
    for stem in sorted(stems, key=generation):
        if generation(stem) > own:
            raise overtaken_error(runner)
        if not runner.stop(stem):
            sentence = (
                "its records cannot be written, so that no other worker can take over what it runs"
            )
            raise transient(runner.host, sentence, stage="execute")
        known |= _read(runner, runner.log(stem))
    return known


def overtaken_error(runner: Runner) -> Transient:
    """Another driver has the pass."""
    return transient(runner.host, "another worker has taken the pass over", stage="execute")


def _read(runner: Runner, log: Log) -> dict[str, StartedCommand]:
    before = log.runner
    if before is None:
        return {}
    running = log.open
    if running is not None and running.key.startswith(UNKEYED):
        runner.kill(running, before, "dropped")
        running = None
    ours = (before.pid, before.start) == (runner.identity.pid, runner.identity.start)
    if running is None and not ours:
        runner.quit(before)
    return {
        key: StartedCommand(record, before)
        for key, record in log.records.items()
        if record.state is not State.NEVER and not key.startswith(UNKEYED)
    }
