"""Any agent that speaks the Agent Client Protocol, such as `opencode acp`.

A small client is sent along and runs beside the agent; it needs python3 on the host. The protocol
has no form for the answer of an agent, so the prompt asks for one, and an agent that does not give
it is believed in what it says: the check decides. A form that it sends to ask a person ends its
turn, and the session goes on with the answer; an agent that works without a person is told that
nobody answers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from shared.domain.attempt import AgentStatus
from shared.domain.errors import Rejected
from shared.domain.question import MOST_OPTIONS, Question
from workers.agents.deliverable import join_questions
from workers.agents.events import (
    AgentEvent,
    Asked,
    EndReason,
    RunnerEnded,
    Said,
    SessionStarted,
    ToolCalled,
    ToolReturned,
    UsageReported,
    digest,
)
from workers.agents.runners.command import gateway_tokens, gateway_variables
from workers.agents.runners.json_lines import (
    JsonObject,
    canonical,
    count_of,
    find,
    object_of,
    objects_of,
    shown,
    text_of,
)
from workers.agents.runners.port import (
    ONE_LINE,
    AgentOrder,
    Capabilities,
    Invocation,
    StreamReader,
    words_of,
)
from workers.agents.runners.reading import CLAIMED, JsonReader, deliverable_in

_CLIENT: Final = "acp/client.py"
_ORDER: Final = "acp/order.json"
_CHANGING: Final = frozenset({"edit", "delete", "move", "execute"})
_NO_LOGIN: Final = -32000
"""The protocol's code for an agent that wants to be logged in first."""

_REFUSED_COMMANDS: Final = ("git push*", "git commit*", "git remote*")


@dataclass(frozen=True, slots=True)
class AcpRunner:
    """See `Runner`. `template` is the command line of the agent; no shell runs it."""

    name: str
    template: str
    capabilities = Capabilities(resume=True, events=True)

    @property
    def program(self) -> str:
        """The first word of its command line."""
        return words_of(self.name, self.template)[0]

    def invocation(self, order: AgentOrder) -> Invocation:
        """See `Runner`."""
        if order.allowed_tools is not None:
            raise Rejected(
                f"{self.name} has no list of allowed tools: leave allowed_tools out, or use "
                "claude-code",
                stage="execute",
            )
        words = words_of(self.name, self.template)
        told = {
            "cwd": order.workspace,
            "prompt": _prompt(order, order.message or str(order.assignment)),
            "whole_prompt": _prompt(order, str(order.assignment)),
            "session": order.resumed.session if order.resumed else None,
            "interactive": order.interactive,
        }
        return Invocation(
            ("python3", "-I", f"{order.home}/{_CLIENT}", f"{order.home}/{_ORDER}", "--", *words),
            gateway_variables(order) | _opencode(order) | dict(order.variables),
            order.workspace,
            order.home,
            files={_CLIENT: _client(), _ORDER: json.dumps(told, ensure_ascii=False)},
            secrets=gateway_tokens(order),
        )

    def reader(self) -> StreamReader:
        """See `Runner`."""
        return AcpReader()


def _client() -> str:
    """The text of the client: a file of its own, because a host runs it."""
    folder = files("workers.agents.runners")
    return folder.joinpath("acp_client.py").read_text(encoding="utf-8")


def _prompt(order: AgentOrder, task: str) -> str:
    form = json.dumps(order.answer_schema)
    parts = (
        order.protocol,
        task,
        f"{ONE_LINE}\n{form}",
    )
    return "\n\n".join(part.strip() for part in parts if part)


def _opencode(order: AgentOrder) -> dict[str, str]:
    """What OpenCode needs to reach the gateway, and to load nothing of the repository's own."""
    if order.gateway is None:
        return {}
    model = order.model or "default"
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "replan",
        "options": {"baseURL": f"{order.gateway.url}/v1", "apiKey": "{env:OPENAI_API_KEY}"},
        "models": {model: {}},
    }
    bash = {"*": "allow"} | dict.fromkeys(_REFUSED_COMMANDS, "deny")
    config = {
        "provider": {"replan": provider},
        "model": f"replan/{model}",
        "small_model": f"replan/{model}",
        "permission": {"edit": "allow", "bash": bash, "webfetch": "deny"},
        "share": "disabled",
    }
    switches = ("PROJECT_CONFIG", "AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        **{f"OPENCODE_DISABLE_{switch}": "1" for switch in switches},
    }


