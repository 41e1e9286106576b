"""A task uses only the secrets that a person has given it, and a secret only its hosts."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from orchestrator.acts.caller import Caller
from orchestrator.acts.secret_grants import give, scope
from orchestrator.acts.submission import Submission, submit
from orchestrator.acts.tasks import TaskRequest
from orchestrator.acts.tasks import submit as submit_task
from shared.domain.config import Policy
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.ids import Ref
from shared.domain.next_step import command_line
from shared.settings import load_settings
from shared.store import secret_grants
from shared.store.database import Database
from tests.journeys.plans import plan, step

USES = 'PGPASSWORD="${secret:DB}" psql -c "select 1"'


@pytest.fixture
def caller(database: Database) -> Caller:
    """The account of this process."""
    return Caller.of_account(load_settings({"REPLAN_DATA_DIR": "/nonexistent"}), database)


def may_use(database: Database, task: int, number: int | None, *names: str) -> bool:
    """Whether a step of the task may use them."""
    with database.begin() as connection:
        given = secret_grants.given(connection, task, number)
        if given >= {*names}:
            secret_grants.require_given(connection, task, number, names)
            return True
        with pytest.raises(Misconfigured, match="was not given the secret"):
            secret_grants.require_given(connection, task, number, names)
    return False


def test_the_prompt_gives_what_it_names(database: Database) -> None:
    """To every step, and nothing else."""
    task = submit(database, Submission("log in with ${secret:DB}", ("localhost",), Policy()))
    assert may_use(database, task, None, "DB")
    assert may_use(database, task, 7, "DB")
    assert not may_use(database, task, 7, "DB", "OTHER")


def test_a_plan_gives_each_step_what_it_names(database: Database) -> None:
    """A revision of another step cannot use it."""
    given = plan(step([USES]), step(["true"], ordinal=2))
    task = submit(database, Submission("x", ("localhost",), Policy(), given))
    assert may_use(database, task, 1, "DB")
    assert not may_use(database, task, 2, "DB")
    assert not may_use(database, task, None, "DB")


def test_an_option_gives_a_secret_and_its_planner_reads_the_name(
    caller: Caller, database: Database
) -> None:
    """The name is what a model needs to write it."""
    request = TaskRequest("log in", ("localhost",), secrets=("DB",))
    task = submit_task(caller, request).value.ref
    with database.begin() as connection:
        prompt = connection.execute(text("SELECT prompt FROM tasks")).scalar_one()
    assert prompt == "log in\n\nSecrets for it: ${secret:DB}"
    assert may_use(database, task.task, 3, "DB")


def test_a_person_gives_one_later(caller: Caller, database: Database) -> None:
    """To the task or to one step; twice is once."""
    task = submit(database, Submission("x", ("localhost",), Policy()))
    assert not may_use(database, task, 1, "DB")
    give(caller, "DB", Ref(task, step=1))
    give(caller, "DB", Ref(task, step=1))
    assert may_use(database, task, 1, "DB")
    assert not may_use(database, task, 2, "DB")
    give(caller, "DB", Ref(task))
    assert may_use(database, task, 2, "DB")
    with pytest.raises(Rejected, match="not a valid name"):
        give(caller, "not-a-name", Ref(task))


def test_a_secret_has_its_hosts(caller: Caller, database: Database) -> None:
    """A task is refused before it is written; the error says what to type."""
    scope(caller, "DB", ("db*",), anywhere=False)
    request = TaskRequest("use ${secret:DB}", ("localhost",))
    with pytest.raises(Misconfigured, match=r"may be used on db\*, not on localhost") as refused:
        submit_task(caller, request)
    assert "secret scope DB --host localhost" in (command_line(refused.value.next_step) or "")
    with database.begin() as connection:
        secret_grants.require_scope(connection, "db7", ["DB"])
    assert scope(caller, "DB", ("localhost",), anywhere=False).value.hosts == ("db*", "localhost")
    submit_task(caller, request)
    assert scope(caller, "DB", (), anywhere=True).value.hosts == ()
    submit_task(caller, replace(request, key="again"))
