"""The gate about secrets: what is new in a delivery and has their form, or is one that is known."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.findings import Effect, GateRule
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from tests.unit.deliveries.made import delivery
from workers.deliveries.gates.examine import examine
from workers.deliveries.gates.values import GateReport

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0AbCdE"
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(
    ["MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0bu3aumd8Q3b1Xk0oM6Ww2"] * 3
)


@pytest.mark.parametrize(
    ("path", "before", "after", "found"),
    [
        ("app.py", "", f"token = '{TOKEN}'\n", ("token", 1, Effect.REFUSE)),
        ("app.py", "x = 1\n", f"x = 1\n\n# {TOKEN}\n", ("token", 3, Effect.REFUSE)),
        ("tests/test_app.py", "", f"token = '{TOKEN}'\n", ("token", 1, Effect.PERSON)),
        ("id_rsa", "", KEY, ("private-key", 1, Effect.REFUSE)),
        ("keys.py", "", "BEGIN = '-----BEGIN RSA PRIVATE KEY-----'\n", None),
        ("app.py", f"token = '{TOKEN}'\n", f"token = '{TOKEN}'\nx = 1\n", None),
        ("app.py", "", "password = 'tr0ub4dor&3'\n", ("password", 1, Effect.PERSON)),
        (".env", "", "DB_PASSWORD=tr0ub4dor3x\n", ("password", 1, Effect.PERSON)),
        ("app.py", "", "password = read_password_1\n", None),
        ("app.py", "", "token: str | None = None\n", None),
        ("app.py", "", "password = os.environ['DB_PASSWORD']\n", None),
        ("tests/test_app.py", "", "password = 'tr0ub4dor&3'\n", None),
        ("README.md", "", "Set PASSWORD=tr0ub4dor&3 first.\n", None),
        ("app.py", "", "TOKEN = 'The token of user 1, if any.'\n", None),
        ("app.py", "", "keys = {'token': 'ANTHROPIC_API_KEY_2'}\n", None),
        ("app.py", "", "key = 'AKIAIOSFODNN7EXAMPLE'\n", None),
        ("app.py", "", "token = 'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'\n", None),
        ("app.min.js", "", "x" * 70_000 + f" {TOKEN} " + "y" * 70_000, ("token", 1, Effect.REFUSE)),
        ("data.bin", b"\0", b"\0\xff" + TOKEN.encode(), ("token", 1, Effect.REFUSE)),
    ],
)  # fmt: skip
def test_secrets_in_what_is_added(
    path: str, before: str | bytes, after: str | bytes, found: tuple[str, int, Effect] | None
) -> None:
    report = examine(delivery({path: before} if before else {}, {path: after}))
    secrets = [each for each in report.findings if each.rule is GateRule.SECRET]
    assert [(each.detail, each.count, each.effect) for each in secrets] == (
        [found] if found else []
    )
    assert TOKEN not in repr(report)


def test_a_secret_that_was_moved_is_not_new() -> None:
    text = f"token = '{TOKEN}'\n"
    assert examine(delivery({"a.py": text}, {"b.py": text})) == GateReport()


def test_the_value_of_a_known_secret_is_refused_in_any_form() -> None:
    masker = Masker([Secret("DB", "correct horse battery")])
    for text in (
        "correct horse battery",
        "correct%20horse%20battery",
        "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5",
    ):
        given_ = replace(delivery({}, {"tests/a.txt": f"x {text} y\n"}), masker=masker)
        found = examine(given_).refusals
        assert [(each.rule, each.detail) for each in found] == [(GateRule.KNOWN_SECRET, "DB")]


@given(st.text(), st.text(), st.sampled_from(["src/a.go", "b.yml", "README.md", "x"]))
def test_a_token_is_found_wherever_it_stands(before: str, after: str, path: str) -> None:
    """And never told."""
    report = examine(delivery({}, {path: f"{before} {TOKEN}\n{after}"}))
    assert any(each.rule is GateRule.SECRET for each in report.refusals)
    assert TOKEN not in f"{report!r}{report.reason}"
