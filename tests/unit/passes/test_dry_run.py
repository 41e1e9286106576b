"""What a dry run predicts, and that it changes nothing."""

import pytest

from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.outcome import Outcome
from shared.domain.plan import Subtask
from shared.domain.prediction import Prediction
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import MemoryLog, Pass, ScriptedJudge, carried_out, order, subtask

DRY = Policy(dry_run_mode=True)


def predictions(
    *given: Subtask | str,
    shell: ScriptedShell | None = None,
    judge: ScriptedJudge | None = None,
    looks: ScriptedJudge | None = None,
    policy: Policy = DRY,
) -> Pass:
    """A dry run; texts that begin with `alter` are not allowed as looks."""
    return carried_out(
        order(*given, policy=policy),
        shell or ScriptedShell(default=None),
        judge=judge,
        looks=looks or ScriptedJudge(approve="^alter"),
    )


def told(done: Pass) -> list[str]:
    assert all(attempt.explanation.startswith("dry run: ") for attempt in done.attempts)
    return [attempt.explanation.removeprefix("dry run: ") for attempt in done.attempts]


@pytest.mark.parametrize(
    ("given", "answers", "ran", "outcome", "reason"),
    [
        (
            subtask("a", check="is-there"),
            {"is-there": 0},
            ["is-there"],
            Outcome.SATISFIED,
            "already satisfied: its check is green",
        ),
        (
            subtask("a", check="is-there", preconditions=("p",)),
            {"is-there": 1, "p": 0},
            ["is-there", "p"],
            Outcome.SIMULATED,
            "would run",
        ),
        (subtask("a"), {}, [], Outcome.SIMULATED, "would run"),
        (
            subtask("a", preconditions=("p", "q")),
            {"p": 3},
            ["p"],
            Outcome.SIMULATED,
            "precondition unmet: p (exit code 3), unless an earlier subtask changes that",
        ),
        (
            subtask("a", preconditions=("alter-p",)),
            {},
            [],
            Outcome.SIMULATED,
            "unknown: its precondition alter-p was not run because it may change something "
            "(approve by the test)",
        ),
        (
            subtask("a", check="alter-c"),
            {},
            [],
            Outcome.SIMULATED,
            "unknown: it would run unless its check is green, which was not run because it may "
            "change something (approve by the test)",
        ),
        (
            subtask("a", check="is-there"),
            {"is-there": Answer(takes=99.0)},
            ["is-there"],
            Outcome.SIMULATED,
            "unknown: it would run unless its check is green, which did not end by itself "
            "(ended after 30 s, its timeout)",
        ),
        (
            subtask("a", check="is-there"),
            {"is-there": Rejected("too long", stage="execute")},
            ["is-there"],
            Outcome.SIMULATED,
            "unknown: it would run unless its check is green, which could not be run (too long)",
        ),
        (
            subtask("ask-a", check="is-there"),
            {"is-there": 1},
            ["is-there"],
            Outcome.SIMULATED,
            "needs approval: command: approve by the test",
        ),
        (
            subtask("a", check="ask-c"),
            {},
            [],
            Outcome.SIMULATED,
            "needs approval: check: approve by the test",
        ),
        (
            subtask("a", critical=True),
            {},
            [],
            Outcome.SIMULATED,
            "needs approval: command: a critical command needs a person's confirmation",
        ),
        (
            subtask("never-a", check="is-there", preconditions=("p",)),
            {"is-there": 1},
            ["is-there"],
            Outcome.DENIED,
            "denied: command: deny by the test",
        ),
        (
            subtask("never-a", check="is-there"),
            {"is-there": 0},
            ["is-there"],
            Outcome.SATISFIED,
            "already satisfied: its check is green",
        ),
        (
            subtask("a", preconditions=("never-p",)),
            {},
            [],
            Outcome.DENIED,
            "denied: precondition: deny by the test",
        ),
    ],
)
def test_each_subtask_is_predicted(
    given: Subtask,
    answers: dict[str, object],
    ran: list[str],
    outcome: Outcome,
    reason: str,
) -> None:
    """S0.17, S0.88: only looks reach the host."""
    shell = ScriptedShell(answers, default=None)  # type: ignore[arg-type]
    done = predictions(given, shell=shell, judge=ScriptedJudge(deny="^never", approve="^ask"))
    assert shell.commands == ran
    assert done.outcomes == [(1, outcome)]
    assert told(done) == [reason]
    blocked = outcome is Outcome.DENIED
    assert done.result.ending is (Ending.BLOCKED if blocked else Ending.DONE)
    assert done.result.errors == 0


def test_all_is_predicted_whatever_stands_before_it() -> None:
    """A denial blocks the step at the end, with its reason (S0.61); no subtask is left out."""
    done = predictions("never-a", "ask-b", "c", judge=ScriptedJudge(deny="^never", approve="^ask"))
    assert [a.prediction for a in done.attempts] == [
        Prediction.DENIED,
        Prediction.NEEDS_APPROVAL,
        Prediction.WOULD_RUN,
    ]
    assert done.result.ending is Ending.BLOCKED
    assert done.result.reason == "T1.1.1: dry run: denied: command: deny by the test"


def test_what_was_foretold_before_is_not_looked_at_again() -> None:
    """The next driver of a pass goes on where the last one stopped."""
    shell = ScriptedShell({"is-there": 1}, default=None)
    first = predictions(subtask("a", check="is-there"), shell=shell)
    again = carried_out(
        order(subtask("a", check="is-there"), policy=DRY, earlier=first.attempts),
        ScriptedShell(default=None),
        looks=ScriptedJudge(),
    )
    assert shell.commands == ["is-there"]
    assert again.attempts == []
    assert again.result.ending is Ending.DONE


def test_a_cancelled_dry_run_looks_no_further() -> None:
    shell = ScriptedShell({"c1": 1}, default=None)
    log = MemoryLog(stop=lambda log: len(log.ended) == 1)
    done = carried_out(
        order(subtask("a", "s1", check="c1"), subtask("b", "s2", check="c2"), policy=DRY),
        shell,
        log=log,
        looks=ScriptedJudge(),
    )
    assert shell.commands == ["c1"]
    assert done.result.ending is Ending.CANCELLED
