"""Rules given with an approval: for the task, signed; for the site, in its policy file."""

import json
from pathlib import Path

import pytest
import yaml
from sqlalchemy import text

from tests.integration.cli.asking import plain, plan_file, submit
from tests.integration.cli.calling import Cli

SITE = "# ours\nprofiles: [read-only, files]   # no more\nallow: []\n"


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker_environ: dict[str, str]) -> Path:
    """The policy file of the installation, for people and for the worker."""
    path = tmp_path / "policy.yaml"
    path.write_text(SITE)
    monkeypatch.setenv("REPLAN_GUARD_POLICY", str(path))
    worker_environ["REPLAN_GUARD_POLICY"] = str(path)
    return path


def test_a_rule_for_the_task_answers_the_same_question_for_all_of_it(
    working: Cli, tmp_path: Path
) -> None:
    """It is signed, shown, recorded, and allows nothing else; one that nobody signed is none."""
    steps = (plain("factor 12"), plain("sleep 0 && factor 12"), plain("factor 13"))
    ref = submit(working, plan_file(tmp_path, *steps), "--set", "autonomy=ask")
    shown = working.json("intervention", "show", "I1")["details"]
    (wanted,) = shown["wanted"]
    assert wanted["offer"]["commands"] == ["factor 12"]
    assert "run: factor" in wanted["offer"]["policy"]
    assert "would allow `factor 12`, and nothing else" in working("intervention", "show", "I1").out
    answer = working.json("intervention", "approve", "I1", "--rule", "task")
    assert answer["details"]["rule"]["scope"] == "task"
    working.json("task", "watch", ref, code=3)
    (next_one,) = working.json("intervention", "list")["details"]["interventions"]
    assert [each["command"] for each in next_one["wanted"]] == ["factor 13"]
    (row,) = working.rows("SELECT * FROM approvals WHERE scope = 'rule'")
    assert json.loads(row.rule)[0]["run"] == "factor"
    assert row.signature
    (entry,) = working.rows("SELECT * FROM audit WHERE verb = 'intervention.approve'")
    assert "factor 12" in str(entry)
    with working.database.begin() as connection:  # somebody widens it in the database
        wider = row.rule.replace("12", "13")
        connection.execute(text("UPDATE approvals SET rule = :rule WHERE id = :id"),
                           {"rule": wider, "id": row.id})  # fmt: skip
    working.json("intervention", "deny", "I2")
    assert len(working.rows("SELECT * FROM approvals")) == 2


def test_a_rule_for_the_site_is_written_to_its_policy_file(
    policy: Path, working: Cli, tmp_path: Path
) -> None:
    """The comments stay, the text becomes a test, and the task itself need not wait for it."""
    submit(working, plan_file(tmp_path, plain("factor 12"), plain("sleep 0 && factor 12")))
    for scope, told in (
        ("host:db1", "would not hold there"),
        ("group:web", "has no group 'web'"),
        ("nobody", "not a valid scope"),
        ("group:", "not a valid scope"),
    ):
        assert told in working.refused("intervention", "approve", "I1", "--rule", scope)["reason"]
    assert policy.read_text() == SITE
    said = working("intervention", "approve", "I1", "--rule", "site")
    assert said.code == 0
    assert "allows `factor 12` on every host from now on" in said.out
    written = policy.read_text()
    assert written.startswith("# ours\nprofiles: [read-only, files]   # no more\nallow:\n")
    (group,) = yaml.safe_load(written)["allow"]
    assert group["allow"] == ["factor 12"]
    assert working("guard", "test", policy).code == 0
    assert working.json("task", "watch", "T1")["details"]["phase"] == "done"
    assert working("guard", "check", "factor 12").code == 0


def test_where_no_rule_helps_or_no_file_is_at_hand_the_person_is_told(
    working: Cli, tmp_path: Path
) -> None:
    """Without a policy file, the approval counts and the rule is printed."""
    nothing = tmp_path / "learned.yaml"
    assert "no file is written" in working("guard", "learn", "--write", nothing).out
    assert not nothing.exists()
    submit(working, plan_file(tmp_path, plain("kill 999999999")))
    assert "another process later" in working("intervention", "show", "I1").out
    refused = working.refused("intervention", "approve", "I1", "--rule", "site")
    assert "no rule can answer I1" in refused["reason"]
    submit(working, plan_file(tmp_path, plain("factor 12")))
    said = working("intervention", "approve", "I2", "--rule", "host:localhost")
    assert said.code == 0
    assert "no rule is written" in said.out
    assert yaml.safe_load(said.out[said.out.index("hosts:") :].split("\nnext")[0])
    working.json("task", "watch", "T2")
    submit(working, plan_file(tmp_path, plain("factor 12")))
    working.json("intervention", "approve", "I3")
    working.json("task", "watch", "T3")

    learned = tmp_path / "learned.yaml"
    found = working.json("guard", "learn", "--since", "1h", "--write", learned)["details"]
    (rule,) = found["rules"]
    assert (rule["scope"], rule["command"]) == ("host:localhost", "factor 12")
    assert (rule["questions"], rule["saved"], found["approved"]) == (2, 2, 2)
    assert "sudo factor 12" in rule["also"]
    assert working("guard", "test", learned).code == 0
    assert "would also allow" in working("guard", "learn").out
    assert "cannot be written" in working.refused("guard", "learn", "--write", learned)["reason"]
    assert "not a valid time" in working.refused("guard", "learn", "--since", "soon")["reason"]
