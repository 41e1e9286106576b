"""What people type is masked before it is written, and they are told."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.acts.caller import Caller
from orchestrator.acts.submission import Submission
from orchestrator.acts.typed_secrets import TypedText, typed_text
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.domain.facts import Fact, QuestionAnswered, RevisionRequested, StepRevised
from shared.domain.plan import Subtask
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from shared.settings import load_settings
from tests.journeys.plans import plan, step

VALUE = "S3cr3tC@nary/Val+ue=9zQ"
AUTHOR = Author(PlanningRole.HUMAN, "human")


@pytest.fixture
def typed() -> TypedText:
    """Knows one secret of a vault."""
    return TypedText(Masker([Secret("DBPW", VALUE)]))


def test_a_prompt_loses_values_of_vaults_and_what_looks_like_a_secret(typed: TypedText) -> None:
    """Both kinds, and one warning says what to do."""
    prompt = f"set it up, the password is hunter2!, the vault has {VALUE}"
    found = typed.masked(Submission(prompt, ("web1",), Policy()))
    assert VALUE not in found.prompt
    assert "hunter2" not in found.prompt
    assert "‹secret:DBPW›" in found.prompt
    [note] = typed.notes
    assert "the prompt" in note.reason
    assert note.next_step is not None


@pytest.mark.parametrize(
    ("fact", "field"),
    [
        (QuestionAnswered(1, "which?", f"use {VALUE}", 3, "ann"), "answer"),
        (RevisionRequested(1, f"try {VALUE}"), "note"),
        (StepRevised(1, 1, AUTHOR, (), f"because of {VALUE}"), "reason"),
    ],
)
def test_facts_of_people_lose_theirs(typed: TypedText, fact: Fact, field: str) -> None:
    """Answers, notes and reasons."""
    assert VALUE not in str(typed.masked(fact))
    assert field in typed.notes[0].reason


def test_a_command_with_a_known_value_is_refused(typed: TypedText) -> None:
    """A mask would not run; the error says what to write."""
    given = Submission("x", ("web1",), Policy(), plan(step([f"mysql -p'{VALUE}' -e 'select 1'"])))
    with pytest.raises(Rejected, match=r"write \$\{secret:DBPW\} in its place"):
        typed.masked(given)


def test_a_command_that_seems_to_hold_a_secret_stays_and_is_told(typed: TypedText) -> None:
    """Its form alone may deceive, and a masked command would do something else."""
    given = Submission("x", ("web1",), Policy(), plan(step(["mysql -phunter23 -e 'select 1'"])))
    found = typed.masked(given)
    assert found.plan is not None
    assert given.plan is not None
    assert found.plan.steps[0].subtasks[0].command == given.plan.steps[0].subtasks[0].command
    assert any("seems to hold a secret" in note.reason for note in typed.notes)


def test_what_holds_no_secret_stays_the_same_object(typed: TypedText) -> None:
    """Nothing is copied, and nobody is warned."""
    subtasks = (Subtask(1, "a", "look", "uptime", check="true"),)
    fact = StepRevised(1, 1, AUTHOR, subtasks, "it was slow")
    assert typed.masked(fact) is fact
    assert typed.notes == ()


def test_a_setting_with_a_known_value_is_refused(typed: TypedText) -> None:
    """Settings of a task are stored and shown."""
    typed.refuse_values(Policy())
    with pytest.raises(Rejected, match="the setting forbidden_commands"):
        typed.refuse_values(replace(Policy(), forbidden_commands=(f"x {VALUE}",)))


def test_the_values_are_those_of_the_vaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vault that is out of order is passed over: the others and the forms still count."""
    monkeypatch.setenv("REPLAN_SECRET_OTHER", "another value")
    environ = {"REPLAN_DATA_DIR": str(tmp_path), "HOME": str(tmp_path)}
    (tmp_path / "secrets").mkdir(mode=0o755)
    (tmp_path / "secrets" / "DBPW").write_text(VALUE)
    (tmp_path / "secrets" / "DBPW").chmod(0o644)
    caller = Caller.of_account(load_settings(environ))
    typed = typed_text(caller)
    assert typed.masked("say another value") == "say ‹secret:OTHER›"
