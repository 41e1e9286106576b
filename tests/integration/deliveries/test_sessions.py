"""Sessions, from the plan to the remote, over a repository on this machine."""

import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator.access.actor import Actor
from orchestrator.access.roles import AccessRole
from orchestrator.acts import post
from orchestrator.acts.caller import Caller
from orchestrator.acts.deliveries import accept
from orchestrator.acts.submission import Submission, submit
from orchestrator.views.deliveries import delivery_view
from orchestrator.views.interventions import intervention
from shared.domain.agent import AgentWork, RunnerChoice
from shared.domain.config import Policy
from shared.domain.delivery import Rejection, Trust
from shared.domain.next_step import command_line
from shared.domain.plan import Recovery, Step, Subtask, SubtaskKind
from shared.domain.target import Repository, TrustRule
from shared.settings import load_settings
from shared.store import repositories
from shared.store.database import Database
from tests.integration.workspaces.sources import Source, run_git
from tests.journeys.plans import plan, step
from tests.services.by_hand import carry_on
from tests.services.outside import prove
from workers.deliveries.gates.values import GateLimits, GatePolicy
from workers.wiring import Worker, make_worker

POLICY = Policy(deliver=True, auto_correction_enabled=False, max_transient_failures=0)


@dataclass
class Sessions:
    """A coordinator and a worker, driven by hand, over a repository with a bare remote."""

    database: Database
    worker: Worker
    source: Source
    remote: Path

    def submit(self, *steps: Step, policy: Policy = POLICY) -> int:
        """Submit a task on the repository; returns its number."""
        return submit(self.database, Submission("Do it", ("app",), policy, plan(*steps)))

    def carry_on(self) -> None:
        """Run until nothing is left to do."""
        carry_on(self.database, self.worker.lifecycle.carry_out)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def phases(self) -> list[object]:
        """The phases of the steps, in order, with what they wait for or why they are there."""
        return [row[0] for row in self.rows("SELECT phase FROM run_steps ORDER BY step")]

    def answer(self, *, accepted: bool) -> None:
        """Have a person accept or reject the delivery that waits for one."""
        actor, settings = Actor("somebody", AccessRole.APPROVER), load_settings(dict(os.environ))
        caller = Caller(actor, settings, database=self.database)
        with caller.reading("delivery.show") as connection:
            (asked,) = delivery_view(connection, "T1.1").waiting
        assert asked.kind == "delivery"
        note = "" if accepted else "not this"
        said = accept(caller, "T1", reject=not accepted, note=note, apply=True).value
        assert [line.name for line in said.deliveries] == ["D1"]

    def problems(self) -> list[tuple[object, ...]]:
        """What waits for a person."""
        return self.rows("SELECT kind, step, reason FROM interventions WHERE closed_at IS NULL")

    def published(self, branch: str, path: str) -> str:
        """A file on the remote."""
        return run_git(self.remote, "show", f"{branch}:{path}")

    def prove(self, branch: str) -> str:
        """What others find who have the remote, the store's folder and the public key."""
        run_git(self.source.folder, "push", "--quiet", str(self.remote), "HEAD:refs/heads/main")
        data = self.remote.parent / "data"
        public = (data / "attestation-key.pub").read_text().strip()
        found = prove(self.remote, branch, "main", data / "deliveries", public)
        assert found.returncode == 0, found.stderr
        return found.stdout


RULES = """
agents: {containment: "off"}  # the program of these tests keeps notes beside itself
allow:
  - reason: these checks look for a word in a secret
    rules: [{run: grep, flags: "-q", operands: "name", consumes: [input]}]
"""


@pytest.fixture
def sessions(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sessions]:
    """One repository, checked by a command that counts its Python files."""
    environ = {
        "HOME": str(tmp_path / "home"),
        "REPLAN_DATABASE_URL": database_url,
        "REPLAN_BROKER_URL": "redis://127.0.0.1:1/0",
        "REPLAN_DATA_DIR": str(tmp_path / "data"),
        "REPLAN_WORKSPACES": str(tmp_path / "workspaces"),
        "REPLAN_GUARD_POLICY": str(tmp_path / "policy.yaml"),
    }
    (tmp_path / "policy.yaml").write_text(RULES)
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(post, "PATIENCE", 0.0)  # the coordinator is driven by hand
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    source = Source.at(tmp_path / "source", readme="hello\n", code="print(1)\n")
    remote = tmp_path / "remote.git"
    run_git(tmp_path, "init", "--quiet", "--bare", str(remote))
    database = Database(database_url)
    repository = Repository(
        "app", "localhost", str(source.folder), checks=("test ! -e broken",), remote=str(remote)
    )
    with database.begin() as connection:
        repositories.save(connection, repository)
    worker = make_worker(load_settings(environ), ["all"])
    yield Sessions(database, worker, source, remote)
    worker.close()
    database.close()


