"""The port to a runner: how it is started, and how its stream is read."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Protocol

from shared.domain.attempt import AgentStatus, EndedBy
from shared.domain.errors import Rejected
from shared.domain.question import Reply
from workers.agents.deliverable import schema
from workers.agents.events import AgentEvent, Asked, EndReason, UsageReported
from workers.agents.task_text import Assignment

ONE_LINE: Final = (
    "End your last message with one line of JSON, without a fence around it, that fits this "
    "JSON Schema:"
)
"""How a program is asked for an answer that the protocol with it has no form for."""

TEMPORARY: Final = "temporary"
"""The folder below a home for temporary files."""


@dataclass(frozen=True, slots=True)
class GatewayAccess:
    """How an attempt reaches models: `url` without a path, and a token for this attempt alone."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A question of a session and a person's answer; `call` is that of its `Asked`, or empty."""

    call: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """An earlier session that goes on, in the same home and workspace.

    `answers` are all answers that this session has had so far, the new one last. Without any, it
    goes on with the assignment as its next message.
    """

    session: str
    answers: tuple[AnsweredCall, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """Everything that a runner needs to start.

    `workspace` and `home` are absolute paths on the host. The home belongs to the attempt (a
    resumed session has the home of its first attempt). `session` is a UUID that the attempt's key
    gives, so that everybody who drives the attempt knows it. `protocol` is the text for work
    without a person (`workers.agents.protocol`), empty in interactive mode. `interactive` lets the
    agent ask. `allowed_tools` None means the runner's usual tools. `program` is a command line
    that starts the runner in place of its own name; `acp` and `command` have one already.
    `cost_limit` is in US dollars, `turn_limit` counts requests to the model. `variables` are added
    to the environment. `form` is the JSON Schema of its answer, None for that of a deliverable.
    """

    assignment: Assignment
    workspace: str
    home: str
    session: str
    gateway: GatewayAccess | None
    model: str = ""
    program: str = ""
    protocol: str = ""
    interactive: bool = False
    allowed_tools: tuple[str, ...] | None = None
    turn_limit: int | None = None
    cost_limit: Decimal | None = None
    resumed: Resumed | None = None
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    form: Mapping[str, Any] | None = None

    @property
    def answer_schema(self) -> dict[str, Any]:
        """The JSON Schema of what it answers at its end."""
        if self.form is not None:
            return dict(self.form)
        return schema(interactive=self.interactive, issue=self.assignment.issue)

    @property
    def task(self) -> str:
        """The task for a program that has no form for its answer: where one is needed, it is told.

        What it answers in another form is believed as text.
        """
        text = str(self.assignment)
        if self.form is None and self.assignment.issue is None:
            return text
        return f"{text}\n\n{ONE_LINE}\n{json.dumps(self.answer_schema)}"

    @property
    def message(self) -> str | None:
        """What the runner is told when it starts; None if it only hears the answer to its call."""
        if self.resumed is None or not self.resumed.answers:
            return str(self.assignment)
        last = self.resumed.answers[-1]
        return None if last.call else str(Reply(last.question, last.answer))


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a runner is started.

    `argv` is executed in `workspace` with exactly `env`, `secrets`, a few harmless variables of
    the shell, and those that `inherits` names. `files` are written first, by their paths below
    `home`; `stdin` is what it reads, None for /dev/null.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    workspace: str
    home: str
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    inherits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunnerOutcome:
    """What came of a runner, from its stream, its exit code and how it was ended.

    `question` is set if it waits for a person (`status` is NEEDS_INPUT). `denied` names the tools
    that it was refused. `http_status` is the model's answer that ended it. `detail` is text of the
    runner or of its last error, for people. `usage` is the runner's own count. What the workspace
    holds is not its business: a runner that is OK may have changed nothing.
    """

    status: AgentStatus
    reason: EndReason
    summary: str = ""
    detail: str = ""
    session: str = ""
    model: str = ""
    version: str = ""
    structured: Mapping[str, object] | None = None
    question: Asked | None = None
    denied: tuple[str, ...] = ()
    http_status: int | None = None
    usage: UsageReported | None = None


def words_of(name: str, template: str) -> list[str]:
    """The words of a runner's command line; raises Rejected if it is not a valid one."""
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise Rejected(
            f"the command of runner {name!r} is not a valid command line: {error}", stage="input"
        ) from error
    if not words:
        raise Rejected(f"the command of runner {name!r} is empty", stage="input")
    return words


class StreamReader(Protocol):
    """Reads the standard output of one run of a runner, from its first byte."""

    @property
    def ended(self) -> bool:
        """Whether the runner has given its result: what still runs has nothing more to say."""
        ...

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """The events that are whole with this chunk; cuts may fall anywhere. Never raises."""
        ...

    def outcome(
        self, exit_code: int | None, ended_by: EndedBy | None = None, stderr: bytes = b""
    ) -> RunnerOutcome:
        """What came of it, once it has ended; `stderr` may be its last part only. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a runner can do.

    `defer`: it ends with a question and goes on after the answer. `schema`: its answer has a
    required form. `resume`: a session goes on. `events`: its stream tells of tools as they run.
    `cost_limit`: it ends by itself at a price. `offline`: it needs no model at all. `sessions` is
    the pattern of the file below its home in which it keeps the session `{session}`, empty where
    only the home is known.
    """

    defer: bool = False
    schema: bool = False
    resume: bool = False
    events: bool = False
    cost_limit: bool = False
    offline: bool = False
    sessions: str = ""


class Runner(Protocol):
    """A program that carries out the work of an agent."""

    @property
    def name(self) -> str:
        """What plans call it."""
        ...

    @property
    def program(self) -> str:
        """The command that is looked up where an order names no other."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def invocation(self, order: AgentOrder) -> Invocation:
        """How it is started for this order. Raises Rejected for what it cannot be asked."""
        ...

    def reader(self) -> StreamReader:
        """A reader for one run."""
        ...
