"""The rules, line by line: what exactly is hidden, and what is left alone."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.secrets.masking import Masker
from shared.secrets.rule import MaskRule
from shared.secrets.rules import RULES

CASES: dict[str, list[Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases/secrets/by_form.yaml").read_text(encoding="utf-8")
)
MASKER = Masker()
MASK = re.compile(r"‹masked:[a-z-]+›")


@pytest.mark.parametrize("case", CASES["secrets"])
def test_the_secret_is_hidden_and_nothing_else(case: str) -> None:
    masked = MASKER.text(case.replace("«", "").replace("»", ""))
    assert MASK.sub("…", masked) == re.sub("«.*»", "…", case)


@pytest.mark.parametrize("line", CASES["benign"])
def test_a_harmless_line_is_left_alone(line: str) -> None:
    assert MASKER.text(f"{line}\n") == f"{line}\n"


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("password=one password=two", "password=‹masked:password› password=‹masked:password›"),
        ("password=‹secret:DB›", "password=‹secret:DB›"),
        ("password=‹secret:DB›tail", "password=‹masked:password›"),
        ("‹secret:DB›token=abc12345", "‹secret:DB›token=‹masked:token›"),
        ("\x1b[31mpassword=\x1b[0mabc1", "\x1b[31mpassword=‹masked:password›"),
    ],
)
def test_masks_and_what_stands_beside_them(line: str, masked: str) -> None:
    assert MASKER.text(line) == masked


LINES = [
    *(case.replace("«", "").replace("»", "") for case in CASES["secrets"]),
    *CASES["benign"],
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.triggers[0].decode())
def test_a_pattern_matches_nothing_without_one_of_its_triggers(rule: MaskRule) -> None:
    """Else lines would be passed over that it would have found."""
    for line in LINES:
        for found in rule.pattern.finditer(line.encode()):
            assert any(trigger in found[0].lower() for trigger in rule.triggers) or any(
                trigger in line.encode().lower() for trigger in rule.triggers
            )
    assert all(trigger == trigger.lower() for trigger in rule.triggers)


@given(
    st.lists(st.sampled_from(LINES), max_size=4), st.sampled_from([" ", "", "\t", ",", "&", "'"])
)
@settings(max_examples=300, deadline=None)
def test_lines_that_run_together_are_masked_once_and_for_all(
    lines: list[str], between: str
) -> None:
    once = MASKER.text(between.join(lines))
    assert MASKER.text(once) == once


@pytest.mark.parametrize(
    "line",
    [
        "password=" * 5_000,
        "a" * 60_000 + "@",
        "://" + "a" * 30_000 + ":" * 30_000,
        "pass" + "_new" * 15_000,
        "curl " + "-" * 60_000,
        "mysql " * 10_000,
        "authorization: " * 4_000,
        "eyJ" * 20_000,
        "password='" + "\\" * 60_000,
        "-----BEGIN PRIVATE KEY-----" * 2_000,
        "echo a |" * 7_000,
        "docker login " * 4_000,
    ],
    ids=lambda line: line[:12],
)
@pytest.mark.timeout(20)
def test_no_line_takes_for_ever(line: str) -> None:
    masked = MASKER.text(line)
    assert MASKER.text(masked)