def writing(name: str, content: str, *, ordinal: int = 1, needs: tuple[int, ...] = ()) -> Step:
    """A step that writes a file by a command."""
    made = step(
        [f"echo '{content}' > {name}"], ordinal=ordinal, check=f"grep -q '{content}' {name}"
    )
    return replace(made, depends_on=needs)


def test_two_steps_side_by_side_end_on_the_remote(sessions: Sessions, tmp_path: Path) -> None:
    """S2.17: done is delivered, accepted and checkpointed."""
    sessions.submit(writing("one", "1"), writing("two", "2", ordinal=2))
    sessions.carry_on()
    told = sessions.rows("SELECT step, phase, reason FROM run_steps ORDER BY step")
    assert [row[1] for row in told] == ["done", "done"], (told, sessions.problems())
    branch = "session/T1"
    assert sessions.published(branch, "one") == "1"
    assert sessions.published(branch, "two") == "2"
    assert sessions.rows("SELECT status FROM deliveries") == [("checkpointed",)] * 2
    left = {each.name for each in (tmp_path / "workspaces/app/attempts").iterdir()}
    [(token,)] = sessions.rows("SELECT token FROM runs")
    assert left == {f"{token}-1", f"{token}-2", f"{token}-main"}
    worked = sessions.rows("SELECT step FROM worktrees ORDER BY step NULLS FIRST")
    assert worked == [(None,), (1,), (2,)]
    events = sessions.rows(
        "SELECT kind, count(DISTINCT delivery_id), count(checkpoint_id) FROM ledger.events"
        " WHERE session_id = 'T1@app' GROUP BY kind"
    )
    known = {("PassFinished", 2, 0), ("DeliveryJudged", 2, 0), ("CheckpointFinished", 0, 1)}
    assert known <= set(events)
    assert len(sessions.prove(branch).splitlines()) == 2


def by_agent(script: str, *, ordinal: int = 1, check: str = "true") -> Step:
    """A step of one agent: a script that gets its task as the file $1."""
    command = f"sh -c {shlex.quote(script)} agent {{task_file}}"
    work = AgentWork(runners=(RunnerChoice("command", 1, command=command),))
    goal = Subtask(
        1, "goal", "goal", f"Do part {ordinal}", check=check, kind=SubtaskKind.AGENT, agent=work
    )
    return replace(step([], ordinal=ordinal), subtasks=(goal,))


def test_what_breaks_together_goes_back_to_its_author(sessions: Sessions) -> None:
    """Each passes alone; the second is refused on the merged tree, corrected, and accepted."""
    with sessions.database.begin() as connection:
        known = repositories.get(connection, "app")
        repositories.save(connection, replace(known, checks=("sh tools/check.sh",)), replace=True)
    together = "test ! -e one || test ! -e two || test -e both"
    sessions.source.commit(**{"tools/check.sh": together})
    second = 'echo 2 > two\nif grep -q "is red on the merged tree" "$1"; then echo 3 > both; fi'
    sessions.submit(
        by_agent("echo 1 > one", check="test -e one"),
        by_agent(second, ordinal=2, check="test -e two"),
    )
    sessions.carry_on()
    assert sessions.phases() == ["done", "done"], sessions.problems()
    assert sessions.published("session/T1", "both") == "3"
    rejected = sessions.rows("SELECT step, rejection FROM deliveries WHERE status = 'rejected'")
    assert rejected == [(2, "check")]
    assert sessions.rows("SELECT count(*) FROM deliveries WHERE status = 'checkpointed'") == [(2,)]


def test_a_conflict_is_merged_by_its_author(sessions: Sessions) -> None:
    """It begins on the head, with its work and the marks of the conflict in the file."""
    second = 'if grep -q "<<<<<<<" readme; then echo both > readme; else echo two > readme; fi'
    sessions.submit(by_agent("echo one > readme"), by_agent(second, ordinal=2))
    sessions.carry_on()
    assert sessions.phases() == ["done", "done"], sessions.problems()
    assert sessions.published("session/T1", "readme") == "both"
    assert sessions.rows("SELECT rejection FROM deliveries WHERE status = 'rejected'") == [
        ("conflict",)
    ]


def test_what_waits_says_that_its_delivery_conflicted(sessions: Sessions) -> None:
    """Commands run again on the head and fail for their own reason, which is not the cause."""
    appends = "grep -q hello readme && echo {} > readme"
    steps = [
        step([appends.format(number)], ordinal=number, check=f"grep -q {number} readme")
        for number in (1, 2)
    ]
    sessions.submit(*(replace(each, recovery=Recovery.REPLAN) for each in steps))
    sessions.carry_on()
    [(kind, number, _)] = sessions.problems()
    assert (kind, number) == ("revision", 2)
    with sessions.database.begin() as connection:
        asked = intervention(connection, "I1")
    assert asked.rejected is not None
    assert asked.rejected.rejection is Rejection.CONFLICT
    assert "readme" in str(asked.rejected)
    assert "replan delivery show T1.2@app" in {command_line(each) for each in asked.next_steps}


