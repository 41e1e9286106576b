"""What the rules know of lines that they were not made from, and what they leave alone there."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.secrets.masking import Masker

CASES = Path(__file__).parents[2] / "cases/secrets"
MASKER = Masker()
SETS = pytest.mark.parametrize("name", ["second_set", "third_set"])


def rows(name: str) -> dict[str, list[Any]]:
    """The lines of a set."""
    read: dict[str, list[Any]] = yaml.safe_load((CASES / f"{name}.yaml").read_text("utf-8"))
    return read


@SETS
def test_the_secrets_are_hidden(name: str) -> None:
    found = rows(name)["secrets"]
    assert len(found) >= 40
    assert [
        each["line"]
        for each in found
        if each["secret"] not in each["line"] or each["secret"] in MASKER.text(each["line"] + "\n")
    ] == []


@SETS
def test_harmless_lines_are_as_they_were(name: str) -> None:
    found = rows(name)["benign"]
    assert len(found) >= 40
    assert [line for line in found if MASKER.text(line + "\n") != line + "\n"] == []
