"""What came of a runner: a table over streams of the real programs.

Each row is a stream, how its process ended, and what that means.
"""

import json

import pytest

from shared.domain.attempt import AgentStatus, EndedBy
from shared.domain.question import Question
from tests.unit.agents.streams import names, stream
from workers.agents.events import Asked, EndReason, RetriedModel, RunnerEnded
from workers.agents.runners.port import RunnerOutcome
from workers.agents.runners.table import RUNNERS, find_runner

S, R = AgentStatus, EndReason

TABLE = [
    ("claude-code/ok", 0, S.OK, R.COMPLETED),
    ("claude-code/recovered", 0, S.OK, R.COMPLETED),
    ("claude-code/cut", 0, S.OK, R.COMPLETED),
    ("claude-code/answered", 0, S.OK, R.COMPLETED),
    ("claude-code/asked", 0, S.OK, R.COMPLETED),
    ("claude-code/denied_some", 0, S.OK, R.COMPLETED),
    ("claude-code/denied", 0, S.BLOCKED, R.TOOLS_DENIED),
    ("claude-code/no_deliverable", 0, S.ERROR, R.NO_DELIVERABLE),
    ("claude-code/deferred", 0, S.NEEDS_INPUT, R.QUESTION),
    ("claude-code/needs_input", 0, S.NEEDS_INPUT, R.QUESTION),
    ("claude-code/turn_limit", 1, S.PARTIAL, R.TURN_LIMIT),
    ("claude-code/cost_limit", 1, S.BLOCKED, R.COST_LIMIT),
    ("claude-code/no_login", 1, S.BLOCKED, R.NO_LOGIN),
    ("claude-code/too_long", 1, S.ERROR, R.CONTEXT_FULL),
    ("claude-code/status_400", 1, S.ERROR, R.MODEL_REFUSED),
    ("claude-code/status_401", 1, S.ERROR, R.MODEL_REFUSED),
    ("claude-code/status_402", 1, S.BLOCKED, R.COST_LIMIT),
    ("claude-code/status_403", 1, S.ERROR, R.MODEL_REFUSED),
    ("claude-code/status_529", 1, S.ERROR, R.MODEL_UNAVAILABLE),
    ("claude-code/refused", 1, S.ERROR, R.MODEL_UNAVAILABLE),
    ("claude-code/sigint", 0, S.ERROR, R.INTERRUPTED),
    ("claude-code/sigterm", 143, S.ERROR, R.INTERRUPTED),
    ("claude-code/no_session", 1, S.ERROR, R.UNKNOWN_SESSION),
    ("mini-swe-agent/ok", 0, S.OK, R.COMPLETED),
    ("mini-swe-agent/401", 1, S.ERROR, R.MODEL_REFUSED),
    ("mini-swe-agent/402", 1, S.ERROR, R.FAILED),
    ("mini-swe-agent/500", 1, S.ERROR, R.MODEL_UNAVAILABLE),
    ("acp/ok", 0, S.OK, R.COMPLETED),
    ("acp/answered", 0, S.OK, R.COMPLETED),
    ("acp/plain", 0, S.OK, R.COMPLETED),
    ("acp/question", 0, S.NEEDS_INPUT, R.QUESTION),
    ("acp/402", 1, S.ERROR, R.FAILED),
    ("acp/no_session", 1, S.ERROR, R.UNKNOWN_SESSION),
    ("acp/sigterm", 143, S.ERROR, R.INTERRUPTED),
    ("codex/ok", 0, S.OK, R.COMPLETED),
    ("codex/recovered", 0, S.OK, R.COMPLETED),
    ("codex/cut", 0, S.OK, R.COMPLETED),
    ("codex/answered", 0, S.OK, R.COMPLETED),
    ("codex/failed_command", 0, S.OK, R.COMPLETED),
    ("codex/no_deliverable", 0, S.ERROR, R.NO_DELIVERABLE),
    ("codex/question", 0, S.NEEDS_INPUT, R.QUESTION),
    ("codex/400", 1, S.ERROR, R.MODEL_REFUSED),
    ("codex/401", 1, S.ERROR, R.MODEL_REFUSED),
    ("codex/402", 1, S.BLOCKED, R.COST_LIMIT),
    ("codex/429", 1, S.ERROR, R.MODEL_UNAVAILABLE),
    ("codex/500", 1, S.ERROR, R.MODEL_UNAVAILABLE),
    ("codex/sigint", 1, S.ERROR, R.NO_RESULT),
    ("codex/sigterm", 143, S.ERROR, R.INTERRUPTED),
]


