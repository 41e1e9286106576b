"""What every means of a pass promises: shells, agents, and the scripted one of the tests."""

import re
from collections.abc import Callable, Generator

import pytest

from shared.domain.agent import AgentWork
from shared.domain.errors import Defect
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.secrets.sent import SentSubtask, as_sent
from tests.fakes.scripted_agents import ScriptedBench, ScriptedRunner
from tests.fakes.scripted_means import ScriptedMeans, Workshop
from tests.fakes.scripted_shell import ScriptedAnswer, ScriptedShell
from tests.unit.passes.given import (
    MemoryLog,
    ScriptedJudge,
    SteppingClock,
    attempt,
    order,
    subtask,
)
from workers.agents.assigning import Assigning
from workers.agents.means import AgentMeans
from workers.agents.running import AgentRuns
from workers.passes.means import Coming, Means, Try
from workers.shells.means import ShellMeans

WORKS, FAILS = "make it", "break it"
GREEN, RED = "is it there", "is it gone"
DENIED, ASKED = "deny this", "ask for this"
KEY = attempt().key

Make = Callable[..., Means]
Sent = Callable[[str], SentSubtask]
Run = Callable[..., tuple[Try, bool]]


@pytest.fixture(params=["shells", "scripted", "agents"])
def means_name(request: pytest.FixtureRequest) -> str:
    """The means under test."""
    return str(request.param)


@pytest.fixture
def sent(means_name: str) -> Sent:
    """Makes a subtask with its final bytes, of the kind that these means are for."""

    def made(command: str) -> SentSubtask:
        if means_name != "agents":
            return as_sent(subtask(command))
        return as_sent(subtask(command, kind=SubtaskKind.AGENT, agent=AgentWork()))

    return made


@pytest.fixture
def make(means_name: str, sent: Sent) -> Make:
    """Makes the means of one driver after another, all on the same target."""
    answers: dict[str | re.Pattern[str], ScriptedAnswer] = {
        FAILS: 1,
        RED: 1,
        GREEN: 0,
        re.compile(f"agent.*{FAILS}"): 1,
    }
    shell = ScriptedShell(answers, default=0)
    workshop = Workshop({WORKS: "made", ASKED: "asked"}, {GREEN})

    def shells(log: MemoryLog | None = None, *, resumed: bool = False) -> Means:
        judge = ScriptedJudge(deny=DENIED, approve=ASKED)
        if resumed:
            shell.resume()
        return ShellMeans(shell, judge, log or MemoryLog(), SteppingClock(), check_timeout=5)

    def scripted(log: MemoryLog | None = None, *, resumed: bool = False) -> Means:
        return ScriptedMeans(
            workshop, log or MemoryLog(), denied={DENIED}, asked={ASKED}, resumed=resumed
        )

    def agents(log: MemoryLog | None = None, *, resumed: bool = False) -> Means:
        log = log or MemoryLog()
        runs = AgentRuns(shell, ScriptedBench(), lambda *_: ScriptedRunner(), log)
        goals = [sent(text) for text in (WORKS, FAILS, DENIED, ASKED)]
        assigning = Assigning(order(), runner="scripted")
        judge = ScriptedJudge(deny=DENIED, approve=ASKED)
        return AgentMeans(shells(log, resumed=resumed), runs, assigning, judge, goals)

    return {"shells": shells, "scripted": scripted, "agents": agents}[means_name]


@pytest.fixture
def run(sent: Sent) -> Run:
    """Runs one attempt; the try, and whether it went well."""

    def one(means: Means, this: str | Try, key: str = KEY) -> tuple[Try, bool]:
        this = this if isinstance(this, Try) else Try(this)
        draft = attempt(command=this.command)
        assert draft.key == key
        ran, result = means.run(sent(this.command), draft, this, may_change=False)
        return ran, result.ok

    return one


def test_it_serves_commands(make: Make) -> None:
    assert SubtaskKind.COMMAND in make().kinds


def test_a_try_comes_back_with_its_result(make: Make, run: Run) -> None:
    assert run(make(), WORKS) == (Try(WORKS), True)


def test_a_failure_is_a_result(make: Make, run: Run) -> None:
    assert run(make(), FAILS) == (Try(FAILS), False)


def test_a_key_runs_once_whoever_asks(make: Make, run: Run) -> None:
    """The second driver gets the first one's result, though it asks for something else."""
    assert run(make(), FAILS)[1] is False
    assert run(make(resumed=True), WORKS)[1] is False


def test_what_another_driver_began_is_recalled_as_it_was(make: Make, run: Run) -> None:
    first = make()
    assert first.recall(KEY) is None
    remedy = Try(WORKS, "a remedy", FAILS)
    run(first, remedy)
    recalled = make(resumed=True).recall(KEY)
    assert recalled is not None
    assert (recalled.command, recalled.remedy, recalled.source) == (WORKS, "a remedy", FAILS)


def test_nothing_passes_that_its_guard_does_not_allow(make: Make, run: Run) -> None:
    """Neither to run nor to look; an approval lets one text through under one key."""
    means = make()
    assert means.verdict(DENIED).denied
    for text in (DENIED, ASKED):
        with pytest.raises(Defect):
            run(means, text)
        with pytest.raises(Defect):
            means.look(text, timeout=5, key="look")
    means.permit(ASKED, KEY)
    assert run(means, ASKED)[1] is True
    with pytest.raises(Defect):
        means.look(ASKED, timeout=5, key="another")
    means.permit(DENIED, KEY)
    with pytest.raises(Defect):
        means.look(DENIED, timeout=5, key=KEY)


def test_a_look_may_be_repeated(make: Make) -> None:
    means = make()
    assert [means.look(text, timeout=5, key="k").ok for text in (GREEN, RED, GREEN)] == [
        True,
        False,
        True,
    ]


def test_a_withdrawn_pass_ends_what_it_runs(make: Make, sent: Sent) -> None:
    """It says so in the result."""
    means = make(MemoryLog(stop=lambda _: True))
    _, result = means.run(sent(WORKS), attempt(command=WORKS), Try(WORKS), may_change=False)
    assert result.cancelled
    assert not result.ok


def test_the_check_decides(make: Make, sent: Sent) -> None:
    means = make()
    _, good = means.run(sent(WORKS), attempt(command=WORKS), Try(WORKS), may_change=False)
    green = means.look(GREEN, timeout=5)
    red = means.look(RED, timeout=5)
    assert means.outcome(sent(WORKS), good, None)[0] is Outcome.OK
    assert means.outcome(sent(WORKS), good, green)[0] is Outcome.OK
    assert means.outcome(sent(WORKS), good, red)[0] is Outcome.CHECK_FAILED


def test_a_pipeline_ends_with_the_first_failure(make: Make, run: Run, sent: Sent) -> None:
    """Nothing more is taken from it."""
    means = make()
    taken: list[str] = []
    closed: list[bool] = []

    def coming(*given: SentSubtask) -> Generator[Coming]:
        try:
            for each in given:
                taken.append(each.command)
                yield Coming(each, KEY, satisfied=False)
        finally:
            closed.append(True)

    means.pipeline(coming(sent(FAILS), sent(WORKS)))
    assert run(means, FAILS)[1] is False
    assert (taken, closed) == ([FAILS], [True])


def test_closing_twice_does_no_harm(make: Make) -> None:
    means = make()
    means.close()
    means.close()
