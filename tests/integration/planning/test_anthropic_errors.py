"""What goes wrong between us and the model, sorted by who must act."""

import importlib
import inspect
import pkgutil
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anthropic
import pytest

from shared.domain.errors import Misconfigured, Rejected, ReplanError, Transient
from tests.fakes.model_server import KEY, Cuts, Fails, Hangs, Raw, Says
from tests.integration.planning.conftest import Planners
from tests.unit.planning.given import PLAN_REQUEST, plan_answer, step_answer
from workers.llm.foreign import FAMILIES, family_of
from workers.llm.settings import LlmSettings

GENERAL = {"AnthropicError", "APIError", "APIStatusError"}
"""What the SDK's errors inherit from; never raised themselves."""


def failing(planners: Planners, **environ: str) -> ReplanError:
    """The error that planning ends in."""
    with pytest.raises(ReplanError) as raised:
        planners.backend(**environ).plan(PLAN_REQUEST)
    return raised.value


@pytest.mark.parametrize(
    ("status", "kind", "family"),
    [
        (400, "invalid_request_error", Rejected),
        (401, "authentication_error", Misconfigured),
        (402, "billing_error", Misconfigured),
        (403, "permission_error", Misconfigured),
        (404, "not_found_error", Misconfigured),
        (408, "timeout_error", Transient),
        (409, "conflict_error", Transient),
        (413, "request_too_large", Rejected),
        (418, "invalid_request_error", Rejected),
        (422, "invalid_request_error", Rejected),
        (429, "rate_limit_error", Transient),
        (500, "api_error", Transient),
        (502, "api_error", Transient),
        (503, "api_error", Transient),
        (504, "timeout_error", Transient),
        (529, "overloaded_error", Transient),
    ],
)
def test_a_status_becomes_the_family_of_who_must_act(
    planners: Planners, status: int, kind: str, family: type[ReplanError]
) -> None:
    planners.model.will(Fails(status, kind, "because of the test"))
    error = failing(planners)
    assert type(error) is family
    assert error.stage == "plan"
    assert "because of the test" in error.reason
    assert str(status) in error.reason
    assert len(planners.model.asked) == 1
    assert planners.calls[0].error == family.family
    if family is not Transient:
        assert error.next_step_cmd


def test_a_span_that_the_other_side_asks_for_is_passed_on_and_not_slept_through(
    planners: Planners,
) -> None:
    planners.model.will(Fails(429, "rate_limit_error", headers={"retry-after": "3600"}))
    before = time.monotonic()
    error = failing(planners)
    assert time.monotonic() - before < 30
    assert isinstance(error, Transient)
    assert error.retry_after == 3600
    assert len(planners.model.asked) == 1


def test_a_moment_that_the_other_side_names_becomes_a_span(planners: Planners) -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)
    planners.model.will(Fails(529, "overloaded_error", headers={"retry-after": then}))
    error = failing(planners)
    assert isinstance(error, Transient)
    assert error.retry_after == pytest.approx(600, abs=60)


@pytest.mark.parametrize("said", ["soon", "-5", "nan", "inf"])
def test_a_span_that_is_none_is_passed_over(planners: Planners, said: str) -> None:
    planners.model.will(Fails(429, "rate_limit_error", headers={"retry-after": said}))
    error = failing(planners)
    assert isinstance(error, Transient)
    assert error.retry_after is None


def test_silence_ends_after_the_timeout(planners: Planners) -> None:
    planners.model.will(Hangs())
    error = failing(planners, REPLAN_MODEL_TIMEOUT="0.3")
    assert isinstance(error, Transient)
    assert len(planners.model.asked) == 1


def test_a_connection_that_is_cut_is_tried_later(planners: Planners) -> None:
    planners.model.will(Cuts())
    assert isinstance(failing(planners), Transient)


def test_a_connection_that_is_refused_is_tried_later(planners: Planners) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = failing(planners, ANTHROPIC_BASE_URL=url)
    assert isinstance(error, Transient)


@pytest.mark.parametrize(
    "answer",
    [
        Raw(b"<html>a proxy speaks</html>", content_type="text/html"),
        Raw(b"no json"),
        Raw(b"{}"),
        Raw(b"[]"),
        Raw(b'{"content": null, "usage": {}, "stop_reason": "end_turn"}'),
        Raw(b'{"content": [], "usage": null, "stop_reason": "end_turn"}'),
        Raw(b'{"content": [{"type": "text"}], "usage": {}, "stop_reason": "end_turn"}'),
        Raw(b'{"content": ["text"], "usage": {"input_tokens": 1}, "stop_reason": "end_turn"}'),
        Raw(b"bad gateway", status=502, content_type="text/plain"),
    ],
    ids=lambda raw: raw.body.decode()[:24],
)
def test_what_is_not_the_api_is_tried_later(planners: Planners, answer: Raw) -> None:
    planners.model.will(answer)
    assert isinstance(failing(planners), Transient)


