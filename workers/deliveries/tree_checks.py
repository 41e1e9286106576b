"""Checks of a tree: each as a command on the host that outlives its worker, and an attempt."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from shared.domain.attempt import CommandResult, EndedBy, Outcome
from shared.domain.errors import Misconfigured, Transient
from shared.domain.next_step import NextStep
from workers.passes.outcomes import describe_end, outcome_of
from workers.shells.door import Door
from workers.shells.ports import Call

TOLD_AT_MOST = 4000
"""Characters of the output of a check, from its end, that its author is told."""

_UNDECIDED = frozenset({Outcome.UNKNOWN, Outcome.CANCELLED})


class CheckLog(Protocol):
    """Writes checks down as attempts."""

    def begin(self, number: int, command: str) -> None:
        """The check of that number, from 1, begins."""
        ...

    def end(self, number: int, result: CommandResult, outcome: Outcome, reason: str) -> str:
        """It ended; returns the key of its attempt."""
        ...


STAGE = "accept"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of one check; `output` is the end of what it printed."""

    command: str
    ok: bool
    told: str
    attempt: str
    seconds: float
    output: str = ""

    @property
    def as_json(self) -> dict[str, Any]:
        """As it stands in the report of a judgement."""
        return {
            "command": self.command,
            "ok": self.ok,
            "told": self.told,
            "attempt": self.attempt,
            "seconds": self.seconds,
            "output": self.output,
        }


def require_allowed(door: Door, commands: tuple[str, ...], repository: str) -> None:
    """Raise Misconfigured for a check of the repository that the guard does not allow."""
    for command in commands:
        verdict = door.verdict(command)
        if not verdict.allowed:
            raise Misconfigured(
                f"the check of repository {repository!r} may not run: {verdict.reason}",
                stage="guard",
                next_step=NextStep.of("guard check", command),
            )


def run_checks(
    door: Door,
    commands: tuple[str, ...],
    *,
    key: Callable[[int], str],
    log: CheckLog,
    timeout: float,
) -> Iterator[CheckResult]:
    """Run the checks in order; the first red one is the last.

    Each runs effectively once under its key. Raises Transient when one was ended before it said
    anything, and what the door raises.
    """
    for number, command in enumerate(commands, 1):
        log.begin(number, command)
        result = door.run(
            Call(command, timeout, key=key(number), label=command.splitlines()[0][:100]),
            on_output=lambda *_: None,
            cancelled=lambda: False,
        )
        outcome, told = outcome_of(result, None)
        attempt = log.end(number, result, outcome, told)
        if outcome in _UNDECIDED or result.ended_by is EndedBy.CANCEL:
            raise Transient(f"nobody knows what the check says: {told}", stage=STAGE)
        yield CheckResult(
            command,
            result.ok,
            describe_end(result),
            attempt,
            (result.ended_at - result.started_at).total_seconds(),
            "" if result.ok else _tail(result),
        )
        if not result.ok:
            return


def _tail(result: CommandResult) -> str:
    output = (result.stdout + result.stderr).decode(errors="replace").strip()
    return output[-TOLD_AT_MOST:]
