"""A worker hides every secret it has ever fetched; a command gets the secrets it names."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.agent import AgentWork
from shared.domain.errors import Defect, Misconfigured, Rejected
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.verdict import VerdictKind
from shared.secrets.sent import SentSubtask, as_sent, check_secrets
from shared.secrets.value import Secret
from shared.secrets.vaults.command import CommandVault
from shared.secrets.vaults.environment import EnvironmentVault
from shared.secrets.vaults.files import FileVault
from shared.secrets.vaults.vault import Vaults
from tests.fakes.scripted_shell import ScriptedShell
from tests.unit.passes.given import ScriptedJudge
from workers.secrets import Secrecy, texts_of
from workers.shells.door import Door, PassJudge
from workers.shells.ports import Call

USES_X = 'printf %s "${REPLAN_SECRET_X}"'


def secrecy(environ: dict[str, str]) -> Secrecy:
    """Of an environment, and of a command that knows every name."""
    unlisted = CommandVault(["echo", "printed-for-NAME"], timeout=20)
    return Secrecy(Vaults([EnvironmentVault(environ), unlisted]), [Secret("OWN", "our own key")])


def test_what_vaults_list_is_hidden_without_being_asked_for() -> None:
    of = secrecy({"REPLAN_SECRET_A": "value of A"})
    masked = "‹secret:A›, ‹secret:OWN›"
    assert of.secrets_for().masker.text("value of A, our own key") == masked
    assert of.text("value of A, our own key") == masked


def test_what_cannot_be_listed_is_hidden_once_it_was_fetched() -> None:
    of = secrecy({})
    assert of.text("printed-for-X") == "printed-for-X"
    known = of.secrets_for([USES_X, "true"])
    assert known.variables(USES_X) == {"REPLAN_SECRET_X": "printed-for-X"}
    assert known.variables("true") == {}
    assert of.text("printed-for-X") == "‹secret:X›"


def test_a_changed_value_counts_and_the_old_one_stays_hidden() -> None:
    environ = {"REPLAN_SECRET_X": "the old value"}
    of = secrecy(environ)
    of.secrets_for([USES_X])
    environ["REPLAN_SECRET_X"] = "one that is new"
    assert of.secrets_for([USES_X]).variables(USES_X) == {"REPLAN_SECRET_X": "one that is new"}
    assert of.text("the old value, one that is new") == "‹secret:X›, ‹secret:X›"


def test_a_secret_that_is_not_there_is_told() -> None:
    with pytest.raises(Misconfigured, match="no vault has the secret X"):
        Secrecy(Vaults([EnvironmentVault({})])).secrets_for([USES_X])


def test_a_vault_in_no_order_stops_work_and_no_text(tmp_path: Path) -> None:
    """Texts go on to be told, without what was known before."""
    folder = tmp_path / "vault"
    folder.mkdir(mode=0o755)
    of = Secrecy(Vaults([FileVault(folder)]), [Secret("OWN", "our own key")])
    with pytest.raises(Misconfigured):
        of.secrets_for()
    assert of.text("our own key") == "‹secret:OWN›"


def test_threads_learn_from_each_other() -> None:
    of = secrecy({f"REPLAN_SECRET_N{n}": f"the value {n:03d}." for n in range(40)})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: of.secrets_for([f"echo $REPLAN_SECRET_N{n}"]), range(40)))
    told = of.text(" ".join(f"the value {n:03d}." for n in range(40)))
    assert told == " ".join(f"‹secret:N{n}›" for n in range(40))


def test_a_subtask_runs_with_variables_in_place_of_secrets() -> None:
    planned = Subtask(
        1, "a", "", 'a "${secret:X}"', check="b ${secret:Y}", preconditions=("c ${secret:Z}",)
    )
    run = as_sent(planned)
    assert texts_of([run]) == (
        'b "${REPLAN_SECRET_Y}"',
        'c "${REPLAN_SECRET_Z}"',
        'a "${REPLAN_SECRET_X}"',
    )
    with pytest.raises(Rejected, match="single quotes"):
        as_sent(Subtask(1, "a", "", "echo '${secret:X}'"))


def test_a_goal_names_no_secret_and_gets_none() -> None:
    """It is sent to a model, and no shell reads it."""
    goal = Subtask(
        1, "a", "", "read $REPLAN_SECRET_X", check="b", kind=SubtaskKind.AGENT, agent=AgentWork()
    )
    assert as_sent(goal).command == goal.command
    assert texts_of([as_sent(goal)]) == ("b",)
    named = replace(goal, command="use ${secret:X}")
    with pytest.raises(Rejected, match="sent to a model"):
        as_sent(named)
    with pytest.raises(Rejected, match="step 1, subtask 1: the goal"):
        check_secrets([named], where="step 1")


def test_a_subtask_gets_its_final_bytes_once() -> None:
    """A snippet would be wrapped in a second interpreter."""
    snippet = as_sent(Subtask(1, "a", "", "result = 1", kind=SubtaskKind.CODE))
    assert snippet.command.count("python3 -I -c") == 1
    with pytest.raises(Defect, match="again"):
        as_sent(snippet)


def test_a_change_of_a_sent_subtask_keeps_its_type() -> None:
    changed = replace(as_sent(Subtask(1, "a", "", "true")), timeout=1.0)
    assert type(changed) is SentSubtask


def test_a_command_with_a_value_in_it_is_denied() -> None:
    """In whatever form, and the verdict does not show it."""
    masker = secrecy({"REPLAN_SECRET_A": "value of A"}).secrets_for().masker
    judge = PassJudge(ScriptedJudge(), masker)
    assert judge.judge("echo value").allowed
    for command in ("echo 'value of A'", "echo dmFsdWUgb2YgQQ== | base64 -d"):
        verdict = judge.judge(command)
        assert verdict.kind is VerdictKind.DENY
        assert "${secret:A}" in verdict.reason
        assert "value of" not in verdict.reason


def test_a_shell_gives_each_command_what_it_names() -> None:
    known = secrecy({}).secrets_for([USES_X])
    inner = ScriptedShell()
    door = Door(inner, ScriptedJudge(), variables=known.variables)
    door.pipeline(Call(text, 5) for text in ("true", USES_X))
    door.look(Call("true", 5))
    assert not door.gave_secrets
    door.look(Call(USES_X, 5))
    assert door.gave_secrets
    assert inner.pipelined == ["true", USES_X]
    assert [call.variables for call in inner.calls] == [
        {},
        {"REPLAN_SECRET_X": "printed-for-X"},
    ]
