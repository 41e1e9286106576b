"""A callback of ansible that prints nothing but the times of the play named `measured`."""

import json
import sys
import time
from itertools import pairwise
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: spans
type: stdout
short_description: the times of a play
description: One line of JSON with the count, the seconds and the seconds between two results.
"""


class CallbackModule(CallbackBase):
    """Notes when each result came."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "spans"

    def __init__(self) -> None:
        super().__init__()
        self._began: float | None = None
        self._ends: list[float] = []

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """The play that counts begins."""
        if play.get_name() == "measured":
            self._began = time.perf_counter()

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task has ended; a loop has told of its items already."""
        if not result.task.loop:
            self._note()

    def v2_runner_item_on_ok(self, _result: Any) -> None:
        """One round of a loop has ended."""
        self._note()

    def v2_runner_on_failed(self, result: Any, **_options: Any) -> None:
        """Somebody should know why."""
        print("error:", result.result.get("msg"), file=sys.stderr)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """The same."""
        print("error:", result.result.get("msg"), file=sys.stderr)

    def v2_playbook_on_stats(self, _stats: Any) -> None:
        """Everything has ended."""
        began = self._began or 0.0
        moments = [began, *self._ends]
        latencies = [after - before for before, after in pairwise(moments)]
        seconds = moments[-1] - began
        line = {"count": len(self._ends), "seconds": seconds, "latencies": latencies}
        print(json.dumps(line))

    def _note(self) -> None:
        if self._began is not None:
            self._ends.append(time.perf_counter())
