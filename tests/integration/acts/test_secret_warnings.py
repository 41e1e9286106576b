"""A secret that cannot be read is told at submission, not when its command has failed."""

import pytest

from orchestrator.access.roles import AccessRole
from orchestrator.acts import tasks
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.tasks import TaskRequest
from shared.domain.host import Host
from shared.domain.next_step import NextStep
from shared.store import hosts
from shared.store.database import Database
from tests.integration.acts.conftest import CallerWith

PLAN = PlanText(
    "steps:\n"
    "  - {title: Dump, subtasks: [{run: \"PGPASSWORD=${secret:THERE} psql -c 'SELECT 1'\"}]}\n"
    '  - {title: Look, subtasks: [{run: ls, check: "PGPASSWORD=${secret:NOWHERE} psql"}]}\n',
    "plans/dump.yaml",
)


@pytest.fixture(autouse=True)
def vault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of this process gives two secrets; one of them is too short to be hidden."""
    monkeypatch.setenv("REPLAN_SECRET_THERE", "correct-horse-battery")
    monkeypatch.setenv("REPLAN_SECRET_SHORT", "abc")


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (TaskRequest("dump", ("one",), plan=PLAN), {"NOWHERE": "no vault has the secret NOWHERE"}),
        (TaskRequest("log in with ${secret:THERE}", ("one",)), {}),
        (TaskRequest("log in with ${secret:OTHER}", ("one",)), {"OTHER": "no vault has"}),
        (TaskRequest("log in", ("one",), secrets=("OTHER",)), {"OTHER": "no vault has"}),
        (TaskRequest("log in", ("one",), secrets=("SHORT",)), {"SHORT": "SHORT"}),
        (TaskRequest("log in", ("one",)), {}),
    ],
)
def test_a_secret_that_cannot_be_read_is_told(
    database: Database, caller_with: CallerWith, request_: TaskRequest, told: dict[str, str]
) -> None:
    """Wherever its name comes from; the task is submitted, for its worker may have the secret."""
    with database.begin() as connection:
        hosts.save(connection, Host("one", host_key="ssh-ed25519 AAAA"))
    done = tasks.submit(caller_with(AccessRole.OPERATOR), request_)
    assert {each.name for each in done.value.secrets} == {*told}
    notes = [note for note in done.notes if "unless its worker has the secret" in note.reason]
    assert len(notes) == len(told)
    for note, (name, why) in zip(notes, told.items(), strict=True):
        assert why in note.reason
        assert note.next_step == NextStep.of("secret set", name)
