"""What every client of a provider promises, each against a server that speaks its own protocol."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from shared.contracts.schemas import schema_of
from shared.domain.errors import Misconfigured, Rejected, ReplanError, Transient, Unavailable
from shared.domain.next_step import ShellCommand
from tests.contract.model_under_test import PLACES, Asking
from tests.fakes.model_server import (
    GOOGLE_TOKEN,
    KEY,
    Breaks,
    Cuts,
    Fails,
    Hangs,
    Pings,
    Raw,
    Says,
    model_server,
)
from tests.unit.planning.given import PLAN_REQUEST, plan_answer, step_answer
from workers.llm import providers
from workers.llm.backend import ModelBackend
from workers.llm.calls import FaultKind, Speaker, Turn, Usage
from workers.llm.providers import PROVIDERS

TOKENS = Usage(input_tokens=100, cache_read_tokens=7, cache_written_tokens=3, output_tokens=10)
"""What each answer of the server is said to have used, in the words of each protocol."""

LONG = "Grüße, 世界 🌍! " * 400


@pytest.fixture(scope="session")
def service_account() -> dict[str, str]:
    """The file of a Google service account, without the address of its tokens."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return {
        "type": "service_account",
        "project_id": "our-project",
        "private_key_id": "1",
        "private_key": pem,
        "client_email": "replan@our-project.example",
    }


@pytest.fixture(params=PLACES)
def asking(
    request: pytest.FixtureRequest,
    service_account: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Asking]:
    """A model at one place after another."""
    with model_server() as server:
        place = PLACES[request.param]
        credentials = tmp_path / "google.json"
        credentials.write_text(json.dumps(service_account | {"token_uri": f"{server.url}/token"}))
        environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(credentials), "no_proxy": "127.0.0.1"}
        for name, value in (environ | dict(place.environ)).items():
            monkeypatch.setenv(name, value)
        for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
            monkeypatch.delenv(name, raising=False)
        made = Asking(place, server)
        yield made
        made.close()


def test_a_question_arrives_as_it_was_put(asking: Asking) -> None:
    asking.server.will(Says("{}"))
    turns = (
        Turn(Speaker.USER, "do it"),
        Turn(Speaker.ASSISTANT, "{"),
        Turn(Speaker.USER, "again"),
    )
    asking.model().ask(asking.question(turns=turns, effort="high"))
    asked = asking.asked
    assert asked.path == asking.place.path
    assert asked.model == asking.place.model
    assert "the house rules" in asked.system
    assert "you plan" in asked.system
    assert asked.said == ["do it", "{", "again"]
    assert set(asked.schema["properties"]) == set(schema_of("plan-answer")["properties"])
    assert asked.effort == "high"
    assert 32_000 in asked.body.values()


def test_the_key_is_sent_as_the_provider_expects_it(asking: Asking) -> None:
    asking.server.will(Says("{}"))
    asking.model().ask(asking.question())
    sent = asking.asked.headers[asking.place.header]
    signed = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=AKIAMADEUP/\d+/eu-west-1/bedrock/.*", sent)
    assert signed or sent.removeprefix("Bearer ") in {KEY, GOOGLE_TOKEN}


def test_a_long_answer_comes_in_pieces_and_its_tokens_with_it(asking: Asking) -> None:
    asking.server.will(Says(LONG))
    reply = asking.model().ask(asking.question())
    assert reply.text == LONG
    assert (reply.usage, reply.fault) == (TOKENS, None)
    (call,) = asking.log.calls
    assert (call.usage, call.answer, call.error) == (TOKENS, LONG, None)
    assert not call.estimated
    assert call.request_id == "req_1"
    assert call.stop_reason in {"end_turn", "stop"}


@pytest.mark.parametrize("asking", sorted(set(PLACES) - {"bedrock"}), indirect=True)
def test_an_answer_of_a_server_that_does_not_stream_is_read(asking: Asking) -> None:
    """Bedrock's address says that it streams."""
    asking.server.streams = False
    asking.server.will(Says(LONG))
    reply = asking.model().ask(asking.question())
    assert (reply.text, reply.usage) == (LONG, TOKENS)


UNFINISHED = (
    ("max_tokens", FaultKind.CUT_OFF, "32000 tokens"),
    ("refusal", FaultKind.REFUSED, "That would do harm."),
    ("tool_use", FaultKind.OTHER, "tool"),
)


def test_an_answer_that_did_not_end_well_says_why_and_is_paid_for(asking: Asking) -> None:
    details = {"type": "refusal", "category": None, "explanation": "That would do harm."}
    for stop_reason, kind, told in UNFINISHED:
        asking.server.will(Says("some", stop_reason=stop_reason, stop_details=details))
        reply = asking.model().ask(asking.question())
        assert reply.fault is not None
        assert reply.fault.kind is kind
        assert told in f"{reply.fault.complaint} {reply.fault.reason}"
        assert reply.usage == TOKENS
        assert asking.log.calls[-1].error == Rejected.family


