"""A model plans with repositories and agents: the real client against a scripted Messages API."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from orchestrator.acts.submission import Submission, submit
from orchestrator.coordinator import Coordinator
from orchestrator.store import SqlLedger
from orchestrator.views.plans import plan_view
from shared.domain.agent import AgentWork, RunnerChoice, StuckStrategy, Watchdog
from shared.domain.config import PLAN, Policy
from shared.domain.host import Host
from shared.domain.ids import parse_ref
from shared.domain.plan import Plan, Revision, Step, SubtaskKind
from shared.domain.target import Repository
from shared.store import hosts, repositories
from shared.store.targets import usable_repositories
from shared.wire import to_json
from tests.fakes.model_server import Says
from tests.integration.planning.at_work import Installation
from tests.integration.planning.conftest import Planners
from tests.unit.planning.given import (
    DETAIL_REQUEST,
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)
from tests.unit.planning.given_agents import (
    AUTHOR,
    CHECK,
    IN_APP,
    MEND,
    PLAN_REQUEST,
    WORK,
    revise_request,
)
from workers.agent_history import history_in
from workers.findings import replaced_subtasks
from workers.planning import AgentHistory
from workers.roles.offers import settle_steps

IN_A_REPOSITORY = replace(DETAIL_REQUEST, agents=IN_APP)

FREE = replace(MEND, agent=replace(WORK, allowed_tools=None))


def work(*runners: str, **changes: Any) -> dict[str, Any]:
    """The work of an agent as a model gives it."""
    given = {"runners": list(runners), "context": [], "acceptance": [], "time_budget_minutes": 20}
    return given | changes


def goal(key: str, said: str = "Read empty lines", **changes: Any) -> dict[str, Any]:
    return subtask_answer(key, said, **{"agent": work("codex"), "idempotent": False, **changes})


def test_a_plan_names_repositories_that_were_offered(planners: Planners) -> None:
    steps = (step_answer("mend", repository="app"), step_answer("run", repository=""))
    planners.model.will(Says(plan_answer(*steps)))
    plan = planners.backend().plan(PLAN_REQUEST)
    assert [step.repository for step in plan.steps] == ["app", None]
    (asked,) = planners.model.asked
    named = asked.schema["$defs"]["StepAnswer"]["properties"]["repository"]
    assert named["enum"] == ["", "app", "site"]
    assert "- app: /srv/app on localhost, branch main" in asked.said[0]
    assert "Steps in repositories" in asked.system


TIMES = {"started_at": "2026-01-01T12:00:00Z", "ended_at": "2026-01-01T12:01:00Z"}
ATTEMPT = text("""
    INSERT INTO attempts (key, run_id, step, revision, subtask, pass_no, try_no, number, command,
        outcome, counted, never_red, reason, stdout, stderr, stdout_size, stderr_size, check_output,
        started_at, worker, body)
    SELECT :key, id, 1, 0, 1, 1, 0, 1, 'c', :outcome, false, false, '', '', '', 0, 0, '', now(),
        'w', CAST(:body AS jsonb)
    FROM runs