class AcpReader(JsonReader):
    """Reads what the client writes."""

    def __init__(self) -> None:
        super().__init__()
        self._agent = ""
        self._message = ""
        self._message_id: object = None
        self._last = ""
        self._tools: dict[str, tuple[str, str]] = {}
        self._open: set[str] = set()
        self._changed = False

    def translate(self, value: JsonObject) -> Iterator[AgentEvent]:
        """See `JsonReader`."""
        match value.get("event"):
            case "agent":
                told = (text_of(value, "info", name) for name in ("name", "version"))
                self._agent = " ".join(filter(None, told))
            case "session":
                yield SessionStarted(text_of(value, "session"), version=self._agent)
            case "update" if self.seen.session is not None:  # before it, a loaded one is replayed
                yield from self._update(object_of(value, "update"))
            case "permission" if value.get("granted") is not True:
                self.seen.denied.append(text_of(value, "call", "title"))
            case "refused":
                yield self._refused(text_of(value, "method"), object_of(value, "error"))
            case "asked":
                yield Asked(_elicited(value), "", deferred=value.get("deferred") is True)
            case "ended":
                yield from self._finish_message()
                yield from self._ended(text_of(value, "stop"), object_of(value, "usage"))
            case _:
                pass

    def read_stderr(self, text: str) -> EndReason:  # noqa: ARG002 - its texts are the agent's
        """See `JsonReader`."""
        return EndReason.NOT_STARTED

    def _update(self, update: JsonObject) -> Iterator[AgentEvent]:
        kind = text_of(update, "sessionUpdate")
        if kind == "agent_message_chunk":
            if update.get("messageId") != self._message_id:
                yield from self._finish_message()
                self._message_id = update.get("messageId")
            self._message += text_of(update, "content", "text")
            return
        if kind in {"tool_call", "tool_call_update"}:
            yield from self._finish_message()
            yield from self._tool(update)

    def _tool(self, update: JsonObject) -> Iterator[AgentEvent]:
        call, status = text_of(update, "toolCallId"), text_of(update, "status")
        told = text_of(update, "title"), text_of(update, "kind")
        tool, kind = self._tools.setdefault(call, told)
        over = status in {"completed", "failed"}
        if call not in self._open and (status == "in_progress" or over):
            self._open.add(call)
            yield ToolCalled(call, tool or kind, canonical(find(update, "rawInput")))
        if over:
            self._open.discard(call)
            self._changed |= status == "completed" and kind in _CHANGING
            result = update.get("content") or update.get("rawOutput")
            returned = digest(canonical(result))
            yield ToolReturned(call, status == "failed", returned, shown(result))

    def _finish_message(self) -> Iterator[AgentEvent]:
        if self._message:
            self._last, self._message = self._message, ""
            yield Said(self._last)

    def _refused(self, method: str, error: JsonObject) -> RunnerEnded:
        self.seen.detail = canonical(error)
        status, reason = _REFUSED.get(method, (AgentStatus.ERROR, EndReason.FAILED))
        if error.get("code") == _NO_LOGIN:
            status, reason = AgentStatus.BLOCKED, EndReason.NO_LOGIN
        return RunnerEnded(status, "", None, reason)

    def _ended(self, stop: str, usage: JsonObject) -> Iterator[AgentEvent]:
        if usage:
            cached = count_of(usage, "cachedReadTokens")
            yield UsageReported(
                count_of(usage, "inputTokens") + cached, cached, count_of(usage, "outputTokens")
            )
        if self.seen.asked is not None:
            yield RunnerEnded(AgentStatus.NEEDS_INPUT, self._last, None, EndReason.QUESTION)
            return
        if stop != "end_turn":
            status, reason = _STOPPED.get(stop, (AgentStatus.ERROR, EndReason.FAILED))
            yield RunnerEnded(status, self._last, None, reason)
            return
        value, deliverable = deliverable_in(self._last)
        if self.seen.denied and not self._changed:
            yield RunnerEnded(AgentStatus.BLOCKED, self._last, value, EndReason.TOOLS_DENIED)
        elif deliverable is None:
            yield RunnerEnded(AgentStatus.OK, self._last, None, EndReason.COMPLETED)
        else:
            if deliverable.status is AgentStatus.NEEDS_INPUT:
                yield Asked(deliverable.question, "", deferred=True)
            reason = CLAIMED[deliverable.status]
            yield RunnerEnded(deliverable.status, deliverable.summary, value, reason)


_REFUSED: Final = {
    "initialize": (AgentStatus.BLOCKED, EndReason.NOT_STARTED),
    "session/new": (AgentStatus.BLOCKED, EndReason.NOT_STARTED),
    "session/load": (AgentStatus.ERROR, EndReason.UNKNOWN_SESSION),
}
_STOPPED: Final = {
    "max_tokens": (AgentStatus.PARTIAL, EndReason.CONTEXT_FULL),
    "max_turn_requests": (AgentStatus.PARTIAL, EndReason.TURN_LIMIT),
    "refusal": (AgentStatus.ERROR, EndReason.MODEL_REFUSED),
    "cancelled": (AgentStatus.ERROR, EndReason.INTERRUPTED),
}


def _elicited(value: JsonObject) -> Question:
    """The question of a form: its message, and its field or fields."""
    message, fields = text_of(value, "message"), object_of(value, "schema", "properties")
    asked = tuple(
        Question(text_of(each, "title") or text_of(each, "description") or name, _choices(each))
        for name, each in fields.items()
        if isinstance(each, dict)
    )
    if len(asked) <= 1:
        return Question(message, asked[0].options if asked else ())
    return Question(f"{message}\n{join_questions(asked).text}".strip())


def _choices(field: JsonObject) -> tuple[str, ...]:
    """The values of a field to choose from; empty for any."""
    if text_of(field, "type") == "boolean":
        return "yes", "no"
    listed = find(field, "enum")
    named = [text_of(each, "const") for each in objects_of(field, "oneOf")]
    found = listed if isinstance(listed, list) else named
    return tuple(str(each) for each in found if each)[:MOST_OPTIONS]