@pytest.mark.parametrize(("name", "code", "status", "reason"), TABLE)
def test_a_stream_means(name: str, code: int, status: AgentStatus, reason: EndReason) -> None:
    outcome = read(name, code)
    assert (outcome.status, outcome.reason) == (status, reason)


def test_every_stream_has_its_row() -> None:
    assert {row[0] for row in TABLE} | {"codex/refused"} == set(names())


@pytest.mark.parametrize(
    ("code", "ended_by", "stderr", "status", "reason"),
    [
        (127, None, "env: 'claude': No such file or directory", S.BLOCKED, R.NOT_STARTED),
        (126, None, "Permission denied", S.BLOCKED, R.NOT_STARTED),
        (1, None, "error: unknown option '--no-such-flag'", S.ERROR, R.NOT_STARTED),
        (2, None, "error: unexpected argument '--no-such-flag'", S.ERROR, R.NOT_STARTED),
        (0, None, "", S.ERROR, R.NO_RESULT),
        (137, None, "", S.ERROR, R.INTERRUPTED),
        (None, None, "", S.ERROR, R.NO_RESULT),
        (None, EndedBy.TIMEOUT, "", S.TIMEOUT, R.INTERRUPTED),
        (None, EndedBy.CANCEL, "", S.ERROR, R.INTERRUPTED),
    ],
)
def test_a_silent_end_means(
    code: int | None,
    ended_by: EndedBy | None,
    stderr: str,
    status: AgentStatus,
    reason: EndReason,
) -> None:
    for name in ("claude-code", "codex"):
        outcome = RUNNERS[name].reader().outcome(code, ended_by, stderr.encode())
        assert (outcome.status, outcome.reason, outcome.detail) == (status, reason, stderr)


@pytest.mark.parametrize(
    ("name", "stderr", "reason"),
    [
        ("claude-code", "Error: Session ID 1-1 is already in use.", R.SESSION_IN_USE),
        ("claude-code", "No conversation found with session ID: 9", R.UNKNOWN_SESSION),
        (
            "codex",
            "Error: thread/resume failed: no rollout found for thread id 9 (code -32600)",
            R.UNKNOWN_SESSION,
        ),
    ],
)
def test_a_session_that_cannot_be_had(name: str, stderr: str, reason: EndReason) -> None:
    assert RUNNERS[name].reader().outcome(1, None, stderr.encode()).reason is reason


@pytest.mark.parametrize("name", ["claude-code/ok", "codex/ok"])
def test_a_program_that_hangs_after_its_result_has_ended(name: str) -> None:
    reader = RUNNERS[name.partition("/")[0]].reader()
    *most, last = stream(name).splitlines(keepends=True)
    if b'"command_lifecycle"' in last:
        last = most.pop()
    reader.feed(b"".join(most))
    assert not reader.ended
    reader.feed(last)
    assert reader.ended
    outcome = reader.outcome(None, EndedBy.TIMEOUT)
    assert (outcome.status, outcome.reason) == (S.OK, R.COMPLETED)


@pytest.mark.parametrize("name", ["claude-code/ok", "codex/ok"])
def test_nothing_counts_after_the_result(name: str) -> None:
    reader = RUNNERS[name.partition("/")[0]].reader()
    reader.feed(stream(name))
    assert reader.feed(stream(name) + b"rubbish\n") == []


@pytest.mark.parametrize("name", ["claude-code/ok", "codex/ok"])
def test_a_good_result_with_a_bad_exit_code_is_not_ok(name: str) -> None:
    outcome = read(name, 3)
    assert (outcome.status, outcome.reason) == (S.ERROR, R.EXIT_CODE)
    assert outcome.summary == "It is done."


def test_a_timeout_stays_one_though_the_program_reports_its_interruption() -> None:
    outcome = read("claude-code/sigint", None, EndedBy.TIMEOUT)
    assert (outcome.status, outcome.reason) == (S.TIMEOUT, R.INTERRUPTED)


def test_a_result_without_a_line_feed_counts() -> None:
    reader = RUNNERS["claude-code"].reader()
    end = stream("claude-code/turn_limit").rstrip()
    reader.feed(end)
    assert reader.outcome(1).reason is R.TURN_LIMIT


@pytest.mark.parametrize(
    ("name", "call", "details"),
    [
        ("claude-code/deferred", "toolu_0_1", ("small", "big")),
        ("codex/question", "", ()),
        ("acp/question", "", ()),
    ],
)
def test_an_open_question_waits_for_its_answer(
    name: str, call: str, details: tuple[str, ...]
) -> None:
    question = Question("Which DB?", ("SQLite", "Postgres"), details)
    assert read(name, 0).question == Asked(question, call, deferred=True)


