"""Checks of a tree: each as a command on the host that outlives its worker, and an attempt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from shared.domain.attempt import CommandResult, EndedBy
from shared.domain.errors import Misconfigured, Rejected, Transient
from shared.domain.next_step import NextStep
from shared.domain.outcome import Outcome
from workers.passes.outcomes import describe_end, outcome_of
from workers.shells.door import Door
from workers.shells.ports import Call

TOLD_AT_MOST = 4000
"""Characters of the output of a check, from its end, that its author is told."""

_UNDECIDED = frozenset({Outcome.UNKNOWN, Outcome.CANCELLED})


class CheckLog(Protocol):
    """Writes checks down as attempts."""

    def begin(self, key: str, command: str) -> None:
        """A check begins."""
        ...

    def end(self, key: str, result: CommandResult, outcome: Outcome, reason: str) -> str:
        """It ended; returns the key of its attempt."""
        ...


STAGE = "accept"

MOST_ROUNDS = 4
"""So many rounds of checks at most, until one is not cut short; then a person decides."""

CheckKey = Callable[[int, int], str]
"""The identity of a check: its number, and that of the round, both from 1."""


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
    key: CheckKey,
    log: CheckLog,
    timeout: float,
    fresh: Callable[[], object],
    is_over: Callable[[], bool],
) -> tuple[CheckResult, ...]:
    """Run the checks in order; the first red one is the last.

    All of them run in one round, which begins with the files that `fresh` makes; a check may
    change them for those after it. Each runs effectively once under its key, so whoever drives a
    round on makes nothing fresh. If a check is cut short (its host was restarted), a new round
    begins. Raises Transient if that is so and nobody awaits what they say, Rejected after
    `MOST_ROUNDS`, and what the door raises.
    """
    told = ""
    for round_no in range(1, MOST_ROUNDS + 1):
        if commands and door.recall(key(1, round_no)) is None:
            fresh()
        results: list[CheckResult] = []
        try:
            for number, command in enumerate(commands, 1):
                results.append(_run(door, command, key(number, round_no), log, timeout))
                if not results[-1].ok:
                    break
        except _CutShortError as error:
            told = str(error)
            if is_over():
                raise Transient(f"nobody knows what the check says: {told}", stage=STAGE) from error
        else:
            return tuple(results)
    raise Rejected(
        f"its checks were begun {MOST_ROUNDS} times, and cut short each time: {told}", stage=STAGE
    )


class _CutShortError(Exception):
    """A check was ended before it said anything."""


def _run(door: Door, command: str, key: str, log: CheckLog, timeout: float) -> CheckResult:
    log.begin(key, command)
    result = door.run(
        Call(command, timeout, key=key, label=command.splitlines()[0][:100]),
        on_output=lambda *_: None,
        cancelled=lambda: False,
    )
    outcome, told = outcome_of(result, None)
    attempt = log.end(key, result, outcome, told)
    if outcome in _UNDECIDED or result.ended_by is EndedBy.CANCEL:
        raise _CutShortError(f"`{command.splitlines()[0][:100]}`: {told}")
    return CheckResult(
        command,
        result.ok,
        describe_end(result),
        attempt,
        (result.ended_at - result.started_at).total_seconds(),
        "" if result.ok else _tail(result),
    )


def _tail(result: CommandResult) -> str:
    output = (result.stdout + result.stderr).decode(errors="replace").strip()
    return output[-TOLD_AT_MOST:]
