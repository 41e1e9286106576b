"""An agent that speaks the Agent Client Protocol; its first argument says how it behaves."""

import json
import signal
import sys
from typing import Any

OPTIONS = [
    {"optionId": "yes", "kind": "allow_once", "name": "Yes"},
    {"optionId": "no", "kind": "reject_once", "name": "No"},
]


def main(behaviour: str) -> None:
    """Answer requests until standard input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            sys.stdout.write("a line that is no JSON\n")
            answer(number, {"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "1"}})
        elif method == "session/new" and behaviour == "logged out":
            send({"id": number, "error": {"code": -32000, "message": "log in first"}})
        elif method == "session/load" and behaviour == "forgets":
            send({"id": number, "error": {"code": -32602, "message": "no such session"}})
        elif method in {"session/new", "session/load"}:
            update(sessionUpdate="agent_message_chunk", content={"text": "an old message"})
            answer(number, {"sessionId": "ses_1"} if method == "session/new" else None)
        elif method == "session/prompt" and behaviour == "dies":
            sys.exit(3)
        elif method == "session/prompt" and behaviour.startswith("asks"):
            cancelled = ask_person(hangs=behaviour == "asks and hangs")
            answer(number, {"stopReason": "cancelled" if cancelled else "end_turn"})
        elif method == "session/prompt":
            work(behaviour, message["params"]["prompt"][0]["text"])
            answer(number, {"stopReason": "end_turn", "usage": {"inputTokens": 5}})


def work(command: str, prompt: str) -> None:
    """Ask whether a command may run, ask for a file, and say what came of both."""
    call = {"toolCallId": "c1", "title": command, "kind": "execute", "rawInput": {"cmd": command}}
    update(sessionUpdate="tool_call", status="pending", **call)
    permission = ask("session/request_permission", toolCall=call, options=OPTIONS)
    granted = permission["result"]["outcome"]["optionId"] == "yes"
    update(
        sessionUpdate="tool_call_update",
        toolCallId="c1",
        status="completed" if granted else "failed",
    )
    served = "result" in ask("fs/read_text_file", path="/etc/passwd")
    said = f"prompt: {prompt}; granted: {granted}; served: {served}"
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": said})


def ask_person(*, hangs: bool) -> bool:
    """Send a form, and whether the turn is cancelled; one that hangs never says so."""
    field = {"type": "string", "title": "Database", "enum": ["SQLite", "PostgreSQL"]}
    form = {"type": "object", "properties": {"db": field}}
    told = ask("elicitation/create", mode="form", message="Which DB?", requestedSchema=form)
    if told["result"]["action"] == "decline":
        update(sessionUpdate="agent_message_chunk", content={"text": "I take SQLite."})
        return False
    cancel = json.loads(sys.stdin.readline())
    while hangs:
        signal.pause()
    return bool(cancel["method"] == "session/cancel")


def ask(method: str, **params: Any) -> Any:
    send({"id": f"agent-{method}", "method": method, "params": params})
    return json.loads(sys.stdin.readline())


def update(**values: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": "ses_1", "update": values}})


def answer(number: object, result: object) -> None:
    send({"id": number, "result": result})


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
