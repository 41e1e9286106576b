"""A loopback server that speaks a provider's protocol and gives the answers of a test."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.fakes.model_wires import MessagesWire, kind_of, wire_of

KEY: Final = "sk-made-up-for-the-tests"
PATH: Final = "/v1/messages"
TOKENS: Final = "/token"
"""Where Google's service accounts get their tokens."""

GOOGLE_TOKEN: Final = "ya29.made-up-for-the-tests"
_GOOGLE_ANSWER: Final = {"access_token": GOOGLE_TOKEN, "expires_in": 3600, "token_type": "Bearer"}


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
    def _wire(self) -> MessagesWire:
        return wire_of(self.path)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema that the answer has to fit; empty when none was sent."""
        return self._wire.schema(self.body)

    @property
    def wants(self) -> str:
        """Which answer the schema describes: `PlanAnswer`, `DetailAnswer` or another."""
        return kind_of(self.schema)

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self._wire.model(self.path, self.body)

    @property
    def effort(self) -> str | None:
        """How hard the model is to think."""
        return self._wire.effort(self.body)

    @property
    def system(self) -> str:
        """What is said before the conversation."""
        return self._wire.system(self.body)

    @property
    def said(self) -> list[str]:
        """What each turn of the conversation says, first to last."""
        return self._wire.said(self.body)


@dataclass(frozen=True, slots=True)
class Decides:
    """A turn for each question that comes, by a function of the question; it stays written."""

    by: Callable[[Asked], Turn]


class ModelServer:
    """Answers each request with the first turn left that was written for it, and remembers it.

    A request that nothing was written for is answered with status 418, which no client repeats.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._written: list[tuple[str, str, Turn | Decides]] = []
        self._lock = threading.Lock()
        self.over = threading.Event()
        self.hung_up = threading.Event()
        self.pings = 0
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

    def will(self, *turns: Turn | Decides, wanted: str = "", about: str = "") -> None:
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
                    if isinstance(turn, Decides):
                        return turn.by(asked)
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
    _wire = MessagesWire()
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        number = len(self.server.script.asked) + 1
        if self.path == TOKENS:
            self._send(200, json.dumps(_GOOGLE_ANSWER).encode())
            return
        asked = Asked(self.path, headers, json.loads(body))
        self._wire = wire_of(self.path)
        streamed = self._wire.is_streamed(asked.body) and self.server.script.streams
        self._take(self.server.script.next(asked), number, streamed=streamed)

    def _take(self, turn: Turn, number: int, *, streamed: bool) -> None:
        wire = self._wire
        match turn:
            case Says() if streamed:
                self._send(200, wire.stream(_message(turn, number)), wire.content_type)
            case Says():
                self._send(200, wire.whole(_message(turn, number)))
            case Breaks():
                message = _message(Says(turn.value), number)
                if turn.thought:
                    thinking = {"type": "thinking", "thinking": turn.thought, "signature": ""}
                    message["content"].insert(0, thinking)
                said = wire.stream(message, until=turn.after)
                broken = b"" if turn.kind is None else wire.broken(turn.kind)
                self._send(200, said + broken, wire.content_type)
            case Fails(status, kind, message, more):
                self._send(status, wire.error(kind, message), headers=more)
            case Raw(content, status, content_type):
                self._send(status, content, content_type)
            case Pings(text):
                self._ping(wire.stream(_message(Says(text), number), until=3))
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
        self.send_header(self._wire.request_id, f"req_{len(self.server.script.asked)}")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def _ping(self, said: bytes) -> None:
        """Keep the answer open until the other side hangs up."""
        self.send_response(200)
        self.send_header("content-type", self._wire.content_type)
        self.end_headers()
        self.close_connection = True
        script = self.server.script
        try:
            self.wfile.write(said)
            while not script.over.wait(0.05):
                script.pings += 1
                self.wfile.write(self._wire.frame("ping", {}))
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
