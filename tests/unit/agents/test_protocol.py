"""The protocol for work without a person (S4.16–S4.20)."""

import re

import pytest

from workers.agents.protocol import PLACEHOLDER, VERSION, fill, is_injected, shipped_protocol


def test_the_shipped_text_names_its_version_and_has_one_place_for_the_budget() -> None:
    text = shipped_protocol()
    assert re.match(r"# Autonomous mode, version (\d+)\n", text)[1] == str(VERSION)  # type: ignore[index]
    assert text.count(PLACEHOLDER) == 1


@pytest.mark.parametrize(
    ("seconds", "minutes"), [(3600, "60"), (2700, "45"), (1, "1"), (90.0, "2")]
)
def test_the_budget_is_told_in_minutes(seconds: float, minutes: str) -> None:
    assert fill(f"You have {PLACEHOLDER} minutes.", seconds) == f"You have {minutes} minutes."


@pytest.mark.parametrize("autonomous", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("prepend", [True, False])
def test_it_is_given_only_when_all_three_say_so(
    autonomous: bool, enabled: bool, prepend: bool
) -> None:
    given = is_injected(autonomous=autonomous, enabled=enabled, prepend_protocol=prepend)
    assert given is all((autonomous, enabled, prepend))
