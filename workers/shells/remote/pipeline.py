"""Commands that a runner is sent before the ones that come first have ended."""

import itertools
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass

from shared.domain.errors import Rejected
from workers.ports import Foreseen
from workers.shells.remote.channels import LostError
from workers.shells.remote.runner import ANSWER_SECONDS, Ended, Refused, Runner, Start
from workers.shells.remote.script import checked
from workers.shells.remote.takeover import UNKEYED

_AT_ONCE = 16
_BYTES_AT_ONCE = 8_192
"""What a runner is sent twice over fits into a pipe: sending never waits for it to read."""

_SAID_NO = range(1, 126)
"""Exit codes that are an answer; what is above says that the question was not asked."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A command that a runner was sent, under the key that it has there."""

    call: Foreseen
    key: str


class Ahead:
    """What is foreseen for one runner: what it was sent already, and what comes after that."""

    def __init__(self, valid_for: Callable[[], float]) -> None:
        self._valid_for = valid_for
        self._source: Generator[Foreseen] | None = None
        self._next: Foreseen | None = None
        self._sent: deque[Sent] = deque()
        self._looks = itertools.count(1)

    @property
    def waiting(self) -> bool:
        """Whether the runner may start something that nobody has asked for yet."""
        return bool(self._sent)

    def foresee(self, calls: Generator[Foreseen]) -> None:
        """These come next, in place of what was foreseen and not sent."""
        self.forget_coming()
        self._source = calls
        self._pull()

    def forget(self) -> None:
        """Nothing is foreseen any more, and the runner is not used any more."""
        self.forget_coming()
        self._sent.clear()

    def forget_coming(self) -> None:
        """Nothing is foreseen any more but what was sent."""
        self._next = None
        if self._source is not None:
            self._source.close()
            self._source = None

    def sent(self, command: str, key: str | None) -> Sent | None:
        """The command that was sent next, if it is this one."""
        first = self._sent[0] if self._sent else None
        return first if first is not None and _is(first.call, command, key) else None

    def send(self, runner: Runner, command: str, key: str | None) -> Sent | None:
        """Send this command with what comes after it, if it is the next that is foreseen."""
        if self._next is None or not _is(self._next, command, key):
            self.forget_coming()
            return None
        runner.begin(*self._starts(runner, None))
        return self._sent[0]

    def first(self, runner: Runner) -> list[Start]:
        """What a runner is to be sent as it opens a pass, started where that is a new one."""
        return self._starts(runner, True)

    def refill(self, runner: Runner) -> None:
        """Send more, if not much is left that was sent."""
        if self._next is not None and 0 < len(self._sent) <= _AT_ONCE // 2:
            starts = self._starts(runner, self._sent[-1].call.ends_well)
            if starts:
                runner.begin(*starts)

    def answered(self, runner: Runner, outcome: Ended | Refused) -> None:
        """The command that was sent next came to this end.

        Raises LostError when the runner does not do as it was asked to.
        """
        call = self._sent.popleft().call
        if not _as_foreseen(call, outcome):
            self.skipped(runner)

    def skipped(self, runner: Runner) -> None:
        """What was sent is not started, each time for what came of the one before it.

        Raises LostError when the runner does not do as it was asked to.
        """
        self.forget_coming()
        while self._sent:
            outcome = runner.ended(ANSWER_SECONDS)
            if not isinstance(outcome, Refused):
                raise LostError(f"{self._sent[0].key} was not skipped: {outcome}")
            self._sent.popleft()

    def _starts(self, runner: Runner, after: bool | None) -> list[Start]:
        not_after = runner.uptime(self._valid_for())
        starts: list[Start] = []
        size = 0
        while (call := self._next) is not None and len(starts) < _AT_ONCE:
            size += _size(call)
            if size > _BYTES_AT_ONCE and (starts or after is not None):
                break
            key = call.key or f"{UNKEYED}a{next(self._looks)}"
            starts.append(
                Start(key, call.command, not_after, call.timeout, call.label, call.variables, after)
            )
            self._sent.append(Sent(call, key))
            after = call.ends_well
            self._pull()
        return starts

    def _pull(self) -> None:
        """Go on to the next call; none comes after one that no host can take."""
        self._next = None if self._source is None else next(self._source, None)
        if self._next is None:
            return
        try:
            checked(self._next.command)
        except Rejected:
            self.forget_coming()


def _is(call: Foreseen, command: str, key: str | None) -> bool:
    return (call.command, call.key) == (command, key)


def _size(call: Foreseen) -> int:
    texts = (call.command, call.label, *call.variables.values())
    return sum(len(text.encode()) for text in texts)


def _as_foreseen(call: Foreseen, outcome: Ended | Refused) -> bool:
    if isinstance(outcome, Refused):
        return False
    return outcome.exit_code == 0 if call.ends_well else outcome.exit_code in _SAID_NO
