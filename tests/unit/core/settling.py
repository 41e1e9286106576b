"""How the simulated world comes to its end: workers oblige, and people answer what is asked."""

from orchestrator.core.state import StepState, WaitsFor
from shared.domain import facts as f
from shared.domain.attempt import Answer
from shared.domain.budget import Ending
from shared.domain.task import RunPhase, StepPhase, TaskPhase
from tests.unit.core.accidents import meet_another_key
from tests.unit.core.actors import (
    approved,
    clean_up,
    denied,
    obliging_worker,
    plan_approved,
    replied,
    sent,
)
from tests.unit.core.drawn import allowed, records_settled, some_plan
from tests.unit.core.given import BY_HAND, SUBTASK_PLANNER, subtasks
from tests.unit.core.session_actors import move_on, said
from tests.unit.core.world import HELD_UP, World


def finish(world: World, strategy: str, *, bound: int = 2000) -> None:
    """Facts arrive, workers work, and a person answers what is asked, until nothing is left.

    `strategy` is what the person does about a step that waits: "resume" (or say how its command
    ended), "revise", "abandon" (in
    that world no pass succeeds any more), or "mixed": now this, now that, with some success. Now
    and then somebody thinks better of an end in error.
    """
    regretted = world.rng.random() < 0.4
    for _ in range(bound):
        if world.mail:
            world.deliver()
        elif world.echoes:
            world.fold(*world.echoes.pop())
        elif held_up(world) and world.rng.random() < 0.3:
            _answer_run(world, held_up(world)[0], strategy)
        elif world.jobs:
            world.check_at_rest()
            endings = {
                "abandon": [Ending.THRESHOLD],
                "mixed": [
                    Ending.DONE,
                    Ending.BLOCKED,
                    Ending.UNKNOWN,
                    Ending.NEEDS_APPROVAL,
                    Ending.NEEDS_INPUT,
                    Ending.FORGOTTEN,
                    Ending.OVER_BUDGET,
                ],
            }
            ending = world.rng.choice(endings.get(strategy, [Ending.DONE]))
            obliging_worker(world, next(iter(world.jobs.values())), ending=ending)
        elif world.ended():
            if regretted:
                meet_another_key(world)  # a worker that is late
                clean_up(world)
                return
            regretted = True
            _think_better_of_it(world)
        else:
            world.check_at_rest()
            _answer_what_is_asked(world, strategy)
    raise AssertionError(f"not ended after {bound} turns: {world.task} {world.runs}")


def _think_better_of_it(world: World) -> None:
    """What ended in error is taken up again, as a whole or at some step."""
    rng = world.rng
    for run_id, run in world.runs.items():
        if run.phase is not RunPhase.ERROR:
            continue
        lost = [s for s in run.steps.values() if s.phase in {StepPhase.ERROR, StepPhase.SKIPPED}]
        one = rng.choice(lost[-2:])
        revised = f.StepRevised(one.ordinal, one.revision + 1, BY_HAND, subtasks("by hand"))
        world.post(run_id, revised if rng.random() < 0.5 else f.ResumeRequested())


def _answer_what_is_asked(world: World, strategy: str) -> None:
    meet_another_key(world)
    if world.delivers and world.rng.random() < 0.5 and move_on(world):
        return
    if waiting := held_up(world):
        _answer_run(world, waiting[0], strategy)
        return
    if move_on(world):
        return
    assert world.task.phase is TaskPhase.WAITING, "nothing is asked and nothing goes on"
    if world.task.asking and world.rng.random() < 0.5:
        world.post(None, replied(None))
        return
    if world.task.plan is None:
        again = f.ResumeRequested() if world.task.unrefined and world.rng.random() < 0.3 else None
        world.post(None, again or f.PlanDrafted(some_plan(world.rng, complete=True)))
        return
    if unanswered := world.task.open_questions():
        world.post(None, replied(unanswered[0].ordinal))
        return
    missing = world.task.bare_steps()
    if not missing:
        world.post(None, plan_approved(world))
        return
    world.post(None, f.StepDetailed(missing[0], subtasks("by hand"), BY_HAND))


def held_up(world: World) -> list[int]:
    """The runs in which some step waits for a human."""
    return [
        run_id
        for run_id, run in world.runs.items()
        if any(step.phase in HELD_UP for step in run.steps.values())
    ]


def _answer_run(world: World, run_id: int, strategy: str) -> None:
    first = next(s for s in world.runs[run_id].steps.values() if s.phase in HELD_UP)
    answers = strategy in {"resume", "mixed"}
    if answers and (answer := _answer_step(world, first)) is not None:
        world.post(run_id, answer)
    elif first.waits_for is WaitsFor.SENDING and strategy != "abandon" and world.rng.random() < 0.5:
        world.post(run_id, sent(first))
    elif strategy == "resume":
        world.post(run_id, f.ResumeRequested())
    elif strategy == "mixed":
        _answer_run(world, run_id, world.rng.choice(["resume", "revise", "abandon"]))
    elif strategy == "revise":
        author = BY_HAND if first.phase is StepPhase.BLOCKED else SUBTASK_PLANNER
        fact = f.StepRevised(first.ordinal, first.revision + 1, author, subtasks("by hand"))
        world.post(run_id, fact)
    else:
        world.post(run_id, f.StepAbandoned(first.ordinal))


def _answer_step(world: World, step: StepState) -> f.RunFact | None:
    """A person's answer to what a step waits for; None where it waits for a decision only."""
    rng = world.rng
    match step.waits_for:
        case WaitsFor.OUTCOME:
            answer = rng.choice(list(Answer))
            return f.OutcomeTold(step.ordinal, step.revision, step.pass_no, answer)
        case WaitsFor.RECORDS:
            return records_settled(rng, step)
        case WaitsFor.APPROVAL if rng.random() < 0.7:
            elsewhere = f.RevisionRequested(step.ordinal, "another way")
            words: list[f.RunFact] = [approved(step), denied(step), denied(step), elsewhere]
            words += [f.ResumeRequested(), f.ResumeRequested()]
            mine = f.StepRevised(step.ordinal, step.revision + 1, BY_HAND, subtasks("mine"))
            return rng.choice([*words, mine])
        case WaitsFor.ANSWER:
            return replied(step.ordinal, step.pass_no, rng.choice(["which?", "when?"]))
        case WaitsFor.BUDGET | WaitsFor.SPENDING as money:
            return allowed(step, money)
        case WaitsFor.ACCEPTANCE:
            return said(rng, step)
    return None
