"""What a check proves: one that can only be green proves nothing, nor does one that changes."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.guard.proofs import ProofRules, proof_rules

TABLE: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "proofs.yaml").read_text()
)
CASES = [(kind, check) for kind, checks in TABLE.items() for check in checks]


@pytest.fixture(scope="module")
def rules() -> ProofRules:
    return proof_rules()


@pytest.mark.parametrize(("kind", "check"), CASES, ids=[check for _, check in CASES])
def test_every_check_of_the_table_is_what_stands_above_it(
    rules: ProofRules, kind: str, check: str
) -> None:
    assert rules.is_vacuous(check) is (kind == "vacuous")
    assert bool(rules.change_in(check)) is (kind == "changes")
    assert rules.proves(check) is (kind == "proves")


@pytest.mark.parametrize(
    "look", ["test -f /srv/state", "systemctl is-active app", "cat /srv/state"]
)
def test_a_command_that_only_looks_is_a_check_itself(rules: ProofRules, look: str) -> None:
    assert rules.is_look(look)


@pytest.mark.parametrize(
    "command", ["apt-get install -y nginx", "true", "touch f", "./install", "exit 9"]
)
def test_any_other_command_is_not(rules: ProofRules, command: str) -> None:
    assert not rules.is_look(command)


LEAVES = ["true", ":", "false", "echo x", "exit 0", "exit 1", "test -e a", "test -e b", "cat a",
          "test 1 = 1", "test 1 = 2", "set -e", "X=1", "[ $? -eq 0 ]", "cd ."]  # fmt: skip
FORMS = ["{} && {}", "{} || {}", "{}; {}", "{} | {}", "if {}; then {}; fi", "( {} ) || {}",
         "{{ {}; }} && {}", "if ! {}; then {}; fi", "for i in 1 2; do {}; {}; done",
         "if {}; then {}; else false; fi", "{} | cat; {}", "sh -c '{}' && {}"]  # fmt: skip
TEXTS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.builds(
        lambda form, one, other: form.format(one, other), st.sampled_from(FORMS), inner, inner
    ),
    max_leaves=5,
)
SETTINGS: dict[str, Any] = {
    "max_examples": 40,
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
}


def _exit_codes(text: str, folder: Path) -> set[int]:
    """The exit codes of a text in a folder without files, with each of two, and with both."""
    codes = set()
    for files in ((), ("a",), ("b",), ("a", "b")):
        for name in ("a", "b"):
            path = folder / name
            path.touch() if name in files else path.unlink(missing_ok=True)
        ran = subprocess.run(["/bin/sh", "-c", text], cwd=folder, capture_output=True, check=False)
        codes.add(ran.returncode)
    return codes


@settings(**SETTINGS)
@given(text=TEXTS)
def test_no_check_that_can_fail_is_called_vacuous(text: str, tmp_path: Path) -> None:
    """What the rule says of a text holds in a real shell, in every state of the host."""
    if proof_rules().is_vacuous(text):
        assert _exit_codes(text, tmp_path) == {0}


@settings(**SETTINGS)
@given(text=TEXTS.filter(lambda text: "exit 1" not in text and "set -e" not in text))
def test_every_check_whose_failure_is_thrown_away_is_called_vacuous(text: str) -> None:
    for hidden in (f"( {text} ) || true", f"( {text} ); echo done", f"( {text} ) | cat"):
        assert proof_rules().is_vacuous(hidden), hidden