@pytest.mark.parametrize(
    ("stop_reason", "told"),
    [
        ("refusal", "refused"),
        ("max_tokens", "cut off at 16000 tokens"),
        ("model_context_window_exceeded", "too long"),
        ("tool_use", "tool"),
        ("pause_turn", "paused"),
    ],
)
def test_an_answer_that_did_not_end_well_is_rejected_without_asking_again(
    planners: Planners, stop_reason: str, told: str
) -> None:
    planners.model.will(Says(plan_answer(step_answer("a")), stop_reason=stop_reason))
    error = failing(planners)
    assert isinstance(error, Rejected)
    assert told in error.reason
    assert error.next_step_cmd == "replan plan provide TASK --file plan.yaml"
    assert len(planners.model.asked) == 1
    (call,) = planners.calls
    assert (call.stop_reason, call.error) == (stop_reason, "rejected")
    assert call.usage.output_tokens == 10


def test_a_refusal_is_passed_on_in_the_models_words(planners: Planners) -> None:
    details = {"type": "refusal", "category": None, "explanation": "That would do harm."}
    planners.model.will(Says("", stop_reason="refusal", stop_details=details))
    assert "That would do harm." in failing(planners).reason


@pytest.mark.parametrize(
    "environ",
    [
        {"ANTHROPIC_API_KEY": ""},
        {"ANTHROPIC_API_KEY": "schlüssel"},
        {"ANTHROPIC_API_KEY": "two\nlines"},
        {"ANTHROPIC_BASE_URL": "api.example.com"},
        {"ANTHROPIC_BASE_URL": "http://[::1"},
        {"REPLAN_MODEL_EFFORT": "enormous"},
    ],
)
def test_what_only_the_operator_can_put_right_is_said_before_anything_is_sent(
    planners: Planners, environ: dict[str, str]
) -> None:
    error = failing(planners, **environ)
    assert isinstance(error, Misconfigured)
    assert error.next_step_cmd
    assert planners.model.asked == []


@pytest.mark.parametrize("said", ["soon", "0", "-1", "nan", "inf", "3601"])
def test_a_timeout_that_is_none_is_misconfigured(said: str) -> None:
    with pytest.raises(Misconfigured, match="REPLAN_MODEL_TIMEOUT"):
        LlmSettings.from_environ({"REPLAN_MODEL_TIMEOUT": said})


def test_the_key_is_never_shown(planners: Planners) -> None:
    planners.model.will(Fails(401, "authentication_error", f"invalid x-api-key {KEY}"))
    error = failing(planners)
    assert KEY not in f"{error} {error.reason} {error!r}"
    assert KEY not in repr(LlmSettings.from_environ(planners.model.environ))


def test_every_error_of_the_sdk_is_sorted() -> None:
    """A new class of error has to be sorted by a person before this program can meet it."""
    public = {
        found.__name__
        for found in vars(anthropic).values()
        if inspect.isclass(found) and issubclass(found, anthropic.AnthropicError)
    }
    assert public > {"RateLimitError", "OverloadedError"}
    assert {name for name in public if not name.startswith("Beta")} - GENERAL - set(
        FAMILIES
    ) == set()


def test_every_error_below_the_public_ones_has_a_family_to_inherit() -> None:
    for found in _all_errors():
        if found.__name__ not in GENERAL:
            inherited = {kind.__name__ for kind in found.__mro__} & set(FAMILIES)
            assert inherited, f"{found.__module__}.{found.__name__} has no family"


def test_an_error_that_is_not_listed_counts_as_what_it_inherits() -> None:
    class NewError(anthropic.RateLimitError):
        """One that a later version adds."""

    assert family_of(NewError.__new__(NewError)) is Transient


def _all_errors() -> set[type[BaseException]]:
    for module in pkgutil.walk_packages(anthropic.__path__, "anthropic."):
        if ".types" not in module.name and "_vendor" not in module.name:
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue  # needs an optional dependency that is not installed
    found: set[type[BaseException]] = set()
    waiting: list[type[BaseException]] = [anthropic.AnthropicError]
    while waiting:
        kind = waiting.pop()
        found.add(kind)
        waiting.extend(kind.__subclasses__())
    return {kind for kind in found if kind.__module__.startswith("anthropic")}
