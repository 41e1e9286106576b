"""What passes through the gateway: every byte, as it comes, and never a key."""

import json
import socket
from typing import Any, Final

import httpx2
import pytest

from shared.domain.errors import Misconfigured, Unavailable
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from tests.fakes.gateway import NotingUpstream
from tests.fakes.model_server import Fails, Hangs, Raw, Says, model_server
from tests.unit.gateway.chain import KEY, TOKEN, StagedUpstream, chain, gateway_before
from workers.gateway.accounts import NoAccounts
from workers.gateway.app import LARGEST_BODY, Gateway
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving

ASKED: Final[Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
SAYS: Final = [{"text": "I look around."}, {"tool": "Bash", "input": {"command": "ls"}}]
PLACES: Final = {
    "messages": ("/v1/messages", {**ASKED, "stream": True}),
    "messages-whole": ("/v1/messages", ASKED),
    "chat": ("/v1/chat/completions", {**ASKED, "stream": True}),
    "chat-usage": (
        "/v1/chat/completions",
        {**ASKED, "stream": True, "stream_options": {"include_usage": True}},
    ),
    "responses": ("/v1/responses", {"model": "m", "input": "hi", "stream": True}),
    "gemini": (
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    ),
}


def post(url: str, path: str = "/v1/messages", body: Any = ASKED, **more: Any) -> httpx2.Response:
    """What the gateway answers an attempt."""
    headers = {"x-api-key": TOKEN} | more.pop("headers", {})
    return httpx2.post(f"{url}{path}", json=body, headers=headers, **more)


@pytest.mark.parametrize("place", PLACES)
def test_an_answer_is_the_same_as_without_the_gateway(place: str) -> None:
    path, body = PLACES[place]
    noting = NotingUpstream(ScriptedUpstream(parse_script([SAYS])))
    with chain(noting) as url:
        passed = post(url, path, body)
    direct = ScriptedUpstream(parse_script([SAYS]))
    with chain(direct) as other:  # asked for the chunk by itself, so nothing is taken out
        asked = {**body, "stream_options": {"include_usage": True}} if place == "chat" else body
        whole = post(other, path, asked)
    usage = [line for line in whole.text.split("\n\n") if '"choices": []' in line]
    expected = whole.text.replace(f"{usage[0]}\n\n", "") if place == "chat" else whole.text
    assert passed.text == expected
    assert passed.headers["content-type"] == whole.headers["content-type"]
    assert len(noting.requests) == 1


def test_each_piece_arrives_before_the_next_one_is_sent() -> None:
    pieces = [b"data: {}\n\n", b"data: half of", b" event\n\n"]
    staged = StagedUpstream(*pieces)
    with (
        chain(staged) as url,
        httpx2.stream(
            "POST", f"{url}/v1/messages", json=ASKED, headers={"x-api-key": TOKEN}
        ) as got,
    ):
        arrived = got.iter_raw()
        for piece in pieces:
            staged.go_on()
            assert next(arrived) == piece
        assert list(arrived) == []


def test_a_client_that_hangs_up_closes_the_upstream() -> None:
    staged = StagedUpstream(b"data: {}\n\n", b"never")
    with chain(staged) as url:
        with httpx2.stream(
            "POST", f"{url}/v1/messages", json=ASKED, headers={"x-api-key": TOKEN}
        ) as got:
            staged.go_on()
            next(got.iter_raw())
        assert staged.closed.wait(10)
        staged.go_on(9)


def test_a_client_that_hangs_up_before_the_answer_begins_closes_it_too() -> None:
    hanging = ScriptedUpstream(parse_script([[{"status": 529, "headers": {"retry-after": "20"}}]]))
    noting = NotingUpstream(hanging)
    with chain(noting, patience=60.0) as url, pytest.raises(httpx2.TimeoutException):
        post(url, timeout=0.3)
    assert len(noting.requests) == 1


def test_an_answer_that_breaks_off_does_not_look_ended() -> None:
    staged = StagedUpstream(b"data: {}\n\n", cut=True)
    staged.go_on()
    with chain(staged) as url, pytest.raises(httpx2.RemoteProtocolError):
        post(url)


def test_the_upstream_gets_the_key_and_never_the_token() -> None:
    with model_server() as server, gateway_before(server.url) as url:
        server.will(Says("Fine."))
        text = [{"type": "text", "text": "x"}]
        body = {**ASKED, "system": text, "messages": [{"role": "user", "content": text}]}
        assert post(url, body=body, headers={"anthropic-beta": "b"}).status_code == 200
        (asked,) = server.asked
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-beta"] == "b"
    assert TOKEN not in json.dumps([dict(asked.headers), asked.body])


@pytest.mark.parametrize(
    "turn",
    [
        Raw(f'data: {{"key": "{KEY}"}}\n\n'.encode(), content_type="text/event-stream"),
        Raw(json.dumps({"echo": f"Bearer {KEY}"}).encode()),
        Fails(400, "invalid_request_error", f"the key {KEY} is odd", {"request-id": KEY}),
        Fails(401, "authentication_error", f"invalid x-api-key {KEY}"),
        Fails(403, "permission_error", KEY),
        Fails(529, "overloaded_error", KEY, {"retry-after": "99", "x-echo": KEY}),
    ],
    ids=["stream", "whole", "400", "401", "403", "529"],
)
def test_no_byte_that_the_attempt_gets_holds_the_key(turn: Raw | Fails) -> None:
    """Also where the upstream says it again. Read from the socket: headers, chunks and all."""
    with model_server() as server, gateway_before(server.url) as url:
        server.will(turn)
        raw = json.dumps({**ASKED, "system": [], "messages": []}).encode()
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            head = (
                f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {TOKEN}\r\n"
                f"connection: close\r\ncontent-length: {len(raw)}\r\n\r\n"
            )
            connection.sendall(head.encode() + raw)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert server.asked[0].headers["x-api-key"] == KEY, "else this test proves nothing"
    assert answer.startswith(b"HTTP/1.1 ")
    assert KEY.encode() not in answer


def test_a_known_secret_leaves_only_under_its_name() -> None:
    noting = NotingUpstream(ScriptedUpstream(parse_script([SAYS])))
    said = [{"role": "user", "content": 'the password is correct horse "battery"'}]
    with chain(noting) as url:
        assert post(url, body={**ASKED, "messages": said}).status_code == 200
    (request,) = noting.requests
    assert request.body["messages"][0]["content"] == "the password is ‹secret:DB›"


@pytest.mark.parametrize(("status", "waits"), [(429, "0.05"), (500, ""), (503, ""), (529, "0")])
def test_a_busy_upstream_is_waited_out(status: int, waits: str) -> None:
    fails = {"status": status, "times": 1, "headers": {"retry-after": waits} if waits else {}}
    noting = NotingUpstream(ScriptedUpstream(parse_script([[fails, {"text": "Now."}]])))
    with chain(noting, patience=5.0) as url:
        answer = post(url)
    assert answer.json()["content"][0]["text"] == "Now."
    assert len(noting.requests) == 2


@pytest.mark.parametrize("place", ["messages", "chat", "responses", "gemini"])
def test_an_upstream_that_stays_busy_is_a_hard_stop_in_the_form_of_the_protocol(place: str) -> None:
    path, body = PLACES[place]
    busy = ScriptedUpstream(parse_script([{"status": 529, "headers": {"retry-after": "3600"}}]))
    with chain(busy) as url:
        answer = post(url, path, body)
    assert (answer.status_code, answer.headers["x-should-retry"]) == (402, "false")
    told = answer.json()["error"]
    assert "529" in told["message"]
    assert {"messages": "type", "gemini": "status"}.get(place, "code") in told


def test_an_upstream_that_is_not_there_is_a_hard_stop_too() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        with gateway_before(f"http://127.0.0.1:{taken.getsockname()[1]}") as url:
            answer = post(url)
    assert answer.status_code == 402
    assert "does not answer" in answer.json()["error"]["message"]


def test_an_upstream_that_takes_a_request_and_stays_silent_is_not_asked_again() -> None:
    with model_server() as server, gateway_before(server.url, 60.0, silence=0.2) as url:
        server.will(Hangs())
        answer = post(url, body={**ASKED, "system": [{"type": "text", "text": "x"}]})
        assert len(server.asked) == 1
    assert answer.status_code == 402
    assert "has the request" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("POST", "/v1/messages", {"content": b"{"}, 400),
        ("POST", "/v1/messages", {"content": b"[1]"}, 400),
        ("POST", "/v1/messages", {"content": b"\xff\xfe"}, 400),
        ("POST", "/v1/messages", {"json": {"messages": "odd"}}, 400),
        ("POST", "/v1/chat/completions", {"json": {"model": 7}}, 400),
        ("POST", "/v1/messages", {"json": {**ASKED, "model": "m" * 201}}, 400),
        ("POST", "/v1/messages/count_tokens", {"json": {**ASKED, "model": "m" * 201}}, 400),
        ("POST", "/v1/responses", {"content": b"x", "headers": {"content-encoding": "zstd"}}, 400),
        ("POST", "/v1/responses", {"json": {"model": "m", "input": "", "background": True}}, 400),
        ("GET", "/v1/messages", {}, 405),
        ("POST", "/v1/files", {"json": {}}, 404),
        ("POST", "/v1beta/models/m:paint", {"json": {}}, 404),
        ("GET", "/../etc/passwd", {}, 404),
    ],
)
def test_bad_input_has_an_answer_in_the_form_of_the_protocol(
    method: str, path: str, sent: Any, status: int
) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"} | sent.pop("headers", {})
    with chain(ScriptedUpstream(parse_script([SAYS]))) as url:
        answer = httpx2.request(method, f"{url}{path}", headers=headers, **sent)
        assert answer.status_code == status
        assert answer.json()["error"]["message"]
        assert post(url).status_code == 200, "it goes on"


