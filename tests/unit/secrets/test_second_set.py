"""What the rules know of lines that they were not made from, and what they leave alone there."""

from pathlib import Path
from typing import Any

import yaml

from shared.secrets.masking import Masker

SET: dict[str, list[Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases/secrets/second_set.yaml").read_text(encoding="utf-8")
)
MASKER = Masker()


def test_the_secrets_are_hidden() -> None:
    assert len(SET["secrets"]) >= 40
    assert [
        each["line"]
        for each in SET["secrets"]
        if each["secret"] not in each["line"] or each["secret"] in MASKER.text(each["line"] + "\n")
    ] == []


def test_harmless_lines_are_as_they_were() -> None:
    assert len(SET["benign"]) >= 40
    assert [line for line in SET["benign"] if MASKER.text(line + "\n") != line + "\n"] == []
