"""A client of the Agent Client Protocol, sent to the host and run there by python3.

    acp_client.py ORDER.json -- PROGRAM ARGUMENT...

It starts an agent, gives it one prompt, answers its requests by a fixed policy, and writes what it
hears as lines of JSON. It ends with 0 once the agent has answered the prompt, however it did, or
has asked what only a person knows. Only the standard library of Python 3.8 is used.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

VERSION = 1
NOT_SERVED = {"code": -32601, "message": "this client does not serve that"}
REFUSED_COMMANDS = re.compile(r"\bgit\b[^;&|\n]*\b(?:push|commit|remote)\b")
REFUSED_KINDS = ("fetch",)
ELICITATION = ("elicitation/create", "session/elicitation")
GRACE = 5.0


class AgentEnded(Exception):
    """The agent has closed its standard output."""


class AgentRefused(Exception):
    """The agent answered a request with an error."""

    def __init__(self, method: str, error: Any) -> None:
        super().__init__(method)
        self.method, self.error = method, error


def say(event: str, **values: Any) -> None:
    """Write a line for the reader."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


class Client:
    """One conversation with an agent; `asked` once it has asked what a person is to answer."""

    def __init__(self, process: subprocess.Popen[bytes], *, interactive: bool) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the agent is started without pipes")
        self.to_agent, self.from_agent = process.stdin, process.stdout
        self.process = process
        self.interactive = interactive
        self.asked = False
        self.session = ""
        self.sent = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; its result. Serves the agent's requests until it comes."""
        self.sent += 1
        number = self.sent
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self.receive()
            if "method" in message:
                self.serve(message)
            elif message.get("id") == number:
                if "error" in message:
                    raise AgentRefused(method, message["error"])
                return message.get("result") or {}

    def send(self, message: dict[str, Any]) -> None:
        """Write a message to the agent."""
        text = json.dumps({"jsonrpc": "2.0", **message})
        self.to_agent.write(text.encode() + b"\n")
        self.to_agent.flush()

    def receive(self) -> dict[str, Any]:
        """The agent's next message; other lines that it writes are passed over."""
        while True:
            line = self.from_agent.readline()
            if not line:
                raise AgentEnded
            try:
                message = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(message, dict):
                return message

    def serve(self, message: dict[str, Any]) -> None:
        """Tell a notification, or answer a request."""
        params = message.get("params") or {}
        if message["method"] == "session/update":
            say("update", update=params.get("update"))
        if "id" not in message:
            return
        answer: dict[str, Any] = {"error": NOT_SERVED}
        if message["method"] == "session/request_permission":
            answer = {"result": {"outcome": permit(params)}}
        if message["method"] in ELICITATION:
            self.elicit(message["id"], params)
            return
        self.send({"id": message["id"], **answer})

    def elicit(self, number: object, params: dict[str, Any]) -> None:
        """Tell a question to a person. Nobody waits for the answer: the turn ends, or goes on."""
        schema = params.get("requestedSchema")
        say("asked", message=params.get("message"), schema=schema, deferred=self.interactive)
        if not self.interactive:
            self.send({"id": number, "result": {"action": "decline"}})
            return
        self.asked = True
        self.send({"id": number, "result": {"action": "cancel"}})
        self.send({"method": "session/cancel", "params": {"sessionId": self.session}})
        end = threading.Timer(GRACE, self.process.terminate)
        end.daemon = True
        end.start()


def permit(params: dict[str, Any]) -> dict[str, Any]:
    """What the agent may do: anything once, but reach the network or publish its work."""
    call = params.get("toolCall") or {}
    refused = call.get("kind") in REFUSED_KINDS or REFUSED_COMMANDS.search(
        json.dumps(call.get("rawInput") or {})
    )
    wanted = ("reject_once", "reject_always") if refused else ("allow_once", "allow_always")
    options = {option.get("kind"): option.get("optionId") for option in params.get("options", [])}
    chosen = next((options[kind] for kind in wanted if kind in options), None)
    say("permission", call=call, granted=not refused and chosen is not None)
    if chosen is None:
        return {"outcome": "cancelled"}
    return {"outcome": "selected", "optionId": chosen}


def converse(client: Client, order: dict[str, Any]) -> None:
    """Open or load the session, and send the prompt."""
    about: dict[str, Any] = {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }
    if client.interactive:
        about["elicitation"] = {"form": {}}
    agent = client.ask("initialize", protocolVersion=VERSION, clientCapabilities=about)
    say("agent", info=agent.get("agentInfo"), version=agent.get("protocolVersion"))
    place = {"cwd": order["cwd"], "mcpServers": []}
    session, text = order.get("session"), order["prompt"]
    if session:
        try:
            client.ask("session/load", sessionId=session, **place)
        except AgentRefused:  # it is gone, or this agent loads none: the work is begun again
            session, text = None, order["whole_prompt"]
    session = session or client.ask("session/new", **place).get("sessionId")
    client.session = str(session)
    say("session", session=session)
    prompt = [{"type": "text", "text": text}]
    answer = client.ask("session/prompt", sessionId=session, prompt=prompt)
    say("ended", stop=answer.get("stopReason"), usage=answer.get("usage"))


def main(arguments: list[str]) -> int:
    """See the module."""
    order = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    command = arguments[2:]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    client = Client(process, interactive=bool(order.get("interactive")))
    try:
        converse(client, order)
    except AgentRefused as refused:
        say("refused", method=refused.method, error=refused.error)
        return 1
    except (AgentEnded, BrokenPipeError):
        stop(process)
        if client.asked:
            say("ended", stop="cancelled")
            return 0
        sys.stderr.write(f"the agent ended with exit code {process.returncode}\n")
        return 1
    finally:
        stop(process)
    return 0


def stop(process: subprocess.Popen[bytes]) -> None:
    """Let the agent end by itself, then end it."""
    with contextlib.suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.close()
    for end in (process.terminate, process.kill):
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            end()
    process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