def test_the_longest_name_of_a_model_is_passed_on() -> None:
    with chain(ScriptedUpstream(parse_script([SAYS]))) as url:
        assert post(url, body={**ASKED, "model": "m" * 200}).status_code == 200


def status_of(url: str, method: str, path: str) -> int:
    """The status of a request whose path goes out as it is written here."""
    host, _, port = url.removeprefix("http://").partition(":")
    raw = json.dumps({"contents": []}).encode() if method == "POST" else b""
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {TOKEN}\r\n"
            f"connection: close\r\ncontent-length: {len(raw)}\r\n\r\n"
        )
        connection.sendall(head.encode() + raw)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    return int(answer.split()[1])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models/../files/file-x/content"),
        ("GET", "/v1/models/%2e%2e/files/file-x/content"),
        ("GET", "/v1/models/..%2ffiles/file-x/content"),
        ("GET", "/v1/models/.%2E%2Ffiles"),
        ("GET", "/v1/models/%252e%252e/files"),
        ("GET", "/v1/models/..%5cfiles"),
        ("GET", "/v1/models/m/.."),
        ("GET", "/v1/models/./m"),
        ("GET", "/v1/models//m"),
        ("GET", "/v1beta/models/.."),
        ("POST", "/v1beta/models/../files/x:generateContent"),
        ("POST", "/v1beta/models/%2e%2e/tunedModels/x:countTokens"),
    ],
)
def test_no_path_leads_out_of_what_the_gateway_serves(method: str, path: str) -> None:
    """A client of HTTP removes dot segments: the provider would get another path, with the key."""
    noting = NotingUpstream(ScriptedUpstream(parse_script([SAYS])))
    with serving(Gateway(noting, NoAccounts())) as where:
        assert status_of(where.url, method, path) == 404
        assert not noting.requests


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/org/m-1.5:free", "/v1beta/models/m.1"])
def test_models_whose_names_have_dots_and_slashes_are_served(path: str) -> None:
    noting = NotingUpstream(ScriptedUpstream(parse_script([SAYS])))
    with serving(Gateway(noting, NoAccounts())) as where:
        status_of(where.url, "GET", path)
    assert [each.route.path for each in noting.requests] == [path]