""")

DIAMOND = (
    step_answer("ui", repository="app"),
    step_answer("api", repository="app"),
    step_answer("both", repository="app", depends_on=["ui", "api"]),
)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([step_answer("mend", repository="ap")], "did you mean 'app'"),
        (DIAMOND, "put them in a row, each with the one before it in its `depends_on`"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_goes_back(
    planners: Planners, wrong: list[Any], words: str
) -> None:
    row = (DIAMOND[0], {**DIAMOND[1], "depends_on": ["ui"]}, DIAMOND[2])
    planners.model.will(Says(plan_answer(*wrong)), Says(plan_answer(*row)))
    assert len(planners.backend().plan(PLAN_REQUEST).steps) == 3
    assert words in planners.model.asked[1].said[-1]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (goal("mend", agent=work("aider")), "'aider', which does not work in this repository"),
        (goal("mend", check="true"), "check: it is green whatever the host is like"),
        (goal("mend", "log in with ${secret:KEY}"), "the goal of an agent names a secret"),
    ],
)
def test_a_step_of_commands_and_an_agent_is_accepted_and_faults_go_back(
    planners: Planners, wrong: dict[str, Any], words: str
) -> None:
    both = detail_answer(
        subtask_answer("tool", "mkdir -p out", check="test -d out"),
        goal("mend", agent=work("codex", "claude-code"), needs=["tool"]),
    )
    planners.model.will(Says(detail_answer(wrong)), Says(both))
    tool, mend = planners.backend().detail(IN_A_REPOSITORY)
    assert (tool.kind, mend.kind) == (SubtaskKind.COMMAND, SubtaskKind.AGENT)
    assert mend.agent == AgentWork(
        runners=(RunnerChoice("codex", 1), RunnerChoice("claude-code", 2)),
        time_budget=1200.0,
        watchdog=Watchdog(strategy=StuckStrategy.NEXT_RUNNER),
    )
    assert mend.check == "pytest -q && ruff check .", "those of the repository"
    assert words in planners.model.asked[1].said[-1]


def test_an_agent_without_any_check_goes_back(planners: Planners) -> None:
    bare = replace(IN_APP, repositories=(replace(IN_APP.repositories[0], checks=()),))
    right = detail_answer(goal("mend", check="grep -q new app.txt"))
    planners.model.will(Says(detail_answer(goal("mend"))), Says(right))
    (mend,) = planners.backend().detail(replace(DETAIL_REQUEST, agents=bare))
    assert mend.check == "grep -q new app.txt"
    assert "has no check, nor has repository 'app'" in planners.model.asked[1].said[-1]


def test_a_step_on_a_host_hears_nothing_of_agents(planners: Planners) -> None:
    """And an agent that is planned there all the same goes back."""
    planners.model.will(
        Says(detail_answer(goal("mend"))), Says(detail_answer(subtask_answer("mend", "ls")))
    )
    planners.backend().detail(DETAIL_REQUEST)
    first, second = planners.model.asked
    assert "agent" not in str(first.body).replace("User-Agent", "")
    assert "no agent is offered here; plan it as commands" in second.said[-1]


@pytest.mark.parametrize(
    "revised",
    [
        (goal("mend", "Make the parser read empty lines.", agent=work("codex"), check=CHECK),),
        (
            goal("read", "Read a line that is empty", check="pytest -q tests/test_read.py"),
            goal("end", "Read one at the end", check=CHECK, needs=["read"]),
        ),
        (subtask_answer("mend", "make generate", check=CHECK),),
    ],
    ids=["another runner", "split", "commands"],
)
def test_a_revision_may_change_split_or_replace_the_work_of_agents(
    planners: Planners, revised: tuple[dict[str, Any], ...]
) -> None:
    """S4.54, X11. Of commands it is told that a person is asked before what they wrote is run."""
    planners.model.will(*[Says(revision_answer(*revised))] * 2)
    request = revise_request(subtasks=(FREE,), earlier=(Revision(1, 0, AUTHOR, (FREE,)),))
    draft = planners.backend().revise(request)
    assert [s.key for s in draft.subtasks] == [each["id"] for each in revised]
    asked = planners.model.asked[0]
    assert "check output: 1 failed: test_blank_at_end" in asked.said[0]
    assert "split the work" in asked.system


def test_a_planned_agent_is_kept_and_shown_and_can_be_asked_for_again(
    installation: Installation, tmp_path: Path
) -> None:
    """A task with a host and a repository; the plan waits for a person, so nothing runs."""
    for command in (["init", "-qb", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        name = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *name, *command], cwd=tmp_path, check=True)
    app = Repository("app", "localhost", str(tmp_path), checks=("make check",), runners=("codex",))
    with installation.database.begin() as connection:
        repositories.save(connection, app)
    (tmp_path / "parser.py").touch()
    installation.model.will(
        Says({"looks": [{"command": "ls", "why": "to know", "host": "app"}]}),
        Says(plan_answer(*DIAMOND)),
        Says(
            plan_answer(
                step_answer("mend", repository="app"), step_answer("run", depends_on=["mend"])
            )
        ),
        Says(detail_answer(goal("mend"))),
        Says(detail_answer(subtask_answer("run", "mkdir -p /tmp/run", check="test -d /tmp/run"))),
    )
    policy = Policy(autonomy=PLAN)
    submit(installation.database, Submission("mend app, then run it", ("localhost",), policy))
    installation.carry_on()

    with installation.database.begin() as connection:
        mend, run = plan_view(connection, parse_ref("T1")).steps
    assert (mend.repository, run.repository) == ("app", None)
    (agent,), (ran,) = mend.subtasks, run.subtasks
    assert (agent.kind, agent.check) == (SubtaskKind.AGENT, "make check")
    assert (ran.kind, ran.agent) == (SubtaskKind.COMMAND, None)
    _, first, again, detail, on_host = installation.model.asked
    assert "parser.py" in first.said[0], "it has looked into the repository"
    assert "'ui' and 'api', which work in repository 'app' side by side" in again.said[-1]
    assert "AgentAnswer" in detail.schema["$defs"]
    assert "app: a git repository on the host localhost" in detail.said[0]
    assert "AgentAnswer" not in on_host.schema["$defs"]
    assert "localhost: the executor's own machine" in on_host.said[0]
    assert installation.rows(
        "SELECT question -> 'repositories', question -> 'runners' FROM model_calls ORDER BY id"
    ) == [(["app"], ["codex"])] * 4 + [(None, None)]
    assert first.schema == again.schema


def test_what_attempts_have_taken_is_told_by_repository_and_agent(
    installation: Installation,
) -> None:
    submit(installation.database, Submission("do it", ("localhost",), Policy()))
    made = [
        ("codex", "ok", 100, "0.10"),
        ("codex", "failed", 300, "0.30"),
        ("codex", "running", 9, "9"),
        ("claude-code", "satisfied", 7, None),
        ("acp", "ok", 10**400, "1E-400"),
        ("command", "ok", 1, "1E+400"),
    ]
    with installation.database.begin() as connection:
        for number, (runner, outcome, tokens, cost) in enumerate(made):
            body = {"runner": runner, "tokens": tokens, "cost": cost, **TIMES}
            values = {"key": f"k{number}", "outcome": outcome, "body": json.dumps(body)}
            connection.execute(ATTEMPT, values)
        assert history_in(connection, ["localhost"]) == (
            AgentHistory("acp", "localhost", 1, 1, 60.0, 2.0**53, 0.0),
            AgentHistory("claude-code", "localhost", 1, 1, 60.0, 7.0, None),
            AgentHistory("codex", "localhost", 2, 1, 60.0, 200.0, 0.2),
            AgentHistory("command", "localhost", 1, 1, 60.0, 1.0, 2.0**53),
        )
        assert history_in(connection, ["app"]) == ()


def test_many_repositories_and_steps_cost_one_query_and_one_transaction(
    installation: Installation,
) -> None:
    database = installation.database
    with database.begin() as connection:
        for name in ("web1", "web2"):
            hosts.save(connection, Host(name, user="deploy", key_path="/key"))
        for name, host in (("c", "web1"), ("b", "web2"), ("a", "localhost")):
            repositories.save(connection, Repository(name, host, f"/srv/{name}", checks=("true",)))
        hosts.distrust(connection, "web2", "its key has changed")

    sent: list[str] = []
    begun: list[object] = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    with database.begin() as connection:
        sent.clear()
        assert [each.name for each in usable_repositories(connection)] == ["a", "c"]
        assert len(sent) == 1
    event.listen(database.engine, "begin", begun.append)
    bare = tuple(Step(n, f"s{n}", "T", "", AUTHOR, repository="a") for n in (1, 2))
    steps = tuple(replace(step, subtasks=(replace(FREE, check=None),)) for step in bare)
    settled = settle_steps(database, (*steps, *bare), ["localhost"])
    assert [[s.check for s in step.subtasks] for step in settled] == [["true"], ["true"], [], []]
    assert len(begun) == 1
    assert settle_steps(database, bare, ["localhost"]) == bare
    assert len(begun) == 1, "a plan without subtasks needs no look into the database"


REVISED = text("""
    INSERT INTO revisions (run_id, step, revision, author_role, author_backend, subtasks, reason)
    SELECT id, 1, 1, 'human', 'human', CAST(:subtasks AS jsonb), '' FROM runs
""")


def test_a_changed_plan_knows_what_it_replaces_in_a_repository(installation: Installation) -> None:
    """The newest list first: of the steps that are replaced, and of those that will be."""
    database, newer = installation.database, replace(FREE, title="Revised")
    with database.begin() as connection:
        repositories.save(connection, Repository("app", "localhost", "/srv/app"))
    step = Step(1, "mend", "Mend it", "", AUTHOR, subtasks=(FREE,), repository="app")
    submit(database, Submission("do it", ("localhost",), Policy(), plan=Plan((step,))))
    Coordinator(SqlLedger(database)).drain()
    with database.begin() as connection:
        (run,) = connection.execute(text("SELECT id FROM runs")).scalars()
        connection.execute(REVISED, {"subtasks": json.dumps([to_json(newer)])})
        both = (newer, FREE)
        assert replaced_subtasks(connection, run, "app", [1]) == both
        assert replaced_subtasks(connection, run, "localhost", [1]) == ()
        assert replaced_subtasks(connection, run, "app", []) == ()
        connection.execute(text("UPDATE run_steps SET phase = 'replaced'"))
        assert replaced_subtasks(connection, run, "app", []) == both
