"""`replan secret …`, as a person and a program see it; a value never comes back."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from tests.integration.cli.calling import Cli

VALUE = "correct-horse-battery"


class Piped(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))


@pytest.fixture
def told(bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call it with some standard input; the answer, which never holds the value."""
    monkeypatch.setenv("REPLAN_DATA_DIR", str(bare / "data"))

    def call(*words: str, given: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", Piped(given))
        code = main(["secret", *words])
        printed = capsys.readouterr()
        assert VALUE not in printed.out + printed.err
        assert "Traceback" not in printed.out + printed.err
        return code, printed.out, printed.err

    return call


def test_a_secret_is_set_listed_and_checked(told: Any, bare: Path) -> None:
    assert told("list")[1].startswith("no secrets yet")
    code, out, _ = told("set", "DB", given=f"{VALUE}\n".encode())
    assert code == 0
    assert "plans write ${secret:DB}" in out
    held = bare / "data/secrets/DB"
    assert held.read_text() == VALUE
    assert held.stat().st_mode & 0o777 == 0o600
    listed = "".join(told("list")[1].split())
    assert f"DBfilesin{bare}/data/secrets" in listed  # folded to the width of the terminal
    code, out, _ = told("check", "DB")
    assert code == 0
    assert "DB can be read from files in" in out
    assert 'commands get "${REPLAN_SECRET_DB}"' in out
    assert "output shows ‹secret:DB›" in out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\xff\xfe\xfd\xfc\xfb\xfa", "it is not UTF-8"),
        (b"correct\0horse", "it contains NUL"),
        (b"abc\n", "shorter than 6 characters"),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused(
    told: Any, bare: Path, given: bytes, says: str
) -> None:
    code, out, err = told("set", "DB", given=given)
    assert (code, out) == (2, "")
    assert says in err
    assert "next: replan secret set DB" in err
    assert not (bare / "data/secrets/DB").exists()


def test_bad_names_and_bad_vaults_are_refused_alike_for_programs(
    told: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch, bare: Path
) -> None:
    for verb in ("set", "check"):
        assert cli.refused("secret", verb, "not-a-name")["stage"] == "input"
    assert "no vault has the secret DB" in cli.refused("secret", "check", "DB")["reason"]
    told("set", "DB", given=VALUE.encode())
    (bare / "data/secrets/DB").chmod(0o644)
    answer = cli.refused("secret", "check", "DB")
    assert answer["next_step_cmd"] == f"chmod 0600 {bare}/data/secrets/DB"
    monkeypatch.setenv("REPLAN_VAULTS", "bank")
    assert "'bank' is not a vault" in cli.refused("secret", "list")["reason"]


def test_it_is_said_when_nobody_will_look_there(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAN_VAULTS", "environment")
    code, _, err = told("set", "DB", given=VALUE.encode())
    assert code == 0
    assert "nothing will read it" in err
