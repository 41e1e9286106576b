"""Which repositories and agents a planner may plan with, and where a step happens."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from shared.contracts.agent_steps import Places, settle
from shared.domain.agent import RunnerChoice
from shared.domain.plan import Revision, Step, Subtask
from shared.store import repositories, targets
from shared.store.database import Database
from workers.agent_history import history_in
from workers.planning import NO_AGENTS, AgentOffer

MOST_OFFERED = 40
"""How many repositories a planner of a task is told of; those that its task names come first."""


def offer_for_plan(database: Database, prompt: str, on: Sequence[str]) -> AgentOffer:
    """What is offered to the planner of a task, or of the rest of a plan, on these targets."""
    with database.begin() as connection:
        known = targets.usable_repositories(connection)
        if not known:
            return NO_AGENTS
        named = {*on, *re.findall(r"[A-Za-z0-9_.-]+", prompt)}
        offered = sorted(known, key=lambda each: each.name not in named)[:MOST_OFFERED]
        runners = dict.fromkeys(name for each in offered for name in each.startable)
        history = history_in(connection, (each.name for each in offered))
    return AgentOffer(tuple(offered), tuple(runners), history=history, targets=tuple(on))


def only(offer: AgentOffer, names: Sequence[str]) -> AgentOffer:
    """What is offered in the repositories of these names alone."""
    places = tuple(each for each in offer.repositories if each.name in names)
    runners = dict.fromkeys(name for each in places for name in each.startable)
    history = tuple(each for each in offer.history if each.repository in names)
    return replace(offer, repositories=places, runners=tuple(runners), history=history)


def offer_for_step(
    database: Database, step: Step, on: Sequence[str], revisions: Iterable[Revision] = ()
) -> AgentOffer:
    """What is offered to whoever plans the subtasks of a step; nothing for one on a host.

    Its plan so far is in `revisions`: their runners may be used again.
    """
    with database.begin() as connection:
        places = targets.places_of(connection, step, on)
        found = [place for place in places.values() if place is not None]
        if len(found) < len(places):
            return NO_AGENTS
        history = history_in(connection, places)
    choices = _choices(each for revision in revisions for each in revision.subtasks)
    allowed = [each for each in choices if all(place.allows(each.runner) for place in found)]
    startable = [
        runner for runner in found[0].startable if all(runner in place.startable for place in found)
    ]
    runners = dict.fromkeys((*(each.name for each in allowed), *startable))
    return AgentOffer(tuple(found), tuple(runners), tuple(allowed), history, tuple(on))


def settle_subtasks(
    database: Database, step: Step, on: Iterable[str], subtasks: Iterable[Subtask]
) -> tuple[Subtask, ...]:
    """The subtasks of a step as agents can do them; raises Rejected (`agent_steps.settle`)."""
    (settled,) = settle_steps(database, [replace(step, subtasks=tuple(subtasks))], on)
    return settled.subtasks


def settle_steps(database: Database, steps: Sequence[Step], on: Iterable[str]) -> tuple[Step, ...]:
    """The same for the steps of a plan, in one transaction."""
    if not any(step.subtasks for step in steps):
        return tuple(steps)
    names = tuple(on)
    with database.begin() as connection:
        places = [targets.places_of(connection, s, names) if s.subtasks else {} for s in steps]
    return tuple(map(_settled, steps, places))


def _settled(step: Step, places: Places) -> Step:
    in_place = partial(settle, places=places, where=f"step {step.ordinal}")
    return replace(step, subtasks=tuple(map(in_place, step.subtasks)))


def is_repository(database: Database, name: str) -> bool:
    """Whether a repository has that name."""
    with database.begin() as connection:
        return repositories.find(connection, name) is not None


def _choices(subtasks: Iterable[Subtask]) -> tuple[RunnerChoice, ...]:
    """The runners of which a plan says more than their name, each once; the newest counts."""
    named = (choice for s in subtasks if s.agent is not None for choice in s.agent.chain)
    return tuple({choice.name: choice for choice in named if _is_special(choice)}.values())


def _is_special(choice: RunnerChoice) -> bool:
    return any(value is not None for value in (choice.command, choice.protocol, choice.alias))
