"""Commands that a runner is sent before the ones that come first have ended."""

import itertools
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import replace

from shared.domain.errors import Rejected
from workers.shells.ports import Call
from workers.shells.remote.channels import LostError
from workers.shells.remote.runner import ANSWER_SECONDS, Ended, Refused, Runner
from workers.shells.remote.script import valid_text
from workers.shells.remote.takeover import UNKEYED, is_unkeyed

_AT_ONCE = 16
_BYTES_AT_ONCE = 8_192
"""What a runner is sent twice over fits into a pipe: sending never waits for it to read."""

_SAID_NO = range(1, 126)
"""Exit codes that are an answer; what is above says that the question was not asked."""


class CallPipeline:
    """The calls that a runner was sent already, and those that come after them."""

    def __init__(self, valid_for: Callable[[], float]) -> None:
        self._valid_for = valid_for
        self._source: Generator[Call] | None = None
        self._next: Call | None = None
        self._sent: deque[Call] = deque()
        self._looks = itertools.count(1)

    @property
    def waiting(self) -> bool:
        """Whether the runner may start something that nobody has asked for yet."""
        return bool(self._sent)

    def announce(self, calls: Generator[Call]) -> None:
        """These come next, in place of what was announced and not sent."""
        self.forget_coming()
        self._source = calls
        self._pull()

    def forget(self) -> None:
        """Nothing comes any more, and the runner is not used any more."""
        self.forget_coming()
        self._sent.clear()

    def forget_coming(self) -> None:
        """Nothing comes any more but what was sent."""
        self._next = None
        if self._source is not None:
            self._source.close()
            self._source = None

    def find_sent(self, call: Call) -> Call | None:
        """The call that was sent next, under its key there, if it is this one."""
        first = self._sent[0] if self._sent else None
        return first if first is not None and _is_same(first, call) else None

    def send(self, runner: Runner, call: Call) -> Call | None:
        """Send this call with those after it, if it is the next of the pipeline."""
        if self._next is None or not _is_same(self._next, call):
            self.forget_coming()
            return None
        runner.begin(self._take(whatever=True), not_after=self._not_after(runner))
        return self._sent[0]

    def first(self, runner: Runner) -> tuple[list[Call], int]:
        """What a runner is sent as it opens a pass, and the uptime after which it starts none."""
        return self._take(), self._not_after(runner)

    def refill(self, runner: Runner) -> None:
        """Send more, if not much is left that was sent."""
        if self._next is not None and 0 < len(self._sent) <= _AT_ONCE // 2:
            after = self._sent[-1].ends_well
            calls = self._take()
            if calls:
                runner.begin(calls, not_after=self._not_after(runner), after=after)

    def take_answer(self, runner: Runner, outcome: Ended | Refused) -> None:
        """The command that was sent next came to this end.

        Raises LostError when the runner does not do as it was asked to.
        """
        call = self._sent.popleft()
        if not _is_expected(call, outcome):
            self.take_skips(runner)

    def take_skips(self, runner: Runner) -> None:
        """What was sent is not started, each time for what came of the one before it.

        Raises LostError when the runner does not do as it was asked to.
        """
        self.forget_coming()
        while self._sent:
            outcome = runner.await_end(ANSWER_SECONDS)
            if not isinstance(outcome, Refused):
                raise LostError(f"{self._sent[0].key} was not skipped: {outcome}")
            self._sent.popleft()

    def _take(self, *, whatever: bool = False) -> list[Call]:
        """The next calls that a runner is sent; `whatever`: the first one, however long it is."""
        calls: list[Call] = []
        size = 0
        while (call := self._next) is not None and len(calls) < _AT_ONCE:
            size += _size(call)
            if size > _BYTES_AT_ONCE and (calls or not whatever):
                break
            if call.key is None:
                call = replace(call, key=f"{UNKEYED}a{next(self._looks)}")
            calls.append(call)
            self._pull()
        self._sent.extend(calls)
        return calls

    def _not_after(self, runner: Runner) -> int:
        return runner.uptime(self._valid_for())

    def _pull(self) -> None:
        """Go on to the next call; none comes after one that no host can take."""
        self._next = None if self._source is None else next(self._source, None)
        if self._next is None:
            return
        try:
            valid_text(self._next.command)
        except Rejected:
            self.forget_coming()


def _is_same(one: Call, other: Call) -> bool:
    same_key = one.key == other.key or (is_unkeyed(one.key) and is_unkeyed(other.key))
    return one.command == other.command and same_key


def _size(call: Call) -> int:
    texts = (call.command, call.label, *call.variables.values())
    return sum(len(text.encode()) for text in texts)


def _is_expected(call: Call, outcome: Ended | Refused) -> bool:
    if isinstance(outcome, Refused):
        return False
    return outcome.exit_code == 0 if call.ends_well else outcome.exit_code in _SAID_NO
