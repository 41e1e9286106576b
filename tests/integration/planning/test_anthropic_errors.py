"""Errors between this program and the model, sorted by who must act."""

import importlib
import inspect
import pkgutil
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anthropic
import pytest

from shared.domain.errors import Misconfigured, Rejected, ReplanError, Transient, Unavailable
from shared.domain.next_step import command_line
from tests.fakes.model_server import (
    KEY,
    Breaks,
    Cuts,
    Fails,
    Hangs,
    Pings,
    Raw,
    Says,
    Turn,
)
from tests.integration.planning.conftest import Planners
from tests.unit.planning.given import PLAN_REQUEST, plan_answer, step_answer
from workers.llm.calls import CANCELLED, Usage
from workers.llm.foreign import FAMILIES, family_of

GENERAL = {"AnthropicError", "APIError", "APIStatusError"}
"""The base classes of the SDK's errors, which are never raised themselves."""


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
        (408, "timeout_error", Unavailable),
        (409, "conflict_error", Transient),
        (413, "request_too_large", Rejected),
        (418, "invalid_request_error", Rejected),
        (422, "invalid_request_error", Rejected),
        (429, "rate_limit_error", Unavailable),
        (500, "api_error", Transient),
        (502, "api_error", Unavailable),
        (503, "api_error", Unavailable),
        (504, "timeout_error", Unavailable),
        (529, "overloaded_error", Unavailable),
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
    if not issubclass(family, Transient):
        assert error.next_step


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
    error = failing(planners, REPLAN_MODEL_TIMEOUT="1")
    assert isinstance(error, Unavailable)
    assert len(planners.model.asked) == 1


def test_a_connection_that_is_cut_is_tried_later(planners: Planners) -> None:
    planners.model.will(Cuts())
    assert isinstance(failing(planners), Unavailable)


