"""Tasks that a model plans, details and revises: a scripted model, all else real."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stage import enrol
from shared.domain.bundle import REQUEST
from shared.domain.config import Policy
from tests.fakes.model_server import Fails, ModelServer, Says, model_server
from tests.journeys.plans import postgresql_as_planned
from tests.journeys.stubs import DebianStubs
from tests.services.accounts import Account
from tests.services.ring import Ring
from tests.services.sshd import SshServers
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)

ABSENT = "E: Unable to locate package postgresql"
NO_UNIT = "Failed to enable unit: Unit file postgresql.service does not exist."


@dataclass
class Planned:
    """A ring whose planning roles ask a scripted model."""

    ring: Ring
    model: ModelServer

    def submit(self, prompt: str, target: str = "localhost", **policy: Any) -> int:
        """A task with a prompt alone."""
        return self.ring.submit(None, target, policy=Policy(**policy), prompt=prompt)


@pytest.fixture
def planned(ring: Ring) -> Iterator[Planned]:
    """A whole ring on a scripted model."""
    with model_server() as model:
        ring.extra |= model.environ
        ring.coordinator()
        ring.worker("taskmaster", "planner", "subtask_planner", "escalation")
        ring.worker("executor")
        yield Planned(ring, model)
        ring.stop()


def test_a_prompt_is_improved_planned_detailed_and_carried_out(
    planned: Planned, tmp_path: Path
) -> None:
    """S0.1-S0.3, S0.24-S0.29: both prompts are kept, each step is detailed, and all is done."""
    ledger = tmp_path / "ledger"
    model = planned.model
    model.will(Says({"prompt": "Write both numbers, 1 first"}), wanted="RefineAnswer")
    model.will(
        Says(plan_answer(step_answer("first"), step_answer("second", depends_on=["first"]))),
        wanted="PlanAnswer",
    )
    for number in (1, 2):
        write = subtask_answer(
            "write", f"echo {number} >> '{ledger}'", check=f"grep -qx {number} '{ledger}'"
        )
        look = subtask_answer("look", f"cat '{ledger}'", needs=["write"])
        model.will(
            Says(detail_answer(write, look)),
            wanted="DetailAnswer",
            about=f"The step to detail is number {number},",
        )
    task = planned.submit("write numbers", taskmaster_enabled=True)
    planned.ring.ends(task)

    assert ledger.read_text() == "1\n2\n"
    (row,) = planned.ring.rows("SELECT prompt, improved_prompt FROM tasks")
    assert row == ("write numbers", "Write both numbers, 1 first")
    attempts = planned.ring.rows("SELECT step, subtask, outcome FROM attempts ORDER BY id")
    assert attempts == [(1, 1, "ok"), (1, 2, "ok"), (2, 1, "ok"), (2, 2, "ok")]
    authors = planned.ring.rows(
        "SELECT step, author_role, author_backend, revision FROM run_steps ORDER BY step"
    )
    assert authors == [(n, "subtask_planner", "anthropic", 0) for n in (1, 2)]
    assert model.unused() == 0
    (refine,), (plan,) = model.of("RefineAnswer"), model.of("PlanAnswer")
    assert "write numbers" in refine.said[0]
    assert "Write both numbers, 1 first" in plan.said[0]


def test_without_the_taskmaster_the_prompt_goes_on_as_it_is(planned: Planned) -> None:
    """S0.24. A model that is overloaded is asked again, and that counts as no error."""
    planned.model.will(Fails(529, "overloaded_error"), Says(plan_answer(step_answer("only"))))
    planned.model.will(Says(detail_answer(subtask_answer("a", "true"))), wanted="DetailAnswer")
    task = planned.submit("do it", retry_delay=0.1)
    planned.ring.ends(task)
    assert planned.model.of("RefineAnswer") == []
    assert len(planned.model.of("PlanAnswer")) == 2
    assert planned.ring.rows("SELECT prompt, improved_prompt FROM tasks") == [("do it", None)]
    assert planned.ring.scalar("SELECT count(*) FROM interventions") == 0
    assert planned.ring.scalar("SELECT errors FROM run_steps") == 0


def test_a_model_that_gives_no_plan_leaves_the_task_to_a_person(planned: Planned) -> None:
    planned.model.will(Says("I would rather not."), Says("Still not."))
    task = planned.submit("do it")
    planned.ring.ends(task, "waiting")
    (told,) = planned.ring.rows("SELECT * FROM interventions WHERE closed_at IS NULL")
    assert "two answers that cannot be used" in told.reason
    assert told.next_step
    assert len(planned.model.asked) == 2
    assert planned.ring.scalar("SELECT count(*) FROM attempts") == 0


def test_postgresql_is_installed_after_the_planner_has_seen_the_evidence(
    planned: Planned, sshd_factory: SshServers, ssh_account: Account
) -> None:
    """S0.89-S0.93, whole: four errors, the evidence, a revision by its author, success."""
    stubs = DebianStubs(ssh_account.home / "debian")
    os.chown(stubs.folder, ssh_account.uid, -1)
    environment = {"PATH": f"{stubs.programs}:/usr/bin:/bin", **ssh_account.environment}
    words = " ".join(f'{name}="{value}"' for name, value in environment.items())
    enrol(planned.ring.database, "web1", sshd_factory(f"SetEnv {words}"))
    install, write = "apt install -y postgresql-13", f"printf 'deb pgdg\\n' > {stubs.list}"
    planned.model.will(
        *postgresql_as_planned(),
        Says(
            revision_answer(
                subtask_answer("repository", write, check=f"test -s {stubs.list}"),
                subtask_answer("key", f"curl -fsSLo {stubs.key} https://pgdg.test/key.asc"),
                subtask_answer("update", "apt update", needs=["repository", "key"]),
                subtask_answer("install", install, needs=["update"]),
                subtask_answer("enable", "systemctl enable postgresql", needs=["install"]),
                subtask_answer(
                    "start",
                    "systemctl start postgresql",
                    needs=["enable"],
                    check="systemctl is-active postgresql",
                ),
            )
        ),
    )
    task = planned.submit("Install PostgreSQL", "web1")
    planned.ring.ends(task)

    ring = planned.ring
    first = ring.rows(
        "SELECT subtask, number, outcome, correction, exit_code, counted FROM attempts"
        " WHERE revision = 0 ORDER BY id"
    )
    assert first == [
        (1, 1, "ok", None, 0, False),
        (2, 1, "failed", None, 100, True),
        (2, 2, "failed", "apt_update_fix_missing", 100, True),
        (2, 3, "failed", "apt_other_package", 100, True),
        (3, 1, "failed", None, 1, True),
    ]
    second = ring.rows(
        "SELECT subtask, outcome, command, counted FROM attempts WHERE revision = 1 ORDER BY id"
    )
    assert [(row.subtask, row.outcome, row.counted) for row in second] == [
        (number, "ok", False) for number in range(1, 7)
    ]
    assert second[3].command == install
    (step,) = ring.rows("SELECT phase, revision, errors FROM run_steps")
    assert step == ("done", 1, 0)

    shown = ring.replan("step", "show", f"T{task}.1@web1", "--format", "min-json")
    history = json.loads(shown.stdout)["details"]["revisions"]
    assert [(each["revision"], len(each["subtasks"])) for each in history] == [(0, 4), (1, 6)]
    assert [each["author"] for each in history] == ["subtask_planner/anthropic"] * 2
    assert "repository is missing" in history[1]["reason"]
    jobs = ring.rows("SELECT kind, queue FROM jobs ORDER BY id")
    assert jobs == [
        ("plan", "planning"),
        ("detail", "subtask_planning"),
        ("execute", "execution"),
        ("gather", "escalation"),
        ("revise", "subtask_planning"),
        ("execute", "execution"),
    ]

    (bundle,) = ring.rows("SELECT revision, body FROM bundles")
    assert bundle.revision == 0
    assert [entry["exit_code"] for entry in bundle.body["attempts"]] == [0, 100, 100, 100, 1]
    (asked,) = planned.model.of("RevisionAnswer")
    for words in (
        "Install PostgreSQL",
        "apt update; apt install --fix-missing postgresql",
        ABSENT,
        f"{ABSENT}-13",
        NO_UNIT,
        "corrected by: apt_other_package",
        "the package postgresql is absent from the host's repositories",
        "error_threshold_per_step: 4",
        REQUEST,
    ):
        assert words in asked.said[0]
    printed = ring.replan("bundle", "show", f"T{task}.1@web1").stdout
    evidence = asked.said[0].partition("<evidence-")[2].partition("\n")[2].partition("\n</")[0]
    assert f"\n{evidence}\n" in printed
    assert "web1: over SSH, account" in planned.model.of("PlanAnswer")[0].said[0]
    assert planned.model.unused() == 0
    assert ring.scalar("SELECT count(*) FROM interventions") == 0
