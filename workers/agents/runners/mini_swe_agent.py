"""mini-swe-agent: `mini`, an agent with nothing but a shell.

What it writes is text for people. How it ended stands in its trajectory, from which a small
script prints one line of JSON at the end.
"""

import shlex
from collections.abc import Iterator
from typing import Final

from shared.domain.attempt import AgentStatus
from shared.domain.errors import Rejected
from workers.agents.events import (
    AgentEvent,
    Asked,
    EndReason,
    RunnerEnded,
    Said,
    SessionStarted,
    Unreadable,
)
from workers.agents.runners.command import gateway_tokens, gateway_variables, with_protocol
from workers.agents.runners.json_lines import JsonObject, text_of
from workers.agents.runners.port import (
    AgentOrder,
    Capabilities,
    Invocation,
    StreamReader,
    words_of,
)
from workers.agents.runners.reading import CLAIMED, JsonReader, deliverable_in

_TASK: Final = "mini/task.md"
_RUN: Final = "mini/run.sh"
_TELL: Final = "mini/tell.py"
_TRAJECTORY: Final = "mini/trajectory.json"

_TELLING: Final = """\
import json, sys
try:
    with open(sys.argv[1], encoding="utf-8") as file:
        info = json.load(file)["info"]
except (OSError, ValueError, KeyError):
    sys.exit(0)
told = {name: info.get(name) for name in ("exit_status", "submission", "mini_version")}
print("\\n" + json.dumps({"event": "ended", **told}))
"""
_ENVIRONMENT: Final = {
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""It repeats whatever fails, also what is refused: waiting is the gateway's."""


class MiniSweAgent:
    """See `Runner`."""

    name = "mini-swe-agent"
    program = "mini"
    capabilities = Capabilities()

    def invocation(self, order: AgentOrder) -> Invocation:
        """See `Runner`."""
        if order.allowed_tools is not None:
            raise Rejected(
                "mini-swe-agent has no list of allowed tools: leave allowed_tools out, or use "
                "claude-code",
                stage="execute",
            )
        if order.resumed is not None:
            raise Rejected("mini-swe-agent cannot resume a session", stage="execute")
        words = words_of(self.name, order.program or self.program)
        flags = ("-m", f"openai/{order.model or 'default'}", "-y", "--exit-immediately", "-l", "0")
        return Invocation(
            ("sh", f"{order.home}/{_RUN}", *words, *flags),
            {
                **gateway_variables(order),
                **_ENVIRONMENT,
                "MSWEA_GLOBAL_CONFIG_DIR": f"{order.home}/mini",
                **order.variables,
            },
            order.workspace,
            order.home,
            files={
                _TASK: with_protocol(order.protocol, order.task),
                _RUN: _run(order.home),
                _TELL: _TELLING,
            },
            secrets=gateway_tokens(order),
        )

    def reader(self) -> StreamReader:
        """See `Runner`."""
        return MiniReader()


def _run(home: str) -> str:
    """A script for sh: start the program with the task, then tell how it ended."""
    task, tell, trajectory = (shlex.quote(f"{home}/{name}") for name in (_TASK, _TELL, _TRAJECTORY))
    lines = (
        f'"$@" -t "$(cat {task})" -o {trajectory}',
        "code=$?",
        f"python3 -I {tell} {trajectory}",
        "exit $code",
    )
    return "\n".join(lines)


class MiniReader(JsonReader):
    """Reads its text, and the line that the script adds."""

    def translate(self, value: JsonObject) -> Iterator[AgentEvent]:
        """See `JsonReader`."""
        if value.get("event") != "ended":
            return
        self.seen.session = SessionStarted("", version=text_of(value, "mini_version"))
        status = text_of(value, "exit_status")
        self.seen.detail = status
        if status == "Submitted":
            yield from _submitted(text_of(value, "submission").strip())
            return
        claimed, reason = _ENDS.get(status, (AgentStatus.ERROR, EndReason.FAILED))
        yield RunnerEnded(claimed, "", None, reason)

    def translate_text(self, line: Unreadable) -> Iterator[AgentEvent]:
        """See `JsonReader`."""
        if text := line.line.decode("utf-8", "ignore").strip():
            yield Said(text)

    def read_stderr(self, text: str) -> EndReason:  # noqa: ARG002 - its texts are Python's
        """See `JsonReader`."""
        return EndReason.NOT_STARTED


def _submitted(text: str) -> Iterator[AgentEvent]:
    """The end of a run that has submitted a text, which may end with its answer as JSON."""
    value, found = deliverable_in(text)
    if found is None:
        yield RunnerEnded(AgentStatus.OK, text, None, EndReason.COMPLETED)
        return
    if found.status is AgentStatus.NEEDS_INPUT:
        yield Asked(found.question, "", deferred=True)
    yield RunnerEnded(found.status, found.summary, value, CLAIMED[found.status])


_ENDS: Final = {
    "LimitsExceeded": (AgentStatus.PARTIAL, EndReason.TURN_LIMIT),
    "TimeExceeded": (AgentStatus.PARTIAL, EndReason.TURN_LIMIT),
    "ContextWindowExceededError": (AgentStatus.ERROR, EndReason.CONTEXT_FULL),
    **dict.fromkeys(
        ("AuthenticationError", "BadRequestError", "NotFoundError", "PermissionDeniedError"),
        (AgentStatus.ERROR, EndReason.MODEL_REFUSED),
    ),
    **dict.fromkeys(
        ("APIConnectionError", "InternalServerError", "RateLimitError", "ServiceUnavailableError"),
        (AgentStatus.ERROR, EndReason.MODEL_UNAVAILABLE),
    ),
}
"""The names under which it ends: its own, and those of exceptions of LiteLLM."""