def test_a_connection_that_is_refused_is_tried_later(planners: Planners) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = failing(planners, ANTHROPIC_BASE_URL=url)
    assert isinstance(error, Unavailable)


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("overloaded_error", Transient),
        ("rate_limit_error", Transient),
        ("api_error", Transient),
        ("billing_error", Misconfigured),
        (None, Transient),
    ],
)
def test_an_answer_that_breaks_off_is_counted_as_far_as_it_came(
    planners: Planners, kind: str | None, family: type[ReplanError]
) -> None:
    answer = Says(plan_answer(step_answer("a"))).text
    planners.model.will(Breaks(answer, kind=kind))
    assert type(failing(planners)) is family
    (call,) = planners.calls
    assert (call.usage.input_tokens, call.usage.output_tokens) == (100, -(-len(answer) // 3))
    assert call.estimated
    assert call.answer == answer
    assert call.request_id == "req_1"
    assert call.reason


def test_what_is_thought_before_an_answer_breaks_off_is_counted(planners: Planners) -> None:
    planners.model.will(Breaks("", after=3, thought="hm" * 300))
    assert type(failing(planners)) is Transient
    (call,) = planners.calls
    assert (call.usage.output_tokens, call.estimated) == (200, True)


def test_an_answer_that_has_not_begun_is_waited_for(planners: Planners) -> None:
    planners.model.will(Breaks("", after=0))
    assert type(failing(planners)) is Unavailable
    (call,) = planners.calls
    assert (call.usage, call.estimated) == (Usage(), False)


def test_an_answer_that_is_never_finished_is_ended_and_counted(planners: Planners) -> None:
    """A server that pings is not silent."""
    planners.model.will(Pings("a" * 30))
    error = failing(planners, REPLAN_MODEL_CALL_LIMIT="1")
    assert type(error) is Transient
    assert "after 1 s (model_call_limit)" in error.reason
    assert planners.model.hung_up.wait(30)
    (call,) = planners.calls
    assert (call.usage.output_tokens, call.estimated, call.error) == (10, True, "transient")


@pytest.mark.parametrize("turn", [Pings("a" * 30), Hangs()], ids=["begun", "silent"])
def test_a_call_that_nobody_wants_any_more_is_hung_up(planners: Planners, turn: Turn) -> None:
    planners.model.will(turn)
    model, begins = planners.model, isinstance(turn, Pings)
    # what was sent ten pings ago has been read
    planners.withdraw_when = lambda: model.pings > 9 if begins else bool(model.asked)
    begun = time.monotonic()
    error = failing(planners)
    assert time.monotonic() - begun < 10
    assert isinstance(error, Transient)
    (call,) = planners.calls
    assert call.error == CANCELLED
    assert call.usage.output_tokens == (10 if begins else 0)
    if begins:
        assert planners.model.hung_up.wait(30)


def test_a_server_that_does_not_stream_is_understood(planners: Planners) -> None:
    planners.model.streams = False
    planners.model.will(Says(plan_answer(step_answer("a"))))
    assert len(planners.backend().plan(PLAN_REQUEST).steps) == 1
    (call,) = planners.calls
    assert (call.usage.output_tokens, call.estimated, call.stop_reason) == (10, False, "end_turn")


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


UNFINISHED = [
    ("max_tokens", "cut off at 32000 tokens"),
    ("tool_use", "tool"),
    ("pause_turn", "paused"),
]


@pytest.mark.parametrize(("stop_reason", "told"), UNFINISHED)
def test_an_answer_that_did_not_end_well_is_asked_for_again_with_the_reason(
    planners: Planners, stop_reason: str, told: str
) -> None:
    answer = plan_answer(step_answer("a"))
    planners.model.will(Says(answer, stop_reason=stop_reason), Says(answer))
    assert len(planners.backend().plan(PLAN_REQUEST).steps) == 1
    assert told in planners.model.asked[1].said[2]


@pytest.mark.parametrize(("stop_reason", "told"), UNFINISHED)
def test_two_answers_that_did_not_end_well_are_rejected_and_paid_for(
    planners: Planners, stop_reason: str, told: str
) -> None:
    unfinished = Says(plan_answer(step_answer("a")), stop_reason=stop_reason)
    planners.model.will(unfinished, unfinished)
    error = failing(planners)
    assert isinstance(error, Rejected)
    assert told in error.reason
    assert command_line(error.next_step) == "replan plan provide TASK --file plan.yaml"
    for call in planners.calls:
        assert (call.stop_reason, call.error) == (stop_reason, "rejected")
        assert told in call.reason
        assert call.usage.output_tokens == 10
    assert len(planners.calls) == len(planners.model.asked) == 2


def test_a_question_that_is_too_long_is_not_made_longer(planners: Planners) -> None:
    planners.model.will(Says("", stop_reason="model_context_window_exceeded"))
    error = failing(planners)
    assert isinstance(error, Rejected)
    assert "too long" in error.reason
    assert len(planners.model.asked) == 1


def test_an_answer_that_was_cut_off_names_to_a_person_what_to_set(planners: Planners) -> None:
    cut = Says("{", stop_reason="max_tokens")
    planners.model.will(cut, cut)
    reason = failing(planners).reason
    assert "model_max_tokens" in reason
    assert "give a shorter one" not in reason
    assert "give a shorter one" in planners.model.asked[1].said[2]


HARM = {"type": "refusal", "category": None, "explanation": "That would do harm."}
REFUSED = Says("", stop_reason="refusal", stop_details=HARM)


def test_a_refusal_is_not_asked_again_and_passed_on_in_the_models_words(
    planners: Planners,
) -> None:
    planners.model.will(REFUSED)
    error = failing(planners)
    assert isinstance(error, Rejected)
    assert "That would do harm." in error.reason
    assert [(call.error, call.stop_reason) for call in planners.calls] == [("rejected", "refusal")]


def test_after_a_refusal_the_next_of_the_ladder_is_asked(planners: Planners) -> None:
    planners.model.will(REFUSED, Says(plan_answer(step_answer("a"))))
    planners.backend(REPLAN_MODEL="small", REPLAN_MODEL_LADDER="small,great").plan(PLAN_REQUEST)
    assert [asked.body["model"] for asked in planners.model.asked] == ["small", "great"]
    assert [len(asked.said) for asked in planners.model.asked] == [1, 1]


@pytest.mark.parametrize(
    "environ",
    [
        {"ANTHROPIC_API_KEY": ""},
        {"ANTHROPIC_API_KEY": "schlüssel"},
        {"ANTHROPIC_API_KEY": "two\nlines"},
        {"ANTHROPIC_BASE_URL": "api.example.com"},
        {"ANTHROPIC_BASE_URL": "http://[::1"},
        {"REPLAN_MODEL_EFFORT": "enormous"},
        {"REPLAN_PLANNER_EFFORT": "enormous"},
    ],
)
def test_what_only_the_operator_can_put_right_is_said_before_anything_is_sent(
    planners: Planners, environ: dict[str, str]
) -> None:
    error = failing(planners, **environ)
    assert isinstance(error, Misconfigured)
    assert error.next_step
    assert planners.model.asked == []


def test_the_key_is_never_shown(planners: Planners) -> None:
    planners.model.will(Fails(401, "authentication_error", f"invalid x-api-key {KEY}"))
    error = failing(planners)
    assert KEY not in f"{error} {error.reason} {error!r}"
    assert KEY not in repr(planners.settings())


def test_every_error_of_the_sdk_is_sorted() -> None:
    """A person must sort a new error class before this program can meet it."""
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
        """An error that a later version adds."""

    assert family_of(NewError.__new__(NewError)) is Unavailable


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