def test_several_questions_become_one() -> None:
    asked = read("claude-code/needs_input", 0).question
    assert asked is not None
    assert asked.question == Question("1. Which DB? (SQLite / Postgres)\n2. Why?")


def test_a_question_that_was_refused_is_told_and_waits_for_nobody() -> None:
    events = RUNNERS["claude-code"].reader().feed(stream("claude-code/asked"))
    asked = [event for event in events if isinstance(event, Asked)]
    assert [(each.question.text, each.deferred) for each in asked] == [("Which DB?", False)]
    assert read("claude-code/asked", 0).question is None


def test_the_answer_in_a_resumed_session_is_no_new_question() -> None:
    events = RUNNERS["claude-code"].reader().feed(stream("claude-code/answered"))
    assert not [event for event in events if isinstance(event, Asked)]


@pytest.mark.parametrize(
    ("name", "retries"),
    [
        ("claude-code/status_529", [(1, 3, 529), (2, 3, 529), (3, 3, 529)]),
        ("claude-code/refused", [(1, 3, None), (2, 3, None), (3, 3, None)]),
        ("codex/402", [(1, 2, 402), (2, 2, 402)]),
        ("codex/refused", [(0, 0, None)] * 4),
    ],
)
def test_retries_are_told(name: str, retries: list[tuple[int, int, int | None]]) -> None:
    events = RUNNERS[name.partition("/")[0]].reader().feed(stream(name))
    told = [event for event in events if isinstance(event, RetriedModel)]
    assert told == [RetriedModel(*each) for each in retries]


def test_a_refused_tool_is_named() -> None:
    assert read("claude-code/denied", 0).denied == ("Bash",)
    assert read("claude-code/denied_some", 0).denied == ("Bash",)


@pytest.mark.parametrize(
    ("name", "version"), [("claude-code/ok", "2.1.330"), ("codex/ok", "0.169.0")]
)
def test_a_run_tells_who_it_was_and_what_it_used(name: str, version: str) -> None:
    outcome = read(name, 0)
    assert outcome.session
    assert outcome.version == version
    assert outcome.usage is not None
    assert outcome.usage.input > 1000
    assert outcome.usage.output > 10
    assert outcome.structured == {"status": "ok", "summary": "It is done.", "decisions": ["none"]}


def test_the_deliverable_is_read_as_it_was_claimed() -> None:
    for claim, reason in [("partial", R.PARTIAL), ("blocked", R.BLOCKED), ("error", R.GAVE_UP)]:
        reader = RUNNERS["codex"].reader()
        answer = json.dumps({"status": claim, "summary": "Half of it.", "decisions": []})
        item = {"type": "agent_message", "id": "item_0", "text": answer}
        said = {"type": "item.completed", "item": item}
        ended = {"type": "turn.completed", "usage": {}}
        events = reader.feed("".join(json.dumps(each) + "\n" for each in (said, ended)).encode())
        assert events[-1] == RunnerEnded(S(claim), "Half of it.", json.loads(answer), reason)


def read(name: str, code: int | None, ended_by: EndedBy | None = None) -> RunnerOutcome:
    reader = find_runner(name.partition("/")[0], "any").reader()
    reader.feed(stream(name))
    return reader.outcome(code, ended_by)


ASKS = '{"status": "needs_input", "summary": "", "questions": [{"text": "Which?", "options": []}]}'
SAYS = '{"status": "%s", "summary": "Half of it."}'


@pytest.mark.parametrize(
    ("last", "code", "status", "reason"),
    [
        (ASKS, 0, S.NEEDS_INPUT, R.QUESTION),
        (ASKS, 3, S.NEEDS_INPUT, R.QUESTION),
        (SAYS % "ok", 0, S.OK, R.COMPLETED),
        (SAYS % "ok", 3, S.ERROR, R.EXIT_CODE),
        (SAYS % "partial", 0, S.PARTIAL, R.PARTIAL),
        (SAYS % "ok", 143, S.ERROR, R.INTERRUPTED),
        ("Which one do you want?", 0, S.OK, R.COMPLETED),  # prose is no question
        (SAYS % "ok" + "\nmore", 3, S.ERROR, R.EXIT_CODE),
        ('{"status": "ok"}', 0, S.OK, R.COMPLETED),
    ],
)
def test_s3_24_a_program_may_end_with_what_it_says_of_its_work(
    last: str, code: int, status: AgentStatus, reason: EndReason
) -> None:
    reader = find_runner("command", "any").reader()
    reader.feed(f"I work.\n{last}\n".encode())
    outcome = reader.outcome(code)
    assert (outcome.status, outcome.reason) == (status, reason)
    asked = Asked(Question("Which?"), "", deferred=True)
    assert outcome.question == (asked if status is S.NEEDS_INPUT else None)
