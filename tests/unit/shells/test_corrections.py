"""Every rule of the table against its cases: a failure, the host's answers, the proposal."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.passes.given import ScriptedProbe
from workers.roles.guards import Guards
from workers.shells.corrections.correction import FailedCommand
from workers.shells.corrections.table import BY_NAME, CORRECTIONS, HELD, choose

CASES = Path(__file__).parents[2] / "cases" / "corrections"


def cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted(CASES.glob("*.yaml"))
        for case in yaml.safe_load(path.read_text())
    ]


@pytest.mark.parametrize("case", cases())
def test_a_rule_proposes_what_its_case_says(case: dict[str, Any]) -> None:
    """The first rule of the table that proposes something, and its proposal, match the case."""
    failure = FailedCommand(**{"exit_code": 1, **case["failure"]})
    rules = HELD if case.get("held") else CORRECTIONS
    probe = ScriptedProbe(case.get("probe", {}))
    found = choose(failure, probe, used=case.get("used", ()), tried={failure.command}, rules=rules)
    expected = case["proposes"]
    if expected is None:
        assert found is None
        return
    assert found is not None
    rule, proposal = found
    got: dict[str, object] = {
        "rule": rule.name,
        "command": proposal.command,
        "first": list(proposal.first),
    }
    if proposal.until is not None:
        got["until"] = proposal.until
    if proposal.pause:
        got["pause"] = proposal.pause
    assert got == {"first": [], **expected}


def test_every_rule_has_a_case_that_it_proposes_in_and_one_that_it_does_not() -> None:
    """Every rule of the table has a case for it and a case against it."""
    proposing, declining = set(), set()
    for parameter in cases():
        case = parameter.values[0]
        if case["proposes"] is not None:
            proposing.add(case["proposes"]["rule"])
        declining |= set(case.get("not", ()))
    assert proposing == set(BY_NAME)
    assert declining == set(BY_NAME)


def test_a_case_that_names_a_rule_it_is_not_for_is_right_about_it() -> None:
    """A rule named under `not` does not apply, or has nothing to propose."""
    for parameter in cases():
        case = parameter.values[0]
        failure = FailedCommand(**{"exit_code": 1, **case["failure"]})
        for name in case.get("not", ()):
            rule = BY_NAME[name]
            probe = ScriptedProbe(case.get("probe", {}))
            proposed = rule.applies(failure) and rule.propose(failure, probe) is not None
            assert not proposed, (case["name"], name)


def test_a_correction_asks_nobody_where_the_plan_asks_nobody() -> None:
    """Under the policy that ships: what a person would have to see is left out, and so no help.

    Two are asked about rightly: one writes into the folder of a program that it then runs, one has
    half-installed packages run their own scripts.
    """
    guard = Guards()((), "web1")
    asking = set()
    for parameter in cases():
        case = parameter.values[0]
        proposed = case["proposes"]
        if proposed is None or not guard.judge(case["failure"]["command"]).allowed:
            continue
        text = "; ".join((*proposed.get("first", ()), proposed["command"]))
        if not guard.judge(text).allowed:
            asking.add(proposed["rule"])
    assert asking == {"dead_pid_file", "dpkg_configure"}


def test_rules_have_names_of_their_own_and_a_sentence_for_the_evidence() -> None:
    """Each name belongs to one rule, and each rule says what it tested (S0.69)."""
    rules = (*HELD, *CORRECTIONS)
    assert len(BY_NAME) == len(rules) >= 12
    assert all(rule.tested and not rule.tested.endswith(".") for rule in rules)


def test_no_rule_is_used_twice_and_no_text_runs_twice() -> None:
    """A rule that was used, or a command that was tried, is skipped in favour of the next rule."""
    failure = FailedCommand(
        "apt-get install -y nginx", 100, stderr="E: Failed to fetch http://x/y  404  Not Found"
    )
    probe = ScriptedProbe({})
    first = choose(failure, probe)
    assert first is not None
    assert first[0].name == "apt_update_fix_missing"
    second = choose(failure, probe, used={first[0].name})
    assert second is not None
    assert second[0].name == "apt_no_recommends"
    third = choose(failure, probe, tried={first[1].text})
    assert third is not None
    assert third[0].name == "apt_no_recommends"
