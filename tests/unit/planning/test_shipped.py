"""Everything that ships can be loaded, and the guard refuses none of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.embedded.project_demo import GOAL
from shared.contracts.origin import Origin
from shared.contracts.planfile import load_plan, load_revision, plan_in, revision_in
from shared.contracts.project import DevTask
from shared.domain.config import Policy
from shared.domain.plan import Subtask, SubtaskKind
from shared.guard import Guard, PlanGuard, load_site
from shared.runbook.library import read_library
from shared.runbook.template import fill
from workers.agents.review import ReviewOrder, review_text
from workers.agents.task_text import Assignment
from workers.gateway.protocols.protocol import ToolUse
from workers.gateway.script import read_script
from workers.shells.snapshot import PROBES

FOLDER = Path(__file__).parents[3] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
PLAN = FOLDER / "agents.yaml"
VALUES = {"folder": "/srv/my status", "port": "8080", "spare": "8081", "version": "16"}
OF_EXAMPLES = {"install-postgresql", "status-service"}
"""The jobs of the README and the demonstration; `test_shipped_runbooks` has all of them."""
HERE = Origin("shipped", "plan")


def of_example(path: Path) -> tuple[Subtask, ...]:
    text = path.read_text()
    if "\nsteps:" in text:
        plan = load_plan(text, policy=Policy(), source=path.name)
        return tuple(subtask for step in plan.steps for subtask in step.subtasks)
    return load_revision(text, policy=Policy(), source=path.name)


def of_library() -> Iterator[tuple[str, tuple[Subtask, ...]]]:
    for job in read_library().jobs:
        if job.id not in OF_EXAMPLES:
            continue
        values = {**VALUES, **job.parameters}
        plan = plan_in(fill(job.document(), values), policy=Policy(), origin=HERE)
        for step in plan.steps:
            yield f"{job.id}.{step.key}", step.subtasks
        for number, alternative in enumerate(job.revisions, 1):
            document = fill(alternative.document(), values)
            subtasks = revision_in(document, policy=Policy(), origin=HERE)
            yield f"{job.id}.{alternative.step}.r{number}", subtasks


def shipped_cases() -> list[Any]:
    listed = [*((path.name, of_example(path)) for path in EXAMPLES), *of_library()]
    return [pytest.param(subtasks, id=name) for name, subtasks in listed]


def texts(subtask: Subtask) -> Iterator[str]:
    """Every text in it that a shell reads on a host: the goal of an agent is not one."""
    command = None if subtask.kind is SubtaskKind.AGENT else subtask.command
    yield from subtask.preconditions
    yield from filter(None, (command, subtask.check, subtask.rollback))


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The one that every installation begins with."""
    return Guard(load_site(None).for_host())


ASKS = {
    "/etc/apt/sources.list.d/pgdg.list": "a new source of packages, whose key is downloaded",
    "/usr/share/postgresql-common/pgdg": "the same",
    "-m http.server": "a server that the plan puts into operation; `replan demo` allows it",
}
"""The shipped commands that really are dangerous: a person is asked, with the reason."""


@pytest.mark.parametrize("subtasks", shipped_cases())
def test_the_guard_allows_all_that_ships_but_what_is_known_to_ask(
    guard: Guard, subtasks: tuple[Subtask, ...]
) -> None:
    verdicts = {text: guard.judge(text) for subtask in subtasks for text in texts(subtask)}
    stopped = {text: verdict for text, verdict in verdicts.items() if not verdict.allowed}
    assert verdicts
    assert not any(verdict.denied for verdict in stopped.values())
    assert [text for text in stopped if not any(part in text for part in ASKS)] == []


@pytest.mark.parametrize("folder", ["/srv/status", "/tmp/demo/my status"])
def test_the_status_service_asks_for_its_server_alone(guard: Guard, folder: str) -> None:
    """Judged as a whole it neither writes a program that it runs, nor asks when a port is taken."""
    job = next(job for job in read_library().jobs if job.id == "status-service")
    values = {**VALUES, "folder": folder}
    plan = plan_in(fill(job.document(), values), policy=Policy(), origin=HERE)
    other = (fill(each.document(), values) for each in job.revisions)
    subtasks = [
        *(subtask for step in plan.steps for subtask in step.subtasks),
        *(s for each in other for s in revision_in(each, policy=Policy(), origin=HERE)),
    ]
    listed = [text for subtask in subtasks for text in texts(subtask)]
    judge = PlanGuard(guard, listed).judge
    asking = [text for text in listed if not judge(text).allowed]
    assert len(asking) == 2
    assert all("-m http.server" in text for text in asking)


def test_the_executor_may_look_at_a_host(guard: Guard) -> None:
    """No probe of a snapshot is left out."""
    assert [line for line in PROBES.values() if not guard.judge(line).allowed] == []


@pytest.mark.parametrize("subtasks", shipped_cases())
def test_no_parameter_is_left_unfilled(subtasks: tuple[Subtask, ...]) -> None:
    for subtask in subtasks:
        for text in (*texts(subtask), subtask.title):
            for name in VALUES:
                assert f"${{{name}}}" not in text


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {"failing-human", "agents"}


def test_the_demonstration_of_agents_revises_its_plan(guard: Guard) -> None:
    """The alternative shows the agent another file, and keeps the check word for word."""
    (alternative,) = read_library([FOLDER / "agents/runbook"]).revisions
    sample, goal = revision_in(alternative.document(), policy=Policy(), origin=HERE)
    (planned,) = (s for s in of_example(PLAN) if s.kind is SubtaskKind.AGENT)
    assert [s.kind for s in (sample, goal)] == [SubtaskKind.COMMAND, SubtaskKind.AGENT]
    assert goal.check == planned.check
    assert all(guard.judge(text).allowed for text in texts(sample))
    revised, *_ = read_script(FOLDER / "agents/script.yaml").cases
    assert revised.when in goal.command


def test_the_demonstration_of_a_project_has_its_parts(guard: Guard) -> None:
    """The cases of the script are found in what the developers and the reviewer are asked."""
    (project,) = read_library([FOLDER / "project/runbook"]).projects
    assert project.is_asked_in(GOAL)
    assert all(guard.judge(task.check).allowed for task in project.tasks)
    finds, approves, again, mean, median, _ = read_script(FOLDER / "project/script.yaml").cases
    (program,) = (
        part.input["command"]
        for turn in mean.turns
        for part in turn
        if isinstance(part, ToolUse) and "mean.sh <<" in str(part.input)
    )
    assert finds.when.removeprefix("+") in str(program), "the reviewer rejects what was written"
    assert approves.when in review_text(ReviewOrder(project.tasks[0], "+", "0" * 40))
    rejected = DevTask(id="mean", title="mean", rejection_history=["It divides by zero."])
    assert again.when in str(Assignment("mean", dev_task=rejected))
    assert mean.when in project.tasks[0].description
    assert median.when in project.tasks[1].description
