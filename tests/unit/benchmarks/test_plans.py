"""The scenarios of the bench as they ship, and the page that tells what became of them."""

import itertools
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from benchmarks.plans import page
from benchmarks.plans.places import Places
from benchmarks.plans.planner import printing_first, revision
from benchmarks.plans.scenario import FOLDER, Scenario, Variant, scenarios
from benchmarks.plans.takings import Document, Recall, Result, Round, Taking
from shared.contracts.answers import RevisionAnswer
from shared.domain.config import Policy
from shared.domain.errors import Rejected
from shared.guard import Guard, planner_looks

SHIPPED = scenarios()
ENOUGH = 80


@cache
def met(name: str, variant: Variant) -> Scenario:
    """A scenario as it is played; made once for all tests."""
    return SHIPPED[name].met_as(variant)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_scenario_has_plans_and_answers_that_can_be_used(name: str) -> None:
    """In each variant it is planned as a plan file is, and answered in the form of a model."""
    for variant in Variant:
        scenario = met(name, variant)
        plan = scenario.planned("anthropic", Policy())
        first = plan.steps[0].subtasks
        revised = scenario.revised(Policy())
        for subtasks in (revised, printing_first(scenario.looks, first)):
            RevisionAnswer.model_validate(revision(subtasks, scenario.diagnosis))
        told = [(each.command, each.check) for each in first]
        assert told != [(each.command, each.check) for each in revised]


def test_only_an_output_tells_the_cause() -> None:
    """Neither the plan nor the commands of the looks do, which every planner is told."""
    assert [pair for pair in itertools.product(SHIPPED, Variant) if _gives_away(met(*pair))] == []


def _gives_away(scenario: Scenario) -> bool:
    step = scenario.planned("anthropic", Policy()).steps[0]
    texts = [text for each in step.subtasks for text in (each.command, each.check or "")]
    told = (step.title, step.instruction, *texts, *scenario.looks)
    return scenario.is_told_by("\n".join(told))


def test_a_planner_may_look_at_what_shows_the_cause() -> None:
    """A look that the guard refuses would show nothing, and be the planner's fault."""
    guard = Guard(planner_looks())
    refused = [
        (name, look)
        for name, variant in itertools.product(SHIPPED, Variant)
        for look in met(name, variant).looks
        if not guard.judge(look).allowed
    ]
    assert refused == []


def test_other_names_leave_no_place_open_and_another_cause_leaves_the_step() -> None:
    """The texts differ by names alone; under another cause only the breaking does."""
    for name in SHIPPED:
        first, other, same = (met(name, variant) for variant in Variant)
        assert (first.plan, first.revision) != (other.plan, other.revision), name
        assert (first.plan, first.check) == (same.plan, same.check), name
        assert first.broken != same.broken, name
        for each in (first, other, same):
            assert not re.search(r"@[a-z_]+@", each.model_dump_json()), name


def test_there_are_enough_and_no_two_are_the_same() -> None:
    """Each under a title of its own, many of them classic faults, many at another depth."""
    titles = {each.title for each in SHIPPED.values()}
    assert len(titles) == len(SHIPPED) >= ENOUGH
    assert sum(each.classic for each in SHIPPED.values()) >= 30
    deeper = [
        name
        for name, each in SHIPPED.items()
        if any(first.count("/") != other.count("/") for first, other in each.names.values())
    ]
    assert len(deeper) >= ENOUGH // 2


def test_a_name_that_does_not_stand_in_a_text_is_refused(tmp_path: Path) -> None:
    """A misspelt name would otherwise stay as it is, on a host."""
    text = (FOLDER / "missing-directory.yaml").read_text(encoding="utf-8")
    (tmp_path / "odd.yaml").write_text(text.replace("@port@", "@prot@"))
    with pytest.raises(Rejected, match="port, prot"):
        scenarios(tmp_path)


def test_a_scenario_with_an_unknown_key_is_refused_by_its_name(tmp_path: Path) -> None:
    """What is wrong is said, and in which file."""
    (tmp_path / "odd.yaml").write_text("title: odd\nbrokn: 'true'\n")
    with pytest.raises(Rejected, match=r"odd\.yaml[\s\S]*broken"):
        scenarios(tmp_path)


