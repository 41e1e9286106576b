"""The protocol for work without a person (S4.16–S4.20)."""

import re

import pytest

from shared.domain.agent import AgentWork, ExecutionMode
from workers.agents.compliance import Conduct, judge
from workers.agents.handoff import HANDOFF_FILE
from workers.agents.protocol import PLACEHOLDER, VERSION, fill, is_injected, shipped_protocol


def test_the_shipped_text_names_its_version_and_has_one_place_for_the_budget() -> None:
    text = shipped_protocol()
    assert re.match(r"# Autonomous mode, version (\d+)\n", text)[1] == str(VERSION)  # type: ignore[index]
    assert text.count(PLACEHOLDER) == 1


def test_s4_39_an_agent_is_told_where_to_document_its_decisions_and_under_which_name() -> None:
    """What is judged at the end must have been asked for."""
    told = fill(shipped_protocol(), 60, "db-schema")
    assert f"`{HANDOFF_FILE}`" in told
    assert "`db-schema`" in told
    work = AgentWork(mode=ExecutionMode.AUTONOMOUS)
    assert judge(work, Conduct("db-schema", 0, "# db-schema", 1)).violations == ()


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
