"""A loopback server that speaks the Messages API and gives the answers that a test has written."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

KEY: Final = "sk-made-up-for-the-tests"
PATH: Final = "/v1/messages"


@dataclass(frozen=True, slots=True)
class Says:
    """A finished message: a text, or a value given as its JSON."""

    value: object
    stop_reason: str = "end_turn"
    stop_details: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The text of the message."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value)


@dataclass(frozen=True, slots=True)
class Fails:
    """An error answer in the API's own form."""

    status: int
    kind: str = "api_error"
    message: str = "made to fail"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Any bytes as an answer."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Hangs:
    """No answer before the server is closed."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """The connection ends in the middle of an answer."""


@dataclass(frozen=True, slots=True)
class Breaks:
    """An answer that begins and breaks off after so many events, with an error of that kind.

    What was `thought` comes before the text.
    """

    value: object
    after: int = 3
    kind: str | None = "overloaded_error"
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Pings:
    """An answer that begins, is never finished, and is kept open with pings."""

    value: str


Turn = Says | Fails | Raw | Hangs | Cuts | Breaks | Pings


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema that the answer has to fit; empty when none was sent."""
        config: Mapping[str, Any] = self.body.get("output_config", {})
        found: Mapping[str, Any] = config.get("format", {}).get("schema", {})
        return found

    @property
    def wants(self) -> str:
        """The schema's title: `PlanAnswer`, `DetailAnswer`, `RevisionAnswer`, `RefineAnswer`."""
        return str(self.schema.get("title", ""))

    @property
    def system(self) -> str:
        """What is said before the conversation."""
        return "\n".join(part["text"] for part in self.body["system"])

    @property
    def said(self) -> list[str]:
        """What each turn of the conversation says, first to last."""
        return [turn["content"] for turn in self.body["messages"]]


class ModelServer:
    """Answers each request with the first turn left that was written for it, and remembers it.

    A request that nothing was written for is answered with status 418, which no client repeats.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._written: list[tuple[str, str, Turn]] = []
        self._lock = threading.Lock()
        self.over = threading.Event()
        self.hung_up = threading.Event()
        self.streams = True
        self._server = _Listener(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL is set to."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environ(self) -> dict[str, str]:
        """What a worker needs so that this is its model."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_AUTH_TOKEN": "",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def will(self, *turns: Turn, wanted: str = "", about: str = "") -> None:
        """Write turns: for questions that want this kind of answer and say this, or for any."""
        with self._lock:
            self._written.extend((wanted, about, turn) for turn in turns)

    def of(self, wanted: str) -> list[Asked]:
        """The requests for one kind of answer."""
        with self._lock:
            return [asked for asked in self.asked if asked.wants == wanted]

    def unused(self) -> int:
        """How many turns were written and not asked for."""
        with self._lock:
            return len(self._written)

    def close(self) -> None:
        """Stop; what hangs is cut."""
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def next(self, asked: Asked) -> Turn:
        """Remember the request; what it is to be answered with."""
        with self._lock:
            self.asked.append(asked)
            for written in self._written:
                wanted, about, turn = written
                if wanted in {"", asked.wants} and about in "\n".join(asked.said):
                    self._written.remove(written)
                    return turn
        return Fails(418, "invalid_request_error", f"nothing was written for {asked.wants}")


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Answerer)
        self.script = script


class _Answerer(BaseHTTPRequestHandler):
    server: "_Listener"
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        number = len(self.server.script.asked) + 1
        asked = Asked(self.path, headers, json.loads(body))
        self._take(self.server.script.next(asked), number, streamed=bool(asked.body.get("stream")))

    def _take(self, turn: Turn, number: int, *, streamed: bool) -> None:
        match turn:
            case Says() if streamed and self.server.script.streams:
                self._send(200, _events(_message(turn, number)), "text/event-stream")
            case Says():
                self._send(200, json.dumps(_message(turn, number)).encode())
            case Breaks():
                message = _message(Says(turn.value), number)
                if turn.thought:
                    thinking = {"type": "thinking", "thinking": turn.thought, "signature": ""}
                    message["content"].insert(0, thinking)
                said = _events(message, until=turn.after)
                broken = (
                    b""
                    if turn.kind is None
                    else _event("error", json.loads(_error(turn.kind, "broken")))
                )
                self._send(200, said + broken, "text/event-stream")
            case Fails(status, kind, message, more):
                self._send(status, _error(kind, message), headers=more)
            case Raw(content, status, content_type):
                self._send(status, content, content_type)
            case Pings(text):
                self._ping(_events(_message(Says(text), number), until=3))
            case Hangs():
                self.server.script.over.wait()
                self.close_connection = True
            case Cuts():
                self._cut()

    def _send(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.send_header("request-id", f"req_{len(self.server.script.asked)}")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def _ping(self, said: bytes) -> None:
        """Keep the answer open until the other side hangs up."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        script = self.server.script
        try:
            self.wfile.write(said)
            while not script.over.wait(0.05):
                self.wfile.write(_event("ping", {}))
        except ConnectionError:
            script.hung_up.set()

    def _cut(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "10000")
        self.end_headers()
        self.wfile.write(b'{"id": "msg_1", ')
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the test reads `asked`."""


@contextlib.contextmanager
def model_server() -> Iterator[ModelServer]:
    """A running server, closed at the end."""
    server = ModelServer()
    try:
        yield server
    finally:
        server.close()


def _message(turn: Says, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "made-up",
        "content": [{"type": "text", "text": turn.text}] if turn.text else [],
        "stop_reason": turn.stop_reason,
        "stop_details": turn.stop_details,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100,
            "output_tokens": 10,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 3,
        },
    }


def _error(kind: str, message: str) -> bytes:
    told = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_0"}
    return json.dumps(told).encode()


def _events(message: dict[str, Any], until: int | None = None) -> bytes:
    """The message as a stream of events, in pieces; the first `until` of them."""
    started = message | {
        "content": [],
        "stop_reason": None,
        "stop_details": None,
        "usage": message["usage"] | {"output_tokens": 1},
    }
    events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": started})]
    for index, block in enumerate(message["content"]):
        kind = block["type"]
        text = block[kind]
        events.append(
            ("content_block_start", {"index": index, "content_block": block | {kind: ""}})
        )
        events += [
            (
                "content_block_delta",
                {"index": index, "delta": {"type": f"{kind}_delta", kind: text[at : at + 1000]}},
            )
            for at in range(0, len(text), 1000)
        ]
        events.append(("content_block_stop", {"index": index}))
    ended = {name: message[name] for name in ("stop_reason", "stop_details", "stop_sequence")}
    events.append(("message_delta", {"delta": ended, "usage": message["usage"]}))
    events.append(("message_stop", {}))
    return b"".join(_event(kind, body) for kind, body in events[:until])


def _event(kind: str, body: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | body)}\n\n".encode()
