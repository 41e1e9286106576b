"""What every face of the command line shows of an agent's attempt."""

from dataclasses import replace

import pytest

from orchestrator.coordinator import Coordinator
from shared.domain.attempt import AgentResult, EndedBy
from shared.domain.config import Policy
from shared.store import attempts
from shared.store.attempts import AttemptWrite, OutputWrite
from tests.contract.store_under_test import SqlUnderTest
from tests.integration.cli.calling import Cli
from tests.integration.test_agent_results import ATTEMPT, OUTPUT, REMARKS, RESULT
from tests.journeys.plans import plan, step
from workers.agents.transcript import encode

DONE: AgentResult = replace(
    RESULT, runner="codex", version="0.169.0", output=OUTPUT, workspace=REMARKS
)
BEFORE = "T1.1.1@web1"


@pytest.fixture
def worked(cli: Cli) -> Cli:
    """A task whose agent has worked, and told a line while it did."""
    store = SqlUnderTest(cli.database)
    store.submit(("web1",), Policy(), plan(step(["mend it"])))
    Coordinator(store.ledger).drain()
    job = store.claim(store.waiting()[0])
    assert job is not None
    assert job.run_id is not None
    attempt = replace(ATTEMPT, run_id=job.run_id, result=DONE)
    assert OUTPUT.transcript is not None
    with cli.database.begin() as connection:
        attempts.record(connection, [AttemptWrite(job.claim, attempt, False, "worker")])
        pieces = [
            OutputWrite(job.claim, attempt.key, "raw", b'{"live":1}\n'),
            OutputWrite(job.claim, attempt.key, "events", encode(OUTPUT.transcript.lines)),
        ]
        numbers = attempts.reserve_output(connection, len(pieces))
        attempts.append_output(connection, numbers, pieces)
        attempts.record(connection, [AttemptWrite(job.claim, attempt, True, "worker")])
    return cli


def test_an_attempt_tells_what_its_agent_said_did_and_left_out(worked: Cli) -> None:
    told = worked("attempt", "show", BEFORE).out
    for each in (
        "agent: codex 0.169.0",
        "status: partial, ended by its time limit",
        "summary: two of three tests pass",
        "spent: 1200 tokens, $0.2500 by its own count",
        "changed: 2 files: a.py, b.py",
        "not there: .env.test",
        "not kept: big.bin: too large",
        "I look.",
    ):
        assert each in told
    assert '{"type":"said"}' not in told
    raw = worked("attempt", "show", BEFORE, "--raw").out
    assert '{"type":"said"}' in raw
    assert "I look." not in raw
    details = worked.json("attempt", "show", BEFORE)["details"]
    assert details["transcript"]["lines"][0]["text"] == "I look."
    assert details["attempt"]["ended_by"] == EndedBy.TIMEOUT.value
    assert details["result"]["workspace"]["left_out"][0]["path"] == "big.bin"


@pytest.mark.parametrize(
    ("options", "there", "absent"),
    [((), "I look.", '{"live":1}'), (("--raw",), '{"live":1}', "I look.")],
)
def test_its_output_is_followed_as_words_or_as_lines(
    worked: Cli, options: tuple[str, ...], there: str, absent: str
) -> None:
    """What came live is not told again at the end."""
    said = worked("attempt", "tail", BEFORE, *options).out
    assert (said.count(there), said.count(absent)) == (1, 0)


SHOWN = {
    ("task", "show", "T1"): (
        "codex 0.169.0, says partial, 1200 tokens, $0.2500 by its own",
        "agents: 0 calls, 1200 tokens, $0.2500",
        "session s1, tree 4b825dc642cb",
    ),
    ("task", "list"): ("$0.2500",),
    ("task", "report", "T1"): ("codex 0.169.0",),
    ("step", "show", "T1.1"): ("codex 0.169.0",),
    ("attempt", "list", "T1"): ("codex 0.169.0",),
}


def test_it_is_shown_wherever_attempts_are(worked: Cli) -> None:
    """And as values."""
    for command, told in SHOWN.items():
        said = " ".join(worked(*command).out.split())
        assert [each for each in told if each not in said] == [], command
        worked.json(*command)
