"""What is wrong with a step, from what the database and its host say, and what cures it."""

from dataclasses import replace

import pytest

from orchestrator.core.state import StepState, WaitsFor
from orchestrator.views.places import RunPlace
from orchestrator.views.stuck_steps import (
    CURES,
    Cure,
    HeldJob,
    StuckStep,
    TriedCommand,
    Trouble,
    diagnose,
)
from orchestrator.words.stuck import describe_cure, describe_trouble
from shared.domain.author import Author, PlanningRole
from shared.domain.found_on_host import CommandOnHost
from shared.domain.task import StepPhase

KEY = "R1-1-r0-1-p1-t0"
STATE = StepState(1, Author(PlanningRole.HUMAN, "human"), phase=StepPhase.RUNNING, pass_no=1)
JOB = HeldJob(
    id=7,
    kind="execute",
    revision=0,
    pass_no=1,
    owner="executor.1/2",
    presence=5,
    claims=1,
    lost=False,
    lease=30.0,
    heartbeat_age=3.0,
    gone=False,
)
RUNS = TriedCommand(KEY, 1, 1, 0, 1, "running")
STEP = StuckStep(RunPlace(1, 1, "web1"), "ab" * 16, STATE, JOB, (RUNS,))
GOES_ON = CommandOnHost(KEY, ended=False, exit_code=None, processes=("12(sleep)",))
HAS_ENDED = CommandOnHost(KEY, ended=True, exit_code=0)
EXPIRED = replace(JOB, lease=-9.0)


def outcome(word: str) -> tuple[TriedCommand, ...]:
    return (replace(RUNS, outcome=word),)


def state(**said: object) -> StepState:
    return replace(STATE, **said)  # type: ignore[arg-type]


CASES = [
    (STEP, [GOES_ON], []),
    (STEP, [], []),
    (replace(STEP, job=EXPIRED), [GOES_ON], [(Trouble.LEASE_EXPIRED, Cure.FREE_JOB)]),
    (replace(STEP, job=replace(JOB, gone=True)), [], [(Trouble.WORKER_GONE, Cure.FREE_JOB)]),
    (
        replace(STEP, job=replace(EXPIRED, claims=20)),
        [GOES_ON],
        [(Trouble.CLAIMS_EXHAUSTED, Cure.FREE_JOB)],
    ),
    (STEP, [HAS_ENDED], [(Trouble.FINISHED_UNREAD, Cure.TAKE_JOB)]),
    (
        replace(STEP, job=EXPIRED),
        [HAS_ENDED],
        [(Trouble.LEASE_EXPIRED, Cure.FREE_JOB), (Trouble.FINISHED_UNREAD, Cure.FREE_JOB)],
    ),
    (replace(STEP, job=None), [GOES_ON], [(Trouble.NOBODY_AT_IT, Cure.CLOSE_ATTEMPT)]),
    (
        replace(STEP, job=None, state=state(phase=StepPhase.CANCELLED)),
        [GOES_ON],
        [(Trouble.NOBODY_AT_IT, Cure.CLEAN_UP)],
    ),
    (
        replace(
            STEP,
            job=None,
            state=state(phase=StepPhase.WAITING, waits_for=WaitsFor.DECISION, unfinished=True),
        ),
        [GOES_ON],
        [(Trouble.UNFINISHED, Cure.DRIVE_ON)],
    ),
    (
        replace(STEP, attempts=outcome("failed")),
        [GOES_ON],
        [(Trouble.STILL_RUNNING, Cure.END_PROCESSES)],
    ),
    (
        replace(STEP, attempts=outcome("cancelled")),
        [replace(HAS_ENDED, processes=("12(sleep)",))],
        [(Trouble.STILL_RUNNING, Cure.END_PROCESSES)],
    ),
    (
        replace(STEP, attempts=outcome("ok")),
        [replace(HAS_ENDED, processes=("12(nginx)",))],
        [(Trouble.LEFT_BEHIND, Cure.NOTHING)],
    ),
    (replace(STEP, attempts=outcome("ok")), [HAS_ENDED], []),
]


@pytest.mark.parametrize(("step", "commands", "wanted"), CASES)
def test_each_way_of_being_stuck_has_its_cure(
    step: StuckStep, commands: list[CommandOnHost], wanted: list[tuple[Trouble, Cure]]
) -> None:
    found = diagnose(step, commands, max_claims=20)
    assert [(each.trouble, each.cure) for each in found] == wanted
    for each in found:
        assert describe_trouble(each)
        assert describe_cure(each)


def test_every_trouble_is_found_in_some_case() -> None:
    assert {trouble for *_, wanted in CASES for trouble, _ in wanted} == set(Trouble) == set(CURES)
