"""What the shipped runbooks ask of a person, and which prompts they take for theirs."""

from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest

from orchestrator.acts.plan_verdicts import TextVerdict, verdicts_on_steps
from shared.contracts.origin import Origin
from shared.contracts.planfile import revision_in
from shared.domain.approval import SubtaskPart
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.plan import Plan
from shared.guard import Guard, load_site
from shared.runbook.entries import RunbookJob
from shared.runbook.library import read_library
from shared.runbook.template import fill
from tests.unit.planning.runbook_prompts import KEY, PROMPTS
from workers.planning import PlanRequest
from workers.runbook.backend import RunbookBackend

HERE: Final = Origin("shipped", "plan")

ASKED: Final = {
    "install-postgresql": (0, 0),
    "postgresql-database": (2, 0),
    "install-nginx": (0, 0),
    "install-redis": (2, 0),
    "install-docker": (0, 0),
    "install-nodejs": (0, 0),
    "systemd-service": (1, 0),
    "python-app": (2, 2),
    "user-with-key": (1, 1),
    "firewall": (1, 1),
    "swap": (1, 0),
    "time-sync": (1, 0),
    "unattended-upgrades": (1, 1),
    "log-rotation": (2, 0),
    "backup": (2, 0),
    "disk-cleanup": (2, 0),
    "web-server": (3, 1),
    "web-server-letsencrypt": (4, 0),
    "status-service": (1, 1),
}
"""How many texts of the plan of each job ask: by default, and under `configure`."""

ASKS_BEFORE: Final = frozenset(SubtaskPart) - {SubtaskPart.ROLLBACK}


@cache
def guard(profile: str) -> Guard:
    """The guard of a fresh installation, or that of a profile."""
    return Guard(load_site(None).for_host(None, (), (profile,) if profile else ()))


@cache
def library() -> RunbookBackend:
    return RunbookBackend()


def planned(prompt: str) -> Plan:
    return library().plan(PlanRequest(prompt, ("web1",), Policy()))


def verdicts(job: RunbookJob, profile: str) -> tuple[TextVerdict, ...]:
    """What is said of the plan of a job, and of each of its alternatives in its place."""
    prompt = PROMPTS[job.id]
    plan = planned(prompt)
    values = {**(job.asked_in(prompt) or {}), "taken": "443"}
    found = verdicts_on_steps(guard(profile), plan.steps)
    for each in job.revisions:
        other = revision_in(fill(each.document(), values), policy=Policy(), origin=HERE)
        found += verdicts_on_steps(guard(profile), [replace(plan.steps[0], subtasks=other)])
    return found


JOBS: Final = [pytest.param(job, id=job.id) for job in read_library().jobs]


@pytest.mark.parametrize("profile", ["", "configure"])
@pytest.mark.parametrize("job", JOBS)
def test_none_of_it_is_denied(job: RunbookJob, profile: str) -> None:
    assert [v.text for v in verdicts(job, profile) if v.verdict.denied] == []


@pytest.mark.parametrize("job", JOBS)
def test_each_asks_as_often_as_the_table_says(job: RunbookJob) -> None:
    """A rollback asks only once it is wanted."""
    by_default, configured = ASKED[job.id]
    for profile, expected in (("", by_default), ("configure", configured)):
        found = verdicts_on_steps(guard(profile), planned(PROMPTS[job.id]).steps)
        asking = [v.text for v in found if not v.verdict.allowed and v.part in ASKS_BEFORE]
        assert len(asking) == expected, asking


@pytest.mark.parametrize("job", JOBS)
def test_each_answers_a_prompt_of_its_own_and_no_other(job: RunbookJob) -> None:
    prompt = PROMPTS[job.id]
    found = read_library().find_job(prompt, whole=True)
    assert found is not None
    assert found[0].id == job.id
    others = [o.id for o in read_library().jobs if o.asked_in(prompt) and o.id != job.id]
    assert others == []


@pytest.mark.parametrize(
    "prompt",
    [
        "do not install postgresql, but mysql",
        "install postgresql and migrate the data of db1",
        "install postgresql 16 on port 5433",
        "install redis cluster",
        "install redis on the three hosts and form a cluster",
        "uninstall docker",
        "install nginx on port 8080",
        "install nginx and redis",
        "install docker swarm",
        "install docker compose",
        "install node exporter",
        "set up a web server for shop.test with the certificate of our own authority",
        "set up a web server for shop.test",
        "why does nginx for shop.test with a certificate fail",
        "remove the user dana with the key ssh-ed25519 AAAA",
        "create the user root",
        "set up a firewall for the ports 80,443 but not for 10.0.0.0/8",
        "disable swap",
        "add 2G of swap to the machine behind db1",
        "clean up the disk of old releases",
        "back up /srv/shop to s3",
        "restore the backup of /srv/shop",
        "rotate the keys of shop",
        "run the python tests in /srv/shop as ci",
        "create the table shop in postgresql",
        "drop the database shop in postgresql",
        "install redis port=6380",
    ],
)
def test_a_prompt_that_only_resembles_one_is_nobodys(prompt: str) -> None:
    assert read_library().find_job(prompt, whole=True) is None


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("set up a firewall for the ports 80,443 ssh_port=ssh", "ssh_port (port of ssh"),
        ("add 2G of swap file=/etc/../swap", "file (the file) cannot be"),
        ("install redis memory=lots", "memory (the most memory"),
        ("set up a web server for -x with a certificate", "domain cannot be '-x'"),
        ("create the user root with the key ssh-rsa " + KEY, "name (name of the account)"),
    ],
)
def test_a_value_of_another_form_is_refused_with_what_it_should_be(prompt: str, told: str) -> None:
    with pytest.raises(Rejected) as raised:
        planned(prompt)
    assert told in raised.value.reason


def test_values_at_the_end_of_a_prompt_count_before_the_rest() -> None:
    plan = planned("Set up a firewall for the ports 80,443 ssh_port=2222 ports=8080.")
    (step,) = plan.steps
    command = step.subtasks[1].command
    assert "any port 2222 &&" in command
    assert "any port 8080." not in command


def job_of(**changes: Any) -> dict[str, Any]:
    steps = [{"title": "t", "subtasks": [{"run": "echo ${port}"}]}]
    return {"id": "a", "match": ["^serve$"], "steps": steps, "parameters": {"port": "80"}} | changes


@pytest.mark.parametrize(
    ("forms", "told"),
    [
        ({"prot": {"pattern": "[0-9]+"}}, "did you mean 'port'?"),
        ({"port": {"pattern": "[a-z]+"}}, "parameters.port"),
    ],
)
def test_a_form_that_cannot_hold_is_refused(forms: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("?", r"\?")):
        RunbookJob.model_validate(job_of(forms=forms))
