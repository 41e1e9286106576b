"""What a coding agent says while it works, in one form for all runners.

A runner's reader turns the raw stream into these events. They carry no times: the same bytes give
the same events whenever they are read, so a later driver may read the stream again from its start.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from shared.domain.attempt import AgentStatus
from shared.domain.question import Question
from workers.agents.result_form import comparable


class EndReason(StrEnum):
    """Why a runner ended as it did."""

    COMPLETED = "completed"
    QUESTION = "question"  # it asks what only a person knows
    BLOCKED = "blocked"  # it says that it cannot go on
    PARTIAL = "partial"  # it says that part of the work is left
    GAVE_UP = "gave_up"  # it says that it failed
    TOOLS_DENIED = "tools_denied"  # tools that it needed were refused
    NO_DELIVERABLE = "no_deliverable"  # it ended without the answer that was required
    TURN_LIMIT = "turn_limit"
    COST_LIMIT = "cost_limit"
    MODEL_REFUSED = "model_refused"  # the gateway or the provider refused a request (4xx)
    MODEL_UNAVAILABLE = "model_unavailable"  # no usable answer after all retries
    NO_LOGIN = "no_login"
    CONTEXT_FULL = "context_full"  # the conversation no longer fits into the model
    INTERRUPTED = "interrupted"  # a signal ended it
    NO_RESULT = "no_result"  # its stream stops before any result
    NOT_STARTED = "not_started"  # it refused its options, or the program is missing
    UNKNOWN_SESSION = "unknown_session"  # the session to resume does not exist
    SESSION_IN_USE = "session_in_use"
    EXIT_CODE = "exit_code"  # its result is fine, its exit code is not
    FAILED = "failed"  # it reports an error of another kind


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The runner works. `session` is the handle to resume it; unknown values are empty."""

    session: str
    model: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A text of the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The agent uses a tool; `call` pairs this event with its `ToolReturned`.

    `arguments` is canonical JSON: equal arguments give equal texts.
    """

    call: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool has returned. Equal results have equal digests; `shown` is the beginning of it."""

    call: str
    failed: bool
    result_digest: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent used its tool for questions to a person.

    `deferred`: the runner ended with the question open, and its session goes on once there is an
    answer. Otherwise the tool was refused or not offered, and the agent went on by itself.
    `call` is what the answer must name; empty where the runner has no tool for questions.
    """

    question: Question
    call: str
    deferred: bool


@dataclass(frozen=True, slots=True)
class RetriedModel:
    """A request to the model failed and is sent again: retry `attempt` of at most `of`.

    `of` is 0 if the runner does not say it; `status` is the HTTP status, None without an answer.
    """

    attempt: int
    of: int
    status: int | None


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the runner itself counted since its start: tokens, and US dollars if it knows prices.

    `input` includes the `cached` ones. The gateway's own count is what is charged.
    """

    input: int
    cached: int
    output: int
    cost: Decimal | None = None

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class RunnerEnded:
    """The runner's own account of its end; nothing that it does afterwards counts.

    `structured` is the deliverable (`workers.agents.deliverable`), if one was required and given.
    """

    status: AgentStatus
    summary: str
    structured: Mapping[str, Any] | None
    reason: EndReason


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is not an event of this runner; `line` holds its first bytes."""

    line: bytes


AgentEvent = (
    SessionStarted
    | Said
    | ToolCalled
    | ToolReturned
    | Asked
    | RetriedModel
    | UsageReported
    | RunnerEnded
    | Unreadable
)


def digest(result: str) -> str:
    """The digest of a tool's result, without what differs at every run (`comparable`)."""
    return hashlib.sha256(comparable(result).encode("utf-8", "surrogatepass")).hexdigest()[:16]
