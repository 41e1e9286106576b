"""Any program that takes a task as a file (S4.12–S4.14, S4.17–S4.19)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shared.domain.attempt import AgentStatus, EndedBy
from shared.domain.errors import Rejected
from workers.agents.events import AgentEvent, Asked, EndReason, Said
from workers.agents.runners.port import (
    TEMPORARY,
    AgentOrder,
    Capabilities,
    Invocation,
    RunnerOutcome,
    StreamReader,
    words_of,
)
from workers.agents.runners.reading import (
    BY_SIGNAL,
    CLAIMED,
    NOT_EXECUTABLE,
    deliverable_in,
)

TASK_FILE: Final = "{task_file}"
"""What is replaced with the path of the task; without it, `--task PATH` is added (S4.19)."""

_KEPT: Final = 64_000
"""Bytes at the end of its output in which a deliverable is sought."""

_LAST_WORDS: Final = 4000
"""Bytes at the end of its output that are its summary."""


@dataclass(frozen=True, slots=True)
class CommandRunner:
    """See `Runner`. `template` is a command line as in a configuration (S4.12); no shell runs it.

    The program reaches the gateway under the usual names of all vendors' variables.
    """

    name: str
    template: str
    capabilities = Capabilities(offline=True)

    @property
    def program(self) -> str:
        """The first word of its command line."""
        return words_of(self.name, self.template)[0]

    def invocation(self, order: AgentOrder) -> Invocation:
        """See `Runner`."""
        if order.resumed is not None:
            raise Rejected(f"runner {self.name!r} cannot resume a session", stage="execute")
        kind = "autonomous_task" if order.protocol else "task"
        named = f"{TEMPORARY}/{kind}_{order.session.replace('-', '')}.md"
        words = _with_task(words_of(self.name, self.template), f"{order.home}/{named}")
        return Invocation(
            tuple(words),
            gateway_variables(order) | dict(order.variables),
            order.workspace,
            order.home,
            files={named: with_protocol(order.protocol, order.task)},
            secrets=gateway_tokens(order),
        )

    def reader(self) -> StreamReader:
        """See `Runner`."""
        return PlainReader()


def with_protocol(protocol: str, task: str) -> str:
    """The text of a task file: protocol, blank line, task (S4.17)."""
    return f"{protocol.rstrip()}\n\n{task}\n" if protocol else f"{task}\n"


def _with_task(words: Iterable[str], path: str) -> list[str]:
    replaced = [word.replace(TASK_FILE, path) for word in words]
    return replaced if replaced != list(words) else [*replaced, "--task", path]


def gateway_variables(order: AgentOrder) -> dict[str, str]:
    """The addresses of the gateway, for programs of any vendor."""
    if order.gateway is None:
        return {}
    url = order.gateway.url
    return {
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_BASE": f"{url}/v1",
        "GOOGLE_GEMINI_BASE_URL": url,
    }


def gateway_tokens(order: AgentOrder) -> dict[str, str]:
    """The token of the gateway, in place of each vendor's key."""
    if order.gateway is None:
        return {}
    names = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
    return dict.fromkeys(names, order.gateway.token)


class PlainReader:
    """Reads a program that only writes text: what it says counts for nothing but activity.

    Unless it ends with a line of JSON that says how it did (S3.24): one of the deliverables that
    other runners are made to give (`workers.agents.deliverable`).
    """

    def __init__(self) -> None:
        self._line = b""
        self._last = b""

    ended = False

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """See `StreamReader`: an event for each line."""
        self._last = (self._last + chunk)[-_KEPT:]
        *whole, rest = (self._line + chunk).split(b"\n")
        self._line = rest[:_LAST_WORDS]
        texts = (_text(line[:_LAST_WORDS]) for line in whole)
        return [Said(text) for text in texts if text]

    def outcome(
        self, exit_code: int | None, ended_by: EndedBy | None = None, stderr: bytes = b""
    ) -> RunnerOutcome:
        """See `StreamReader`; what it claims of itself does not outweigh its exit code."""
        status, reason = _end(exit_code, ended_by)
        detail, said = _text(stderr[-_LAST_WORDS:]), _text(self._last)
        value, found = deliverable_in(said.rpartition("\n")[2])
        if found is None:
            summary = _text(self._last[-_LAST_WORDS:])
            return RunnerOutcome(status, reason, summary=summary, detail=detail)
        ended_itself = reason in {EndReason.COMPLETED, EndReason.EXIT_CODE}
        if ended_itself and not (exit_code and found.status is AgentStatus.OK):
            status, reason = found.status, CLAIMED[found.status]
        asked = None
        if status is AgentStatus.NEEDS_INPUT:
            asked = Asked(found.question, "", deferred=True)
        return RunnerOutcome(
            status,
            reason,
            summary=found.summary,
            detail=detail,
            structured=value,
            question=asked,
        )


def _end(exit_code: int | None, ended_by: EndedBy | None) -> tuple[AgentStatus, EndReason]:
    if ended_by is EndedBy.TIMEOUT:
        return AgentStatus.TIMEOUT, EndReason.INTERRUPTED
    if exit_code is None or exit_code > BY_SIGNAL:
        return AgentStatus.ERROR, EndReason.INTERRUPTED
    if exit_code in NOT_EXECUTABLE:
        return AgentStatus.BLOCKED, EndReason.NOT_STARTED
    if exit_code:
        return AgentStatus.ERROR, EndReason.EXIT_CODE
    return AgentStatus.OK, EndReason.COMPLETED


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()
