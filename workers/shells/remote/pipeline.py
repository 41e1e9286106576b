"""Sends commands to a runner before the earlier ones have ended."""

import itertools
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import replace

from shared.domain.errors import Rejected
from workers.shells.ports import LOOK, Call
from workers.shells.remote.channels import LostError
from workers.shells.remote.runner import ANSWER_SECONDS, Ended, Refused, Runner

_AT_ONCE = 16
_BYTES_AT_ONCE = 8_192
"""Twice as many bytes fit into a pipe, so sending never waits for the runner to read."""

_SAID_NO = range(1, 126)
"""Exit codes that mean no; higher ones mean that the command did not run to an answer."""


class CallPipeline:
    """The calls that a runner already has, and those that come after them."""

    def __init__(self, valid_for: Callable[[], float]) -> None:
        self._valid_for = valid_for
        self._source: Generator[Call] | None = None
        self._next: Call | None = None
        self._sent: deque[Call] = deque()
        self._looks = itertools.count(1)

    @property
    def waiting(self) -> bool:
        """Whether the runner may start a command that nobody has requested yet."""
        return bool(self._sent)

    def announce(self, calls: Generator[Call]) -> None:
        """Replace the calls that were announced but not sent."""
        self.forget_coming()
        self._source = calls
        self._pull()

    def forget(self) -> None:
        """Forget all calls; the runner is not used any more."""
        self.forget_coming()
        self._sent.clear()

    def forget_coming(self) -> None:
        """Forget the calls that were not sent."""
        self._next = None
        if self._source is not None:
            self._source.close()
            self._source = None

    def find_sent(self, call: Call) -> Call | None:
        """The first of the sent calls, with its key there, if it is the same as this one."""
        first = self._sent[0] if self._sent else None
        return first if first is not None and first.is_same(call) else None

    def send(self, runner: Runner, call: Call) -> Call | None:
        """Send this call with those after it, if it is the next one in the pipeline."""
        if self._next is None or not self._next.is_same(call):
            self.forget_coming()
            return None
        runner.begin(self._take(whatever=True), not_after=self._not_after(runner))
        return self._sent[0]

    def first(self, runner: Runner) -> tuple[list[Call], int]:
        """The calls to send when a pass opens, and the uptime after which none of them starts."""
        return self._take(), self._not_after(runner)

    def refill(self, runner: Runner) -> None:
        """Send more calls if few of those that were sent are left."""
        if self._next is not None and 0 < len(self._sent) <= _AT_ONCE // 2:
            after = self._sent[-1].ends_well
            calls = self._take()
            if calls:
                runner.begin(calls, not_after=self._not_after(runner), after=after)

    def take_answer(self, runner: Runner, outcome: Ended | Refused) -> None:
        """Take the end of the first of the sent calls.

        Raises LostError when the runner does something else than it was asked.
        """
        call = self._sent.popleft()
        if not _is_expected(call, outcome):
            self.take_skips(runner)

    def take_skips(self, runner: Runner) -> None:
        """Take the refusals of all sent calls: the runner skips them after an unexpected end.

        Raises LostError when the runner does something else than it was asked.
        """
        self.forget_coming()
        while self._sent:
            outcome = runner.await_end(ANSWER_SECONDS)
            if not isinstance(outcome, Refused):
                raise LostError(f"{self._sent[0].key} was not skipped: {outcome}")
            self._sent.popleft()

    def _take(self, *, whatever: bool = False) -> list[Call]:
        """Take the next calls to send; `whatever` includes the first one, however long it is."""
        calls: list[Call] = []
        size = 0
        while (call := self._next) is not None and len(calls) < _AT_ONCE:
            size += call.size
            if size > _BYTES_AT_ONCE and (calls or not whatever):
                break
            if call.key is None:
                call = replace(call, key=f"{LOOK}a{next(self._looks)}")
            calls.append(call)
            self._pull()
        self._sent.extend(calls)
        return calls

    def _not_after(self, runner: Runner) -> int:
        return runner.uptime(self._valid_for())

    def _pull(self) -> None:
        """Go on to the next call; the pipeline ends at a call that no host can take."""
        self._next = None if self._source is None else next(self._source, None)
        if self._next is None:
            return
        try:
            self._next.require_valid()
        except Rejected:
            self.forget_coming()


def _is_expected(call: Call, outcome: Ended | Refused) -> bool:
    if isinstance(outcome, Refused):
        return False
    return outcome.exit_code == 0 if call.ends_well else outcome.exit_code in _SAID_NO
