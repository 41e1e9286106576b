"""Sessions, deliveries and checkpoints on the command line."""

from pathlib import Path

import pytest
from sqlalchemy import text

from tests.integration.cli.calling import Cli
from tests.services.ring import eventually
from tests.services.sessions import make_session

WAITS = text("""
    WITH waiting AS (
        UPDATE run_steps SET phase = 'waiting', waits_for = 'acceptance', reason = 'look',
            acceptance = acceptance || '{"stage": "allowing", "place": 0}'
        WHERE step = 2 RETURNING run_id, step
    )
    INSERT INTO interventions (task_id, run_id, step, kind, stage, reason)
    SELECT :task, run_id, step, 'delivery', 'accept', 'it changes .github/workflows/ci.yml'
    FROM waiting
""")


@pytest.fixture
def session(cli: Cli) -> str:
    """A session of three deliveries: one on the head, one that waits for a person, one queued."""
    with cli.database.begin() as connection:
        task = make_session(connection)
        connection.execute(WAITS, {"task": task})
    return f"T{task}@app"


@pytest.mark.changes_rows
def test_a_session_is_shown_on_one_screen(cli: Cli, session: str) -> None:
    answer = cli.json("session", "status", session)
    view = answer["details"]
    assert view["session"]["deliveries"] == {"accepted": 1, "published": 2}
    assert [each["stage"] for each in view["queue"]] == ["queued", "allowing"]
    assert answer["next_step_cmd"] == "replan delivery show T1.2@app"
    for command in (("session", "status"), ("session", "status", "T1")):
        said = cli(*command)
        assert said.code == 0
        assert "it changes .github/workflows/ci.yml" in said.out
        assert "in the queue, place 3" in said.out
        assert "waits for a person" in said.out
        assert ", session/T1 at eeeeeeeeeeee" in said.out
        assert len(said.out.splitlines()) < 40
    (line,) = cli.json("session", "list", "--project", "app")["details"]["sessions"]
    assert line["ref"] == session
    assert cli.json("session", "list", "--project", "other")["details"]["sessions"] == []
    (tree,) = cli.json("worktree", "list", session)["details"]["worktrees"]
    assert tree["path"] == "/work/1"
    assert "/work/1" in cli("worktree", "list", session).out


@pytest.mark.changes_rows
def test_a_delivery_says_all_that_is_known_of_it(cli: Cli, session: str) -> None:
    listed = cli.json("delivery", "list", "--session", session)["details"]["deliveries"]
    assert [each["name"] for each in listed] == ["D3", "D2", "D1"]
    told = cli("delivery", "show", "D1").out
    for part in (
        "it works",
        "a.py",
        "make test: exit code 0 in 1.5 s",
        "accepted, not on the remote yet",
    ):
        assert part in told
    answer = cli.json("delivery", "show", "T1.2")
    assert answer["details"]["delivery"]["name"] == "D2"
    assert answer["next_step_cmd"] == "replan accept run T1.2@app --apply"
    shown = cli("delivery", "show", "D2").out
    assert "it changes .github/workflows/ci.yml" in shown
    sha256 = answer["details"]["delivery"]["sha256"]
    assert f"next: replan store get {sha256} --output delivery.tar" in shown.replace("\n", " ")
    assert "D3" in cli("delivery", "list", "--format", "jsonl").out
    assert "no delivery D9" in cli.refused("delivery", "show", "D9")["reason"]
    assert "there is no task T9" in cli.refused("delivery", "list", "--session", "T9")["reason"]


