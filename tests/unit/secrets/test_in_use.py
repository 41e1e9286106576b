"""What a process has fetched once it hides for ever."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.errors import Misconfigured
from shared.secrets.in_use import SecretsInUse
from shared.secrets.value import Secret
from shared.secrets.vaults.command import CommandVault
from shared.secrets.vaults.environment import EnvironmentVault
from shared.secrets.vaults.vault import Vaults


def in_use(environ: dict[str, str]) -> SecretsInUse:
    """Of an environment, and of a command that knows every name."""
    unlisted = CommandVault(["echo", "printed-for-NAME"], timeout=20)
    return SecretsInUse(
        Vaults([EnvironmentVault(environ), unlisted]), [Secret("OWN", "our own key")]
    )


def test_what_vaults_list_is_hidden_without_being_asked_for() -> None:
    masker = in_use({"REPLAN_SECRET_A": "value of A"}).masker()
    assert masker.text("value of A, our own key") == "‹secret:A›, ‹secret:OWN›"


def test_what_cannot_be_listed_is_hidden_once_it_was_fetched() -> None:
    secrets = in_use({})
    assert secrets.masker().text("printed-for-X") == "printed-for-X"
    fetched = secrets.environment(["X"])
    assert {name: secret.reveal() for name, secret in fetched.items()} == {
        "REPLAN_SECRET_X": "printed-for-X"
    }
    assert secrets.masker().text("printed-for-X") == "‹secret:X›"
    assert secrets.masker() is secrets.masker()


def test_a_changed_value_counts_and_the_old_one_stays_hidden() -> None:
    environ = {"REPLAN_SECRET_A": "the old value"}
    secrets = in_use(environ)
    secrets.environment(["A"])
    environ["REPLAN_SECRET_A"] = "one that is new"
    assert secrets.environment(["A"])["REPLAN_SECRET_A"].reveal() == "one that is new"
    masked = secrets.masker().text("the old value, one that is new")
    assert masked == "‹secret:A›, ‹secret:A›"


def test_a_secret_that_is_not_there_is_told() -> None:
    with pytest.raises(Misconfigured, match="no vault has the secret B"):
        SecretsInUse(Vaults([EnvironmentVault({})])).environment(["B"])


def test_threads_learn_from_each_other() -> None:
    environ = {f"REPLAN_SECRET_N{n}": f"the value {n:03d}." for n in range(40)}
    secrets = in_use(environ)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: secrets.environment([f"N{n}"]), range(40)))
    told = secrets.masker().text(" ".join(environ.values()))
    assert told == " ".join(f"‹secret:N{n}›" for n in range(40))
