"""Claude Code: `claude -p` with a stream of JSON.

Nothing of the repository's own settings, hooks and MCP servers is loaded. In interactive mode a
hook defers each use of the tool for questions: the program ends with the question open, and a
resumed session finds the answer in the same hook.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.domain.attempt import AgentStatus
from shared.domain.question import MOST_OPTIONS, Question
from workers.agents.deliverable import Deliverable, join_questions, parse_deliverable
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
    amount_of,
    canonical,
    count_of,
    find,
    object_of,
    objects_of,
    shown,
    text_of,
)
from workers.agents.runners.port import (
    TEMPORARY,
    AgentOrder,
    AnsweredCall,
    Capabilities,
    Invocation,
    StreamReader,
    words_of,
)
from workers.agents.runners.reading import CLAIMED, JsonReader, model_refusal

ASK_TOOL: Final = "AskUserQuestion"
TOOLS: Final = ("Bash", "Edit", "NotebookEdit", "Read", "TaskStop", "Write")
"""The tools of an agent for which a plan names no others. None of them reaches the network."""

_EDITING: Final = frozenset({"Edit", "NotebookEdit", "Write"})
"""Below the workspace their permission mode allows them; a rule would allow them everywhere."""

_CHANGING: Final = _EDITING | {"Bash"}
_DENIED: Final = tuple(
    f"Bash(git {verb}{rest})" for verb in ("commit", "push", "remote") for rest in ("", " *")
)
_ENVIRONMENT: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "API_TIMEOUT_MS": "600000",
    "BASH_MAX_TIMEOUT_MS": "1800000",
    "IS_SANDBOX": "1",
}
"""As root, IS_SANDBOX lets it work at all without a person."""
_SETTINGS: Final = "claude/settings.json"
_PROTOCOL: Final = "claude/protocol.md"
_HOOK: Final = "claude/answer.sh"
_CALL: Final = '"tool_use_id":"%s"'


class ClaudeCode:
    """See `Runner`."""

    name = "claude-code"
    program = "claude"
    capabilities = Capabilities(
        defer=True,
        schema=True,
        resume=True,
        events=True,
        cost_limit=True,
        sessions=".claude/projects/*/{session}.jsonl",
    )

    def invocation(self, order: AgentOrder) -> Invocation:
        """See `Runner`."""
        gateway = order.gateway
        files = {_SETTINGS: _dump(_settings(order))}
        if order.protocol:
            files[_PROTOCOL] = order.protocol
        if order.interactive:
            files[_HOOK] = _hook(order.resumed.answers if order.resumed else ())
        return Invocation(
            (*words_of(self.name, order.program or self.program), *_flags(order)),
            _ENVIRONMENT
            | {"CLAUDE_CODE_TMPDIR": f"{order.home}/{TEMPORARY}"}
            | ({"ANTHROPIC_BASE_URL": gateway.url} if gateway else {})
            | dict(order.variables),
            order.workspace,
            order.home,
            files=files,
            stdin=order.message,
            secrets={"ANTHROPIC_API_KEY": gateway.token} if gateway else {},
        )

    def reader(self) -> StreamReader:
        """See `Runner`."""
        return ClaudeReader()


def _flags(order: AgentOrder) -> Iterator[str]:
    yield from ("-p", "--output-format=stream-json", "--verbose")
    yield from ("--setting-sources=", "--strict-mcp-config", "--disable-slash-commands")
    yield f"--settings={order.home}/{_SETTINGS}"
    yield "--permission-mode=acceptEdits"
    yield f"--tools={','.join(_tools(order))}"
    yield f"--json-schema={_dump(order.answer_schema)}"
    if order.resumed is not None:
        yield f"--resume={order.resumed.session}"
    else:
        yield f"--session-id={order.session}"
    # Only with a tool that could answer prompts is the tool for questions offered.
    yield "--permission-prompt-tool=stdio" if order.interactive else "--permission-prompts=none"
    if order.protocol:
        yield f"--append-system-prompt-file={order.home}/{_PROTOCOL}"
    if order.model:
        yield f"--model={order.model}"
    if order.turn_limit is not None:
        yield f"--max-turns={order.turn_limit}"
    if order.cost_limit is not None:
        yield f"--max-budget-usd={order.cost_limit}"


def _tools(order: AgentOrder) -> list[str]:
    """The names of the tools that exist for it: a rule such as `Bash(make *)` is about Bash."""
    rules = (*_rules(order), *([ASK_TOOL] if order.interactive else []))
    return list(dict.fromkeys(rule.partition("(")[0] for rule in rules))


def _rules(order: AgentOrder) -> tuple[str, ...]:
    """The tools that it may use; an empty list is one, too."""
    return TOOLS if order.allowed_tools is None else order.allowed_tools


def _settings(order: AgentOrder) -> dict[str, Any]:
    allowed = [tool for tool in _rules(order) if tool not in _EDITING]
    settings: dict[str, Any] = {
        "permissions": {"allow": allowed, "deny": list(_DENIED)},
        "autoMemoryEnabled": False,
        "includeCoAuthoredBy": False,
    }
    if order.interactive:
        hook = {"type": "command", "command": f"sh {shlex.quote(f'{order.home}/{_HOOK}')}"}
        settings["hooks"] = {"PreToolUse": [{"matcher": ASK_TOOL, "hooks": [hook]}]}
    return settings


def _hook(answers: tuple[AnsweredCall, ...]) -> str:
    """A script for sh that answers the calls which have an answer, and defers all others.

    The call stands in its standard input.
    """
    answered = "".join(
        f"*{shlex.quote(_CALL % each.call)}*) {_printed(_answer(each))} ;;\n"
        for each in answers
        if each.call
    )
    deferred = _printed({"permissionDecision": "defer"})
    return f"case $(cat) in\n{answered}*) {deferred} ;;\nesac\n"


def _printed(decision: Mapping[str, Any]) -> str:
    told = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
    return f"printf %s {shlex.quote(_dump(told))}"


def _answer(answered: AnsweredCall) -> dict[str, Any]:
    """The tool wants two to four options, and shows the model only the question and the answer."""
    options = [{"label": label, "description": label} for label in ("Answered", "Open")]
    question = {"question": answered.question, "header": "Question", "multiSelect": False}
    told = {
        "questions": [question | {"options": options}],
        "answers": {answered.question: answered.answer},
    }
    return {"permissionDecision": "allow", "updatedInput": told}


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


class ClaudeReader(JsonReader):
    """Reads `--output-format stream-json`."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[str, tuple[str, JsonObject]] = {}
        self._changed = False
        self._error = ""

    def translate(self, value: JsonObject) -> Iterator[AgentEvent]:
        """See `JsonReader`."""
        match value.get("type"):
            case "system":
                yield from self._system(value)
            case "assistant":
                yield from self._assistant(value)
            case "user":
                yield from self._user(value)
            case "result":
                yield from self._result(value)
            case _:
                pass

    def read_stderr(self, text: str) -> EndReason:
        """See `JsonReader`; the program has no other way to say it."""
        if "already in use" in text:
            return EndReason.SESSION_IN_USE
        if "No conversation found" in text:
            return EndReason.UNKNOWN_SESSION
        return EndReason.NOT_STARTED

    def _system(self, value: JsonObject) -> Iterator[AgentEvent]:
        match value.get("subtype"):
            case "init" if self.seen.session is None:
                names = ("session_id", "model", "claude_code_version")
                yield SessionStarted(*(text_of(value, name) for name in names))
            case "api_retry":
                status = count_of(value, "error_status") or None
                yield RetriedModel(
                    count_of(value, "attempt"), count_of(value, "max_retries"), status
                )
            case "permission_denied":
                self.seen.denied.append(text_of(value, "tool_name"))
            case _:
                pass

    def _assistant(self, value: JsonObject) -> Iterator[AgentEvent]:
        self._error = text_of(value, "error")
        for block in objects_of(value, "message", "content"):
            match block.get("type"):
                case "text":
                    yield Said(text_of(block, "text"))
                case "tool_use":
                    call, tool = text_of(block, "id"), text_of(block, "name")
                    self._open[call] = tool, object_of(block, "input")
                    yield ToolCalled(call, tool, canonical(find(block, "input")))
                case _:
                    pass

    def _user(self, value: JsonObject) -> Iterator[AgentEvent]:
        for block in objects_of(value, "message", "content"):
            if block.get("type") != "tool_result":
                continue
            call, failed = text_of(block, "tool_use_id"), block.get("is_error") is True
            tool, given = self._open.pop(call, ("", {}))
            self._changed |= tool in _CHANGING and not failed
            content = block.get("content")
            yield ToolReturned(call, failed, digest(canonical(content)), shown(content))
            if tool == ASK_TOOL and failed:
                yield Asked(_question(given), call, deferred=False)

    def _result(self, value: JsonObject) -> Iterator[AgentEvent]:
        cached = count_of(value, "usage", "cache_read_input_tokens")
        written = count_of(value, "usage", "cache_creation_input_tokens")
        yield UsageReported(
            count_of(value, "usage", "input_tokens") + cached + written,
            cached,
            count_of(value, "usage", "output_tokens"),
            amount_of(value, "total_cost_usd"),
        )
        self.seen.denied += [
            text_of(each, "tool_name") for each in objects_of(value, "permission_denials")
        ]
        self.seen.http_status = count_of(value, "api_error_status") or None
        self.seen.detail = text_of(value, "result") or "\n".join(_texts(value.get("errors")))
        deferred = object_of(value, "deferred_tool_use")
        if deferred:
            yield Asked(_question(object_of(deferred, "input")), text_of(deferred, "id"), True)
        deliverable = parse_deliverable(value.get("structured_output"))
        status, reason = self._end(value, deliverable, deferred=bool(deferred))
        if reason is EndReason.QUESTION and not deferred and deliverable is not None:
            yield Asked(deliverable.question, "", deferred=True)
        structured = value["structured_output"] if deliverable else None
        summary = deliverable.summary if deliverable else ""
        yield RunnerEnded(status, summary, structured, reason)

    def _end(
        self, value: JsonObject, deliverable: Deliverable | None, *, deferred: bool
    ) -> tuple[AgentStatus, EndReason]:
        if deferred:
            return AgentStatus.NEEDS_INPUT, EndReason.QUESTION
        subtype, terminal = text_of(value, "subtype"), text_of(value, "terminal_reason")
        if found := _LIMITS.get(subtype):
            return found
        if terminal.startswith("aborted"):
            return AgentStatus.ERROR, EndReason.INTERRUPTED
        if terminal == "prompt_too_long":
            return AgentStatus.ERROR, EndReason.CONTEXT_FULL
        if value.get("is_error") is not False:
            if self.seen.session is None:
                return AgentStatus.ERROR, self.read_stderr(self.seen.detail)
            return self._failure(terminal)
        if self.seen.denied and not self._changed:
            return AgentStatus.BLOCKED, EndReason.TOOLS_DENIED
        if deliverable is None:
            return AgentStatus.ERROR, EndReason.NO_DELIVERABLE
        return deliverable.status, CLAIMED[deliverable.status]

    def _failure(self, terminal: str) -> tuple[AgentStatus, EndReason]:
        status = self.seen.http_status
        if status is None and self._error == "authentication_failed":
            return AgentStatus.BLOCKED, EndReason.NO_LOGIN
        if status is not None or terminal == "api_error":
            return model_refusal(status)
        return AgentStatus.ERROR, EndReason.FAILED


_LIMITS: Final = {
    "error_max_turns": (AgentStatus.PARTIAL, EndReason.TURN_LIMIT),
    "error_max_budget_usd": (AgentStatus.BLOCKED, EndReason.COST_LIMIT),
    "error_max_structured_output_retries": (AgentStatus.ERROR, EndReason.NO_DELIVERABLE),
}


def _question(given: JsonObject) -> Question:
    asked = tuple(map(_one_question, objects_of(given, "questions")))
    return join_questions(asked) if asked else Question(canonical(given))


def _one_question(asked: JsonObject) -> Question:
    options = objects_of(asked, "options")[:MOST_OPTIONS]
    labels, details = (
        tuple(text_of(option, name) for option in options) for name in ("label", "description")
    )
    return Question(text_of(asked, "question"), labels, details if any(details) else ())


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