def test_odd_content_is_the_upstreams_to_judge() -> None:
    odd = {**ASKED, "messages": [{"role": 5, "content": {"text": [None]}}, None, "x"]}
    with chain(ScriptedUpstream(parse_script([SAYS]))) as url:
        assert post(url, body=odd).status_code == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Misconfigured(f"the vault is odd: {KEY}", stage="secrets"), 402),
        (Unavailable("the vault is away", stage="secrets"), 402),
        (RuntimeError("a bug"), 500),
    ],
    ids=["misconfigured", "unavailable", "bug"],
)
def test_a_vault_that_cannot_be_read_is_a_hard_stop(error: Exception, status: int) -> None:
    """Agents repeat what has a 500, and nothing leaves with secrets that are not hidden."""

    def masker() -> Masker:
        raise error

    noting = NotingUpstream(ScriptedUpstream(parse_script([SAYS])))
    keys = Masker([Secret("ANTHROPIC_API_KEY", KEY)])
    with serving(Gateway(noting, NoAccounts(), masker=masker, keys=keys)) as where:
        answer = post(where.url)
    assert (answer.status_code, answer.headers["x-should-retry"]) == (status, "false")
    told = answer.json()["error"]["message"]
    assert ("the vault is" in told) == (status == 402)
    assert KEY not in answer.text
    assert not noting.requests


def test_a_request_without_a_token_or_too_large_is_refused() -> None:
    with chain(ScriptedUpstream(parse_script([SAYS]))) as url:
        nobody = httpx2.post(f"{url}/v1/messages", json=ASKED)
        assert (nobody.status_code, nobody.headers["x-should-retry"]) == (401, "false")
        assert nobody.json()["error"]["type"] == "authentication_error"
        large = httpx2.post(
            f"{url}/v1/messages",
            content=(b" " * 1_000_000 for _ in range(LARGEST_BODY // 1_000_000 + 2)),
            headers={"x-api-key": TOKEN},
        )
        assert large.status_code == 413


def test_it_says_that_it_is_well() -> None:
    with chain(ScriptedUpstream(parse_script([SAYS]))) as url:
        assert httpx2.get(f"{url}/health").json() == {"ok": True, "served": 0}