@pytest.mark.changes_rows
def test_a_checkpoint_is_shown_and_asked_for(
    cli: Cli, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = cli.json("checkpoint", "list", session)["details"]["checkpoints"]
    assert (line["number"], line["status"]) == (1, "complete")
    assert "complete" in cli("checkpoint", "show", session).out
    assert "no checkpoint 7" in cli.refused("checkpoint", "show", session, "7")["reason"]
    said = cli.json("checkpoint", "run", session)
    assert (said["details"]["unpublished"], said["details"]["applied"]) == (1, False)
    assert said["next_step_cmd"] == f"replan checkpoint run {session} --apply"
    assert cli.rows("SELECT FROM inbox") == []
    monkeypatch.setattr("orchestrator.acts.post.PATIENCE", 0.0)
    cli.json("checkpoint", "run", session, "--apply", code=4)
    assert [row.kind for row in cli.rows("SELECT kind FROM inbox")] == ["CheckpointRequested"]
    assert [row.verb for row in cli.rows("SELECT verb FROM audit")] == ["checkpoint.run"]
    with cli.database.begin() as connection:
        connection.execute(text("UPDATE run_steps SET phase = 'done' WHERE phase = 'accepted'"))
    assert "nothing to publish" in cli.refused("checkpoint", "run", session)["reason"]


@pytest.mark.changes_rows
def test_nothing_is_accepted_before_a_person_says_apply(cli: Cli, session: str) -> None:
    for name in (session, "T1.2", "D2"):
        said = cli.json("accept", "run", name)
        assert [each["name"] for each in said["details"]["deliveries"]] == ["D2"]
        assert said["details"]["why"] == ["it changes .github/workflows/ci.yml"]
        assert said["next_step_cmd"] == f"replan accept run {name} --apply"
    assert "needs a note" in cli.refused("accept", "run", "D2", "--reject")["reason"]
    assert "would send back" in cli("accept", "run", "D2", "--reject", "--note", "no").out
    assert cli.rows("SELECT FROM inbox") == []
    assert "does not wait" in cli.refused("accept", "run", "D3")["reason"]
    assert "no delivery waits" in cli.refused("accept", "run", "T1.3")["reason"]


@pytest.mark.changes_rows
@pytest.mark.parametrize("reject", [False, True])
def test_what_a_person_says_becomes_a_fact_about_exactly_that_delivery(
    cli: Cli, session: str, reject: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.acts.post.PATIENCE", 0.0)
    options = ("--reject", "--note", "not there") if reject else ()
    cli.json("accept", "run", session, *options, "--apply", code=4)
    ((kind, body, task),) = cli.rows("SELECT kind, body, task_id FROM inbox")
    (shown,) = cli.rows("SELECT sha256 FROM deliveries WHERE step = 2")
    assert kind == ("DeliveryRejected" if reject else "DeliveryAllowed")
    assert (body["step"], body["pass_no"], body["delivery"]) == (2, 1, shown.sha256)
    assert body.get("note", "") == ("not there" if reject else "")
    ((verb, ref),) = cli.rows("SELECT verb, ref FROM audit")
    assert (verb, ref) == ("accept.run", f"T{task}")


def test_a_session_is_open_until_a_person_closes_it(coordinated: Cli, tmp_path: Path) -> None:
    """It has no steps, and does not end because of that."""
    with coordinated.database.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO repositories (name, host, path, setup_timeout)"
                " VALUES ('app', 'localhost', :path, 60)"
            ),
            {"path": str(tmp_path)},
        )
    assert "app" in coordinated.refused("session", "open", "--repo", "nowhere")["reason"]
    would = coordinated.json("session", "open", "--repo", "app", "--dry-run")["details"]
    assert (would["applied"], would["ref"]) == (False, None)
    assert coordinated.rows("SELECT FROM tasks") == []
    opened = coordinated.json("session", "open", "--repo", "app", "--goal", "make it work")
    ref = opened["details"]["ref"]
    assert opened["next_step_cmd"] == f"replan session status {ref}"
    (act,) = coordinated.rows("SELECT verb FROM audit")
    assert act.verb == "session.open"

    def status() -> dict[str, object]:
        line: dict[str, object] = coordinated.json("session", "status", ref)["details"]["session"]
        return line

    eventually(lambda: status()["held_open"], "the session")
    assert status()["ended_at"] is None
    shown = coordinated("session", "status", ref).out
    assert "make it work" in shown
    assert "it is open, and has nothing to do" in shown
    assert f"replan session close {ref}" in shown
    assert "nothing to publish" in coordinated.refused("checkpoint", "run", ref)["reason"]
    assert coordinated("session", "close", ref, "--dry-run").out.startswith("would close")
    assert status()["held_open"]
    coordinated.json("session", "close", ref)
    eventually(lambda: status()["ended_at"], "its end")
    acts = coordinated.rows("SELECT verb, ref FROM audit ORDER BY seq")
    assert [tuple(act) for act in acts] == [("session.open", "T1"), ("session.close", ref)]
    assert coordinated.json("session", "list")["details"]["sessions"] == []
    assert len(coordinated.json("session", "list", "--all")["details"]["sessions"]) == 1
    assert "not held open" in coordinated.refused("session", "close", ref)["reason"]


AWAY = text("""
    WITH failed AS (
        INSERT INTO events (task_id, run_id, rules, kind, body)
        SELECT task_id, id, 1, 'JobFailed', '{"kind": "checkpoint", "step": null,
            "reason": "could not resolve host: git.example", "family": "unavailable"}'
        FROM runs RETURNING run_id, task_id
    ), begun AS (
        INSERT INTO checkpoints (run_id, number, status, stage, head_local, accepted)
        SELECT run_id, 2, 'running', 'publish', 'h', 1 FROM failed
    )
    INSERT INTO jobs (kind, queue, task_id, run_id, revision, pass_no, due_at, postponed)
    SELECT 'checkpoint', 'execution', task_id, run_id, 0, 2, now() + interval '1 hour', 3
    FROM failed
""")


@pytest.mark.changes_rows
def test_a_remote_that_is_away_is_told_wherever_a_checkpoint_is_looked_at(
    cli: Cli, session: str
) -> None:
    with cli.database.begin() as connection:
        connection.execute(AWAY)
    told = "the remote cannot be reached: could not resolve host: git.example; tried again at "
    for command in (
        ("session", "status", session),
        ("checkpoint", "show", session),
        ("watch", "--once"),
        ("doctor", "--no-runners"),
    ):
        said = cli(*command)
        assert told in " ".join(said.out.split()), command
    (away,) = cli.json("session", "status", session)["details"]["put_off"]
    assert (away["provider"], away["times"]) == (True, 3)
    assert cli.json("checkpoint", "show", session)["details"]["put_off"] == away
    lines = cli.json("watch", "--once")["details"]["lines"]
    (job,) = [line for line in lines if line["kind"] == "job"]
    assert (job["awaits"], job["until"]) == ("remote", away["until"])


@pytest.mark.changes_rows
@pytest.mark.usefixtures("session")
def test_a_step_that_waits_for_a_person_is_not_said_to_be_well(cli: Cli) -> None:
    with cli.database.begin() as connection:
        connection.execute(text("DELETE FROM attempts"))
    said = cli("repair", "attempt", "T1.2@app")
    assert said.code == 0
    assert "it waits for you (I1): it changes .github/workflows/ci.yml" in said.out
    assert "nothing is wrong" not in said.out
    answer = cli.json("repair", "attempt", "T1.2@app")
    assert answer["next_step_cmd"] == "replan delivery show T1.2@app"
    assert [each["id"] for each in answer["details"]["waiting"]] == [1]
    assert cli.json("repair", "attempt", "T1.3@app")["details"]["waiting"] == []