def test_an_agent_that_changes_nothing_delivers_nothing(sessions: Sessions) -> None:
    """After as many refusals as are allowed, its planner is asked: here a person."""
    sessions.submit(by_agent("true"))
    sessions.carry_on()
    assert sessions.phases() == ["waiting"]
    assert sessions.rows("SELECT status, rejection FROM deliveries") == [("refused", "gate")] * 3
    assert [kind for kind, *_ in sessions.problems()] == ["escalation"]
    [(told,)] = sessions.rows("SELECT body -> 'rejections' FROM bundles")
    assert isinstance(told, list)
    assert len(told) == 3
    assert "it changes nothing" in told[0]


def test_deliverables_of_another_issue_are_refused_and_told_to_their_author(
    sessions: Sessions,
) -> None:
    """S2.46, S2.84: what the author says is checked before anything is published."""
    said = {
        "schema_version": 1,
        "issue_id": "%s",
        "summary": ["It is there."],
        "changed_files": ["one"],
        "how_to_verify": ["test -e one"],
        "risks": [],
    }
    answer = json.dumps({"status": "ok", "summary": "Done.", "deliverables": said})
    script = f"""echo 1 > one
id=L-000999
if grep -q "those of another issue" "$1"; then id=L-001001; fi
printf '{answer}\\n' $id"""
    sessions.submit(by_agent(script, check="test -e one"))
    sessions.carry_on()
    assert sessions.phases() == ["done"], sessions.problems()
    assert sessions.rows("SELECT status, rejection, deliverables FROM deliveries ORDER BY id") == [
        ("refused", "gate", {**said, "issue_id": "L-000999"}),
        ("checkpointed", None, {**said, "issue_id": "L-001001"}),
    ]


def test_a_patch_that_is_too_long_is_refused_and_told_to_its_author(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no failure of the machinery, which would wait for an operator for ever."""
    policy = GatePolicy(limits=GateLimits(patch=300))
    monkeypatch.setattr(GatePolicy, "of", lambda *_: policy)
    script = """seq 1000 > one
if grep -q "its patch has" "$1"; then echo 1 > one; fi
echo '{"status": "ok", "summary": "Done."}'"""
    sessions.submit(by_agent(script, check="test -e one"))
    sessions.carry_on()
    assert sessions.phases() == ["done"], sessions.problems()
    found = sessions.rows("SELECT status, rejection, size > 3000 FROM deliveries ORDER BY id")
    assert found == [("refused", "gate", True), ("checkpointed", None, True)]


@pytest.mark.parametrize(
    ("program", "named"),
    [
        (
            "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/ci.yml",
            ".github/workflows/ci.yml",
        ),
        ("rm tests/test_it.py", "tests/test_it.py"),
    ],
    ids=["ci", "test"],
)
@pytest.mark.parametrize("accepted", [True, False], ids=["accepted", "rejected"])
def test_what_nobody_should_change_unseen_waits_for_a_person(
    sessions: Sessions, program: str, named: str, *, accepted: bool
) -> None:
    """Its delivery is checked first; who looks at it sees why."""
    test = "def test_it():\n    assert 1\n"
    sessions.source.commit(**{"tools/agent.sh": program, "tests/test_it.py": test})
    work = AgentWork(runners=(RunnerChoice("command", 1, command="sh tools/agent.sh"),))
    goal = replace(by_agent("true").subtasks[0], agent=work)
    sessions.submit(replace(by_agent("true"), subtasks=(goal,)))
    sessions.carry_on()
    assert sessions.phases() == ["waiting"]
    [(kind, _, reason)] = sessions.problems()
    assert kind == "delivery", reason
    assert named in str(reason)
    assert sessions.rows("SELECT ok FROM check_runs") == [(True,)]
    sessions.answer(accepted=accepted)
    sessions.carry_on()
    with sessions.database.begin() as connection:
        answered = intervention(connection, "I1")
    assert answered.answer == ("accepted" if accepted else "rejected")
    assert answered.answered_by == "somebody"
    if accepted:
        assert sessions.phases() == ["done"]
    else:
        assert sessions.rows("SELECT status, reason, settled_by FROM deliveries LIMIT 1") == [
            ("rejected", "not this", "somebody")
        ]


def test_a_person_is_not_asked_again_about_what_they_rejected(sessions: Sessions) -> None:
    """Commands do the same again; whoever planned them is told."""
    with sessions.database.begin() as connection:
        known = repositories.get(connection, "app")
        trusted = replace(known, trust=(TrustRule("one", Trust.PERSON),))
        repositories.save(connection, trusted, replace=True)
    sessions.submit(writing("one", "1"))
    sessions.carry_on()
    sessions.answer(accepted=False)
    sessions.carry_on()
    [(kind, number, reason)] = sessions.problems()
    assert (kind, number) == ("escalation", 1)
    assert "the same change was rejected before: not this" in str(reason)
    found = sessions.rows("SELECT status, rejection FROM deliveries ORDER BY id")
    assert found == [("rejected", "person"), ("refused", "gate")]
