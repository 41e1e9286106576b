"""What a person may do with a project: start it, pause it, resume it."""

from dataclasses import dataclass, replace

from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done
from orchestrator.acts.post import post
from orchestrator.acts.resumption import resume_task
from orchestrator.acts.submission import Submission, submit_typed
from orchestrator.acts.verbs import act
from orchestrator.views.places import runs_at
from orchestrator.views.projects import ProjectView, not_a_project, project_view
from orchestrator.views.values import RefValue
from shared.domain.errors import Rejected
from shared.domain.facts import ResumeRequested, RunPaused
from shared.domain.ids import Ref
from shared.domain.next_step import Blank, NextStep
from shared.store import repositories

_PROJECT = ("project=true", "deliver=true")


@dataclass(frozen=True, slots=True)
class ProjectRequest:
    """A goal for a repository; `settings` are overrides of the `agent` scope (`key=value`).

    Two requests with the same `key` are one project.
    """

    goal: str
    repository: str
    settings: tuple[str, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class StartedProject:
    """The new project, and its repository."""

    ref: RefValue
    repository: str


@act("project.start")
def start(caller: Caller, request: ProjectRequest) -> Done[StartedProject]:
    """Have a manager plan and carry out a goal in a repository (S3.55).

    Raises Rejected for an empty goal, for what is not a repository, and for a planner that is a
    person; Misconfigured for a setting.
    """
    with caller.database.begin() as connection:
        if repositories.find(connection, request.repository) is None:
            raise not_a_project(request.repository)
    policy = caller.settings.with_agent((*request.settings, *_PROJECT)).agent
    if policy.planner == "human":
        raise Rejected(
            "a person cannot be asked to manage a project: give your own plan as a task that "
            "delivers",
            stage="input",
            next_step=NextStep.of(
                "task submit", plan=Blank("FILE"), host=request.repository, set="deliver=true"
            ),
        )
    if not request.goal.strip():
        raise Rejected(
            "the goal is empty: say what the project is to reach",
            stage="input",
            next_step=NextStep.of(
                "project start", Blank("GOAL", text=True), repo=request.repository
            ),
        )
    wanted = Submission(
        request.goal, (request.repository,), policy, key=request.key, verb="project.start"
    )
    number = submit_typed(caller, wanted)
    return Done(StartedProject(Ref(number), request.repository))


@act("project.pause")
def pause(caller: Caller, ref: Ref) -> Done[ProjectView]:
    """Begin nothing more until it is resumed; what runs goes on to its end.

    Raises Rejected when there is no such project, when nothing of it runs, and when it is paused.
    """
    before = _project(caller, ref)
    if before.ended or before.plan.status == "paused":
        raise Rejected(
            f"{before.ref} is {before.plan.status}: there is nothing to pause",
            stage="input",
            next_step=NextStep.of("project status", before.ref),
        )
    if not before.places:
        raise Rejected(
            f"nothing of {before.ref} runs yet: its manager is planning it",
            stage="input",
            next_step=NextStep.of("project status", before.ref),
        )
    runs = _runs(caller, ref)
    facts = [(ref.task, run_id, RunPaused(caller.actor.name)) for run_id in runs]
    taken = post(caller, Act("project.pause", str(before.ref)), facts)
    return Done(_project(caller, ref), taken)


@act("project.resume")
def resume(caller: Caller, ref: Ref) -> Done[ProjectView]:
    """Go on with a project that is paused, or whose cause to wait was removed.

    Raises what `resume_task` raises, and Rejected when there is no such project.
    """
    before = _project(caller, ref)
    if before.plan.status != "paused":
        done = resume_task(caller, "project.resume", ref)
        return Done(_project(caller, ref), done.taken, done.notes)
    facts = [(ref.task, run_id, ResumeRequested()) for run_id in _runs(caller, ref)]
    taken = post(caller, Act("project.resume", str(before.ref)), facts)
    return Done(_project(caller, ref), taken)


def _project(caller: Caller, ref: Ref) -> ProjectView:
    with caller.database.begin() as connection:
        return project_view(connection, replace(ref, target=None))


def _runs(caller: Caller, ref: Ref) -> list[int]:
    with caller.database.begin() as connection:
        return [place.run_id for place in runs_at(connection, Ref(ref.task))]
