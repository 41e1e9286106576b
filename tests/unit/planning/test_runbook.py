"""The library answers for the planning roles from its recorded runbooks."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.domain.author import Author, PlanningRole
from shared.domain.bundle import Bundle
from shared.domain.config import Policy
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import command_line
from shared.domain.plan import Plan, Recovery, Revision, Step, Subtask
from tests.unit.planning.given import attempt, bundle
from workers.planning import DetailRequest, PlanRequest, ReviseRequest
from workers.runbook.backend import RunbookBackend

POLICY = Policy(subtask_timeout=33)
LIBRARY = Path(__file__).parents[2] / "cases" / "runbook" / "library"
PORT_TAKEN = "bind: Address already in use"


def plan_request(prompt: str) -> PlanRequest:
    return PlanRequest(prompt, ("web1",), POLICY)


def evidence(prompt: str, stderr: str, **changes: Any) -> Bundle:
    """The bundle of a task whose failed attempts printed this output."""
    return replace(bundle(prompt=prompt, attempts=(attempt(stderr=stderr),)), **changes)


def revision_of(
    step: Step, shown: Bundle, subtasks: tuple[Subtask, ...] = (), earlier: tuple[str, ...] = ()
) -> ReviseRequest:
    """A request to the author; `earlier` holds the commands of a list that has failed before."""
    failed = tuple(
        replace(step.subtasks[0], ordinal=number, key=str(number), command=command)
        for number, command in enumerate(earlier, 1)
    )
    lists = (Revision(step.ordinal, 1, step.author, failed),) if failed else ()
    return ReviseRequest(shown, POLICY, step, subtasks or step.subtasks, earlier=lists)


@pytest.fixture(scope="module")
def shipped() -> RunbookBackend:
    """The library as it ships."""
    return RunbookBackend()


@pytest.fixture(scope="module")
def mine() -> RunbookBackend:
    """The library of these tests, before the shipped one."""
    return RunbookBackend([LIBRARY])


def commands(subtasks: tuple[Subtask, ...]) -> list[str]:
    return [subtask.command for subtask in subtasks]


@pytest.mark.parametrize(
    ("prompt", "package"),
    [
        ("Install PostgreSQL 13", "postgresql-13"),
        ("please install postgresql on it", "postgresql-16"),
        ("INSTALL  POSTGRES-15", "postgresql-15"),
    ],
)
def test_the_postgresql_job_is_planned_in_the_version_that_was_asked_for(
    shipped: RunbookBackend, prompt: str, package: str
) -> None:
    (step,) = shipped.plan(plan_request(prompt)).steps
    assert (step.key, step.recovery) == ("install", Recovery.REPLAN)
    assert step.author == Author(PlanningRole.PLANNER, "runbook")
    assert [s.key for s in step.subtasks] == ["update", "install", "enable", "start"]
    assert step.subtasks[1].command == f"apt install -y {package}"


def test_the_status_service_is_planned_in_three_steps(shipped: RunbookBackend) -> None:
    plan = shipped.plan(
        plan_request("Put the status service into operation in /srv/st on port 8080")
    )
    assert [s.key for s in plan.steps] == ["files", "start", "announce"]
    assert plan.steps[0].subtasks[0].command == "mkdir -p /srv/st/www"
    assert plan.steps[0].subtasks[3].command == "printf '%s\\n' 8080 > /srv/st/port"
    assert plan.summary.startswith("A status page")


def test_a_folder_from_the_prompt_stays_one_word(shipped: RunbookBackend) -> None:
    plan = shipped.plan(
        plan_request("put the status service into operation in /srv/a;reboot on port 80")
    )
    assert shlex.split(plan.steps[0].subtasks[0].command) == ["mkdir", "-p", "/srv/a;reboot/www"]


def test_a_subtask_without_a_timeout_gets_the_policys(shipped: RunbookBackend) -> None:
    (step,) = shipped.plan(plan_request("install postgresql")).steps
    assert [s.timeout for s in step.subtasks] == [300.0, 900.0, 33.0, 33.0]


def test_a_job_that_is_not_known_is_rejected_with_those_that_are(shipped: RunbookBackend) -> None:
    with pytest.raises(Rejected) as raised:
        shipped.plan(plan_request("make coffee"))
    assert "'make coffee'" in raised.value.reason
    assert "install-postgresql, " in raised.value.reason
    assert command_line(raised.value.next_step) == "replan plan provide TASK --file plan.yaml"


def test_the_operators_jobs_come_first(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("install postgresql")).steps
    assert commands(step.subtasks) == ["echo the operator knows better"]


def test_a_step_without_subtasks_is_detailed_from_the_library(shipped: RunbookBackend) -> None:
    plan = shipped.plan(plan_request("install postgresql 13"))
    step = replace(plan.steps[0], subtasks=())
    request = DetailRequest("install postgresql 13", ("web1",), POLICY, Plan((step,)), step)
    assert shipped.detail(request) == plan.steps[0].subtasks


def test_a_step_that_is_not_recorded_is_rejected(shipped: RunbookBackend) -> None:
    step = Step(1, "other", "Other", "", Author(PlanningRole.PLANNER, "anthropic"))
    request = DetailRequest("install postgresql", (), POLICY, Plan((step,)), step)
    with pytest.raises(Rejected, match="no step 'other'"):
        shipped.detail(request)


def test_a_library_improves_no_prompt(shipped: RunbookBackend) -> None:
    with pytest.raises(Misconfigured) as raised:
        shipped.refine(plan_request("install postgresql"))
    assert "taskmaster_enabled=false" in str(command_line(raised.value.next_step))


def test_a_missing_package_brings_the_repository(shipped: RunbookBackend) -> None:
    """S0.92, S0.73: the repository, its key, the lists, then the package."""
    prompt = "install postgresql 13"
    (step,) = shipped.plan(plan_request(prompt)).steps
    shown = evidence(prompt, "E: Unable to locate package postgresql-13")
    draft = shipped.revise(revision_of(step, shown))
    assert [s.key for s in draft.subtasks] == [
        "tools",
        "key",
        "repository",
        "update",
        "install",
        "enable",
        "start",
    ]
    assert draft.subtasks[4].command == "apt install -y postgresql-13"
    assert "repository" in draft.reason


def test_the_alternative_is_chosen_by_what_the_failed_attempts_printed(
    mine: RunbookBackend,
) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    taken = mine.revise(revision_of(step, evidence("serve pages on port 80", PORT_TAKEN)))
    assert commands(taken.subtasks) == ["serve --port 8080"]
    denied = mine.revise(revision_of(step, evidence("serve pages on port 80", "denied: port 80")))
    assert commands(denied.subtasks) == ["sudo -n serve --port 80"]


def test_what_went_well_is_no_evidence(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shown = bundle(
        prompt="serve pages on port 80",
        attempts=(attempt(1, outcome="ok", exit_code=0, stderr=PORT_TAKEN), attempt(2, stderr="?")),
    )
    with pytest.raises(Rejected, match="no further alternative"):
        mine.revise(revision_of(step, shown))


@pytest.mark.parametrize("where", ["stdout", "stderr", "check_output"])
def test_all_that_a_failed_attempt_shows_is_evidence(mine: RunbookBackend, where: str) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shows: dict[str, Any] = {"stdout": "", "stderr": "", where: PORT_TAKEN}
    failed = attempt(1, **shows)
    shown = bundle(prompt="serve pages on port 80", attempts=(failed,))
    assert mine.revise(revision_of(step, shown)).subtasks


def test_what_the_evidence_names_is_a_parameter_of_the_alternative(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shown = evidence("serve pages on port 80", "mkdir: /srv/my pages: No such file")
    draft = mine.revise(revision_of(step, shown))
    assert shlex.split(draft.subtasks[0].command) == ["mkdir", "-p", "/srv/my pages"]
    assert draft.subtasks[1].command == "serve --port 80"


def test_the_list_that_has_just_failed_is_not_proposed_again(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shown = evidence("serve pages on port 80", f"{PORT_TAKEN}\ndenied: port 80")
    first = mine.revise(revision_of(step, shown))
    second = mine.revise(revision_of(step, shown, first.subtasks))
    assert commands(first.subtasks) == ["serve --port 8080"]
    assert commands(second.subtasks) == ["sudo -n serve --port 80"]


def test_what_an_earlier_revision_tried_is_not_proposed_again(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shown = evidence("serve pages on port 80", f"{PORT_TAKEN}\ndenied: port 80")
    draft = mine.revise(revision_of(step, shown, earlier=("serve --port 8080",)))
    assert commands(draft.subtasks) == ["sudo -n serve --port 80"]


def test_a_longer_earlier_revision_that_ended_alike_was_another_one(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shown = evidence("serve pages on port 80", PORT_TAKEN)
    draft = mine.revise(revision_of(step, shown, earlier=("other", "serve --port 8080")))
    assert commands(draft.subtasks) == ["serve --port 8080"]


def test_when_every_alternative_was_tried_a_person_is_needed(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shown = evidence("serve pages on port 80", PORT_TAKEN)
    first = mine.revise(revision_of(step, shown))
    with pytest.raises(Rejected) as raised:
        mine.revise(revision_of(step, shown, first.subtasks))
    assert command_line(raised.value.next_step) == "replan step revise T7.1@web1 --file FILE"


def test_an_alternative_of_another_step_is_not_for_this_one(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    other = replace(step, key="other")
    with pytest.raises(Rejected):
        mine.revise(revision_of(other, evidence("serve pages on port 80", PORT_TAKEN)))


def test_a_general_alternative_is_for_any_step_of_any_task(mine: RunbookBackend) -> None:
    step = Step(1, "s", "t", "", Author(PlanningRole.SUBTASK_PLANNER, "runbook"))
    shown = evidence("something that is not in the library", "error: lock held by process 4711")
    draft = mine.revise(revision_of(step, shown))
    assert commands(draft.subtasks) == ["ps -p 4711"]


def test_the_improved_prompt_counts_when_there_is_one(mine: RunbookBackend) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 81")).steps
    shown = evidence("do it", "denied: port", improved_prompt="Serve pages on port 81")
    assert commands(mine.revise(revision_of(step, shown)).subtasks) == ["sudo -n serve --port 81"]


def test_a_value_that_the_prompt_leaves_out_is_asked_for(mine: RunbookBackend) -> None:
    with pytest.raises(Rejected, match="size has no value"):
        mine.plan(plan_request("grow the disk"))


def test_a_value_that_a_command_would_take_for_an_option_is_refused(mine: RunbookBackend) -> None:
    with pytest.raises(Rejected, match="size cannot be '--force'"):
        mine.plan(plan_request("grow the disk by --force"))
    assert mine.plan(plan_request("grow the disk by 5G")).steps[0].subtasks[0].command == "grow 5G"


@pytest.mark.parametrize("printed", ["-rf", "a\x1b[2Jb", "a\tb"])
def test_what_a_host_has_printed_has_to_be_a_value(mine: RunbookBackend, printed: str) -> None:
    (step,) = mine.plan(plan_request("serve pages on port 80")).steps
    shown = evidence("serve pages on port 80", f"mkdir: {printed}: No such file")
    with pytest.raises(Rejected, match="no further alternative"):
        mine.revise(revision_of(step, shown))