STATUSES: dict[int, tuple[str, type[ReplanError]]] = {
    400: ("invalid_request_error", Rejected),
    401: ("authentication_error", Misconfigured),
    402: ("billing_error", Misconfigured),
    403: ("permission_error", Misconfigured),
    404: ("not_found_error", Misconfigured),
    413: ("request_too_large", Rejected),
    429: ("rate_limit_error", Unavailable),
    500: ("api_error", Transient),
    503: ("api_error", Unavailable),
    529: ("overloaded_error", Unavailable),
}


def test_a_status_becomes_the_family_of_who_must_act(asking: Asking) -> None:
    keys = asking.settings().secrets
    for status, (kind, family) in STATUSES.items():
        told = f"because of {', '.join(keys)}"
        asking.server.will(Fails(status, kind, told, {"retry-after": "60"}))
        error = asking.fails()
        assert type(error) is family, status
        assert f"{status}: because of " in error.reason
        assert not [key for key in keys if key in f"{error} {asking.log.calls[-1].reason}"]
        if status in {401, 403}:
            assert error.next_step == PROVIDERS[asking.place.provider].sign_in
        if status == 404:
            assert error.next_step == ShellCommand("export REPLAN_MODEL=NAME")
        if isinstance(error, Transient):
            assert error.retry_after == 60
    assert len(asking.server.asked) == len(STATUSES)


def test_an_answer_that_breaks_off_is_counted_as_far_as_it_came(asking: Asking) -> None:
    for kind in ("overloaded_error", None):
        asking.server.will(Breaks("x" * 3000, kind=kind))
        assert type(asking.fails()) is Transient
        call = asking.log.calls[-1]
        assert call.estimated
        assert call.usage.output_tokens > 300
        assert call.usage.input_tokens
        assert call.answer


NOT_THE_PROTOCOL = (
    Raw(b"<html>a proxy speaks</html>", content_type="text/html"),
    Raw(b"no json"),
    Raw(b"{}"),
    Raw(b"[]"),
    Raw(b"bad gateway", status=502, content_type="text/plain"),
    Cuts(),
)


def test_what_is_not_the_providers_protocol_is_tried_later(asking: Asking) -> None:
    for answer in NOT_THE_PROTOCOL:
        asking.server.will(answer)
        assert isinstance(asking.fails(), Transient), answer


def test_silence_ends_after_the_timeout(asking: Asking) -> None:
    asking.server.will(Hangs())
    assert isinstance(asking.fails(REPLAN_MODEL_TIMEOUT="1"), Unavailable)


def test_a_call_whose_answer_nobody_wants_is_ended(asking: Asking) -> None:
    asking.server.will(Pings("x" * 3000))
    asking.log.wanted = lambda: not asking.server.asked
    error = asking.fails()
    assert "not wanted any more" in error.reason
    assert asking.server.hung_up.wait(10)


def test_a_library_that_is_missing_is_told_with_what_installs_it(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = PROVIDERS[asking.place.provider]
    monkeypatch.setattr(providers, "find_spec", lambda _: None)
    error = asking.fails()
    assert isinstance(error, Misconfigured)
    assert info.library in error.reason
    assert error.next_step == providers.install(info.requirement)
    assert asking.server.asked == []


def test_a_model_that_is_not_named_is_told(asking: Asking) -> None:
    """Where the provider has no default model; the others ask for the usual one."""
    named = bool(asking.settings(REPLAN_MODEL="").model)
    assert named is PROVIDERS[asking.place.provider].names_models
    with pytest.raises(Misconfigured, match="no model is set"):
        asking.model().ask(asking.question(model=""))


def test_an_answer_of_another_form_is_asked_for_again_with_the_schema(asking: Asking) -> None:
    """A server that drops the schema in silence never told the model of it."""
    asking.server.will(Says("nonsense"), Says(plan_answer(step_answer("a"))))
    backend = ModelBackend(asking.model(), asking.settings())
    plan = backend.plan(PLAN_REQUEST)
    assert [step.author.backend for step in plan.steps] == [asking.place.provider]
    complaint = asking.server.asked[1].said[2]
    assert '"depends_on"' in complaint
    assert [call.usage for call in asking.log.calls] == [TOKENS] * 2


def test_the_schema_can_be_told_from_the_start(asking: Asking) -> None:
    asking.server.will(Says(plan_answer(step_answer("a"))))
    settings = asking.settings(REPLAN_MODEL_SCHEMA_IN_PROMPT="on")
    ModelBackend(asking.model(), settings).plan(PLAN_REQUEST)
    assert '"depends_on"' in asking.asked.system


def test_no_key_is_part_of_the_settings_as_text(asking: Asking) -> None:
    assert KEY not in repr(asking.settings())
