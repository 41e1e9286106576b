"""Codex: `codex exec --json`.

Its commands run in its own sandbox: they write only to the workspace and the folder for temporary
files, cannot change the git directory, reach no network, and do not see the gateway's token. What
the repository says about Codex is not loaded: its home is new, and trusts no project. Its
stream leaves out some of the commands that end at once.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.domain.attempt import AgentStatus
from shared.domain.errors import Rejected
from workers.agents.deliverable import parse_deliverable
from workers.agents.events import (
    AgentEvent,
    Asked,
    EndReason,
    RetriedModel,
    RunnerEnded,
    Said,
    SessionStarted,
    ToolCalled,
    ToolReturned,
    UsageReported,
    digest,
)
from workers.agents.runners.json_lines import (
    JsonObject,
    canonical,
    count_of,
    object_of,
    parse_json,
    shown,
    text_of,
)
from workers.agents.runners.port import (
    AgentOrder,
    Capabilities,
    Invocation,
    StreamReader,
    words_of,
)
from workers.agents.runners.reading import CLAIMED, JsonReader, model_refusal

TOKEN: Final = "REPLAN_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable
"""The variable that holds the token of the gateway."""

_SCHEMA: Final = "codex/deliverable.json"
_RUN: Final = "codex/run.sh"
_RUNNING: Final = """\
version=$("$1" --version 2>/dev/null | tr -cd '[:alnum:] .-')
printf '{"type":"version","version":"%s"}\\n' "$version"
exec "$@"
"""
"""Its stream does not tell its version."""
_RETRIES: Final = 2
_IDLE: Final = 600_000
"""Milliseconds without a byte of the model before a request counts as failed."""

_RETRY: Final = re.compile(r"Reconnecting\D{0,5}(\d+)/(\d+)")
_WAITS: Final = "Reconnecting"
"""It waits without end for a gateway that cannot be reached."""

_STATUS: Final = re.compile(r"\bstatus:? (\d{3})\b")
_CONTEXT: Final = "context window"
_NO_SESSION: Final = "no rollout found"
_BAD_REQUEST: Final = 400


class Codex:
    """See `Runner`."""

    name = "codex"
    program = "codex"
    capabilities = Capabilities(
        schema=True, resume=True, events=True, sessions="codex/sessions/*/*/*/*{session}.jsonl"
    )

    def invocation(self, order: AgentOrder) -> Invocation:
        """See `Runner`."""
        if order.allowed_tools is not None:
            raise Rejected(
                "codex has no list of allowed tools: leave allowed_tools out, or use claude-code",
                stage="execute",
            )
        settings = [f"-c{name}={_toml(value)}" for name, value in _settings(order).items()]
        flags = ["--json", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"]
        flags.append(f"--output-schema={order.home}/{_SCHEMA}")
        resumed = ["resume", order.resumed.session] if order.resumed else []
        gateway = order.gateway
        words = words_of(self.name, order.program or self.program)
        return Invocation(
            ("sh", f"{order.home}/{_RUN}", *words, "exec", *flags, *settings, *resumed, "-"),
            {"CODEX_HOME": f"{order.home}/codex", **order.variables},
            order.workspace,
            order.home,
            files={_RUN: _RUNNING, _SCHEMA: json.dumps(order.answer_schema)},
            stdin=order.message or str(order.assignment),
            secrets={TOKEN: gateway.token} if gateway else {},
        )

    def reader(self) -> StreamReader:
        """See `Runner`."""
        return CodexReader()


def _settings(order: AgentOrder) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "sandbox_mode": "workspace-write",
        "sandbox_workspace_write.exclude_slash_tmp": True,
        "approval_policy": "never",
        "allow_login_shell": False,
        "shell_environment_policy": {"inherit": "all", "exclude": [TOKEN]},
        "web_search": "disabled",
    }
    if order.protocol:
        settings["developer_instructions"] = order.protocol
    if order.model:
        settings["model"] = order.model
    if order.gateway is not None:
        settings["model_provider"] = "replan"
        settings["model_providers.replan"] = {
            "name": "replan",
            "base_url": f"{order.gateway.url}/v1",
            "env_key": TOKEN,
            "wire_api": "responses",
            "request_max_retries": _RETRIES,
            "stream_max_retries": _RETRIES,
            "stream_idle_timeout_ms": _IDLE,
        }
    return settings


def _toml(value: object) -> str:
    """A value of TOML: JSON, but for tables."""
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{name}={_toml(each)}' for name, each in value.items())}}}"
    return json.dumps(value).replace("\x7f", "\\u007f")


class CodexReader(JsonReader):
    """Reads `codex exec --json`."""

    def __init__(self) -> None:
        super().__init__()
        self._version = ""
        self._last = ""
        self._open: set[str] = set()

    def translate(self, value: JsonObject) -> Iterator[AgentEvent]:
        """See `JsonReader`."""
        match value.get("type"):
            case "version":
                self._version = text_of(value, "version").rpartition(" ")[2]
            case "thread.started":
                yield SessionStarted(text_of(value, "thread_id"), version=self._version)
            case "item.started":
                yield from self._started(object_of(value, "item"))
            case "item.completed":
                yield from self._completed(object_of(value, "item"))
            case "error":
                yield from self._error(text_of(value, "message"))
            case "turn.completed":
                yield from self._turn_completed(object_of(value, "usage"))
            case "turn.failed":
                yield self._turn_failed(text_of(value, "error", "message"))
            case _:
                pass

    def read_stderr(self, text: str) -> EndReason:
        """See `JsonReader`; the program has no other way to say it."""
        return EndReason.UNKNOWN_SESSION if _NO_SESSION in text else EndReason.NOT_STARTED

    def _started(self, item: JsonObject) -> Iterator[AgentEvent]:
        if text_of(item, "type") in _TOOLS:
            self._open.add(text_of(item, "id"))
            yield _call(item)

    def _completed(self, item: JsonObject) -> Iterator[AgentEvent]:
        match text_of(item, "type"):
            case "agent_message":
                self._last = text_of(item, "text")
                yield Said(self._last)
            case "error":
                self.seen.detail = text_of(item, "message")
            case kind if kind in _TOOLS:
                if text_of(item, "id") not in self._open:
                    yield _call(item)
                told = canonical({name: item.get(name) for name in _RESULTS})
                failed = text_of(item, "status") in {"failed", "declined"}
                result = next((item[name] for name in _SHOWN if item.get(name)), None)
                yield ToolReturned(text_of(item, "id"), failed, digest(told), shown(result))
            case _:
                pass

    def _error(self, message: str) -> Iterator[AgentEvent]:
        self.seen.detail = message
        if found := _RETRY.search(message):
            yield RetriedModel(int(found[1]), int(found[2]), _status(message))
        elif message.startswith(_WAITS):
            yield RetriedModel(0, 0, None)

    def _turn_completed(self, usage: JsonObject) -> Iterator[AgentEvent]:
        yield UsageReported(
            count_of(usage, "input_tokens"),
            count_of(usage, "cached_input_tokens"),
            count_of(usage, "output_tokens"),
        )
        value = parse_json(self._last)
        deliverable = parse_deliverable(value)
        if deliverable is None:
            self.seen.detail = self._last
            yield RunnerEnded(AgentStatus.ERROR, "", None, EndReason.NO_DELIVERABLE)
            return
        if deliverable.status is AgentStatus.NEEDS_INPUT:
            yield Asked(deliverable.question, "", deferred=True)
        reason = CLAIMED[deliverable.status]
        yield RunnerEnded(deliverable.status, deliverable.summary, value, reason)

    def _turn_failed(self, message: str) -> RunnerEnded:
        self.seen.detail = message
        self.seen.http_status = _status(message)
        status, reason = model_refusal(self.seen.http_status)
        if _CONTEXT in message:
            reason = EndReason.CONTEXT_FULL
        return RunnerEnded(status, "", None, reason)


_TOOLS: Final = frozenset(
    {"command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"}
)
_RESULTS: Final = ("aggregated_output", "exit_code", "changes", "result", "error")
_SHOWN: Final = ("aggregated_output", "result", "error")
_ARGUMENTS: Final = ("command", "changes", "server", "tool", "arguments", "query")


def _call(item: JsonObject) -> ToolCalled:
    arguments = {name: item[name] for name in _ARGUMENTS if name in item}
    return ToolCalled(text_of(item, "id"), text_of(item, "type"), canonical(arguments))


def _status(message: str) -> int | None:
    """The HTTP status that a message tells; the program has no other way to say it.

    Only for 400 it shows the body of the answer instead.
    """
    if found := _STATUS.search(message):
        return int(found[1])
    body = parse_json(message)
    return _BAD_REQUEST if isinstance(body, dict) and "error" in body else None
