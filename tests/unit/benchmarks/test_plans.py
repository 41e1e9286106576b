"""The scenarios of the bench as they ship, and the page that tells what became of them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.plans import page
from benchmarks.plans.places import Places
from benchmarks.plans.scenario import scenarios
from benchmarks.plans.takings import Document, Result, Round, Taking
from shared.contracts.answers import RevisionAnswer
from shared.domain.config import Policy
from shared.domain.errors import Rejected

SHIPPED = scenarios()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_scenario_has_a_plan_and_an_answer_that_can_be_used(name: str) -> None:
    """Each is planned as a plan file is, and answered in the form that a model has to keep."""
    scenario = SHIPPED[name]
    plan = scenario.planned("anthropic", Policy())
    RevisionAnswer.model_validate(scenario.answer(Policy()))
    revised = [(each.command, each.check) for each in scenario.revised(Policy())]
    assert revised != [(each.command, each.check) for each in plan.steps[0].subtasks]


def test_there_are_enough_and_no_two_are_the_same() -> None:
    """At least 30, each under a title of its own, most of them classic faults."""
    titles = {each.title for each in SHIPPED.values()}
    assert len(titles) == len(SHIPPED) >= 30
    assert sum(each.classic for each in SHIPPED.values()) >= 30


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


def result(name: str, way: str, *solved: Round, calls: int = 0) -> Result:
    """A result of a scenario that took part in the rounds that it would have."""

    def takings() -> Iterator[tuple[Round, Taking]]:
        for round_ in Round:
            done = round_ in solved
            yield (
                round_,
                Taking(
                    solved=done,
                    attempts=2,
                    seconds=1.5,
                    corrections=("a_rule",) if done and round_ is Round.CORRECTIONS else (),
                    calls=calls if round_ is Round.MEMORY else int(round_ is Round.PLANNER),
                    tokens=1234,
                    reason="" if done else "it stays broken",
                ),
            )
            if (round_ is Round.CORRECTIONS and done) or (round_ is Round.PLANNER and not done):
                return

    return Result(
        name, f"title of {name}", "folder", classic=True, way=way, takings=dict(takings())
    )


def document(*results: Result, memory: bool = True) -> Document:
    """A run with those results."""
    return Document("2026-01-01", "scripted", memory, {"cores": "2"}, "", results)


def test_the_page_tells_the_shares_and_every_scenario() -> None:
    """Corrections count of all, the planner of the rest, memory of what the planner solved."""
    told = page.render(
        document(
            result("one", "corrections", Round.CORRECTIONS),
            result("two", "planner", Round.PLANNER, Round.MEMORY),
            result("three", "planner", Round.PLANNER, Round.MEMORY, calls=1),
            result("four", "person"),
        )
    )
    assert "| solved by corrections alone | 1 of 4 (25 %) |" in told
    assert "| solved by the planner, of the rest | 2 of 3 (67 %) |" in told
    assert "| … and the second time, on another host | 2 of 2 (100 %) |" in told
    assert "| … without a call of the planner | 1 of 2 (50 %) |" in told
    assert "| title of one | folder | **solved**, 2 att., 1.5 s | `a_rule` |  |  |" in told
    assert "1,234 tok." in told
    assert told.count("(expected: ") == 1
    assert "- three (expected: planner): nothing: it stays broken" in told


def test_what_is_not_as_expected_is_told_with_its_reason() -> None:
    """A plan that does without any correction shows that its host was not broken."""
    told = page.render(
        document(
            result("one", "planner"),
            result("two", "corrections", Round.NOTHING, Round.CORRECTIONS),
            memory=False,
        )
    )
    assert "- one (expected: planner): nothing: it stays broken" in told
    assert "- two (expected: corrections)" in told
    assert "| … and the second time, from memory | not available |" in told


def test_a_run_that_was_kept_gives_the_same_page(tmp_path: Path) -> None:
    """The page can be made again from the figures."""
    given = document(result("one", "corrections", Round.CORRECTIONS))
    given.write(tmp_path / "plans.json")
    assert page.render(Document.read(tmp_path / "plans.json")) == page.render(given)