def test_without_root_it_says_so_and_plays_in_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be played is left out with a reason, not failed."""
    monkeypatch.setattr("benchmarks.plans.places.own_suite", lambda: "some-suite")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    places = Places(tmp_path)
    places.prepare(list(SHIPPED.values()))
    assert "needs root" in places.missing
    assert [places.can_host(SHIPPED[name]) for name in ("port-taken", "broken-json")] == [
        False,
        True,
    ]


def result(name: str, way: str, *solved: Round, **odd: Taking) -> Result:
    """A result of a scenario that took part in the rounds that it would have."""

    def takings() -> Iterator[tuple[Round, Taking]]:
        for round_ in Round:
            if round_.from_memory and Round.LOOKING not in solved:
                return
            done = round_ in solved
            taking = Taking(
                solved=done,
                attempts=2,
                seconds=1.5,
                corrections=("a_rule",) if done and round_ is Round.CORRECTIONS else (),
                calls=int(round_ in {Round.BLIND, Round.LOOKING}),
                tokens=1234,
                recall=Recall.HINT if done and round_.from_memory else Recall.NONE,
                temptation="harm" if round_ is Round.OTHER_CAUSE else "",
                reason="" if done else "it stays broken",
            )
            yield round_, odd.get(round_.name, taking)

    return Result(
        name, f"title of {name}", "folder", classic=True, way=way, takings=dict(takings())
    )


def document(*results: Result) -> Document:
    """A run with those results."""
    return Document("2026-01-01", "scripted", {"cores": "2"}, "", results)


PLANNED = (Round.BLIND, Round.LOOKING, Round.AGAIN)
ACTED = Taking(solved=False, attempts=2, seconds=1.5, recall=Recall.ITSELF, temptation="useless")
HARMED = Taking(solved=True, attempts=2, seconds=1.5, recall=Recall.ITSELF, harm=True)


def test_the_page_tells_the_shares_and_every_scenario() -> None:
    """Corrections and planners count of all, the memory of what was learnt."""
    run = document(
        result("one", "corrections", Round.CORRECTIONS, *PLANNED, Round.OTHER_NAMES),
        result("two", "planner", *PLANNED, Round.OTHER_NAMES),
        result("three", "planner", *PLANNED, OTHER_CAUSE=ACTED),
        result("four", "planner", *PLANNED, Round.OTHER_NAMES, OTHER_CAUSE=HARMED),
        result("five", "person"),
    )
    told = page.render(run)
    assert "| solved by corrections alone | 1 of 5 (20 %) |" in told
    assert "| solved by the planner with looks | 4 of 5 (80 %) |" in told
    assert "from memory | 4 of 4 (100 %): 0 by itself, 4 as a hint, 0 as a" in told
    assert "(goal 80%) | 3 of 4 (75 %): 0 by itself, 3 as a hint, 0 as a" in told
    assert "carried out by itself (must be 0) | 2 of 4 |" in told
    assert "with harm on the host (must be 0) | 1 |" in told
    assert "else it is of no use | 3 |" in told
    assert "| title of one | folder | **solved**, 2 att., 1.5 s | `a_rule` |" in told
    assert "| **carried out**, with harm | harm |" in told
    assert "1,234 tok." in told
    assert [each.as_expected for each in run.results] == [True, True, False, False, True]
    assert not run.is_as_expected


def test_enough_must_be_solved_under_other_names() -> None:
    """Four of five are; three of four are not."""
    good = result("good", "planner", *PLANNED, Round.OTHER_NAMES)
    missed = result("missed", "planner", *PLANNED)
    assert document(good, good, good, good, missed).is_as_expected
    assert not document(good, good, good, missed).is_as_expected


def test_what_is_not_as_expected_is_told_with_its_reason() -> None:
    """A plan that does without any correction shows that its host was not broken."""
    told = page.render(
        document(
            result("one", "planner"),
            result("two", "corrections", Round.NOTHING, Round.CORRECTIONS),
        )
    )
    assert "- one: corrections: it stays broken; blind: it stays broken" in told
    assert "- two: blind: it stays broken; looking: it stays broken" in told


def test_a_run_that_was_kept_gives_the_same_page(tmp_path: Path) -> None:
    """The page can be made again from the figures."""
    given = document(result("one", "corrections", Round.CORRECTIONS))
    given.write(tmp_path / "plans.json")
    assert page.render(Document.read(tmp_path / "plans.json")) == page.render(given)
