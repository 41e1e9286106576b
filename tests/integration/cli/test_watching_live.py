"""A task watched on a terminal: what runs and why something failed is on it at every moment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.asking import critical, plan_file
from tests.integration.cli.asking import lines as lines_of
from tests.integration.cli.calling import Cli
from tests.integration.cli.conftest import at_work
from tests.services.ring import eventually
from tests.services.watching import watched

CHOICE = "s show, l later: "
REST = "all of that (y/n): "
AHEAD = "or each when it asks (n): "
PASSPHRASE = (("New passphrase (empty for none): ", "\n"),)


@pytest.fixture
def working(coordinated: Cli, database_url: str, bare: Path) -> Iterator[Cli]:
    """The command line, and a worker with hands for four jobs at a time."""
    environ = {"HOME": str(bare), "REPLAN_DATABASE_URL": database_url}
    with at_work(environ, hands=4):
        yield coordinated


@pytest.mark.usefixtures("short_looks", "working")
@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])
def test_what_runs_and_why_it_failed_is_on_the_screen(
    hosts: list[str], tmp_path: Path, width: int, height: int
) -> None:
    """Five commands fail on two hosts while a sixth runs, and nothing of it leaves the screen."""
    go_on, plan = tmp_path / "go-on", tmp_path / "plan.yaml"
    failing = "".join(
        f"  - {{id: f{n}, title: Failing {n}, planner: human, parallel_group: all, "
        f"subtasks: [{{title: Look {n}, run: ls /nowhere/{n}}}]}}\n"
        for n in range(1, 6)
    )
    plan.write_text(
        f"steps:\n{failing}"
        "  - {id: runs, title: Goes on, parallel_group: all, subtasks: [{title: Wait for a file, "
        f"run: 'while ! test -e {go_on}; do sleep 0.1; done'}}]}}\n"
    )
    causes = [f"'/nowhere/{n}': No such file" for n in range(1, 6)]

    def tree(lines: list[str]) -> list[str]:
        begin = max((at for at, line in enumerate(lines) if "steps done" in line), default=0)
        return lines[begin:]

    def is_whole(lines: list[str]) -> bool:
        shown = "\n".join(tree(lines))
        both = all(shown.count(cause) == 2 for cause in causes)
        return both and shown.count("Wait for a file") == 2

    on = [word for host in hosts for word in ("--host", host)]
    words = ("task", "submit", "--plan", plan, *on, "--set", "error_threshold_per_step=1", "--wait")
    with watched(width, height, *words) as seen:
        try:
            frames = seen.until(is_whole)
        finally:
            go_on.touch()
        code, lines = seen.end()
    assert code == 3
    assert any(line.startswith("waits for you") for line in lines)
    kept: set[str] = set()
    for lines in frames:
        shown = "\n".join(tree(lines))
        assert len(lines) <= height
        assert {cause for cause in kept if cause not in shown} == set(), shown
        kept |= {cause for cause in causes if cause in shown}


@pytest.mark.usefixtures("short_looks")
def test_a_person_is_asked_in_place_and_the_run_goes_on(working: Cli, tmp_path: Path) -> None:
    """An answer that is none is asked for again; to deny and to put off are answers, too."""
    ledger = tmp_path / "ledger"
    asks = {"ask_question": "Which colour?", "ask_options": ["red", "blue"]}
    steps = [
        {**critical(f"echo one >> {ledger}"), "title": "First"},
        {**critical(f"echo two >> {ledger}"), "title": "Second", **asks},
        {**critical(f"echo never >> {ledger}"), "title": "Third", "planner": "human"},
        {**critical(f"echo later >> {ledger}"), "title": "Fourth", "on_failure": "continue"},
    ]
    plan = plan_file(tmp_path, *steps[:3])
    with watched(80, 24, "task", "submit", "--plan", plan, "--local", "--wait") as seen:
        for prompt, keys in (
            ("answer (empty: later): ", "green\n"),
            ("answer (empty: later): ", "2\n"),
            (AHEAD, "what?\n"),
            (AHEAD, "n\n"),
            (CHOICE, "s\n"),
            (CHOICE, "a\n"),
            *PASSPHRASE,
            (CHOICE, "t\n"),
            (CHOICE, "d\n"),
            ("(may be empty): ", "not today\n"),
        ):
            seen.asked(prompt)
            seen.type(keys)
        code, _ = seen.end()
    assert code == 3  # its planner is a person
    assert lines_of(ledger) == ["one", "two"]
    given = working.rows("SELECT scope, given_by FROM approvals ORDER BY id")
    assert [row.scope for row in given] == ["once", "task"]
    assert working.json("intervention", "show", "I1")["details"]["answer"] == "blue"

    ledger.unlink()
    whole = [{**critical(f"echo {number} >> {ledger}")} for number in range(3)]
    plan = plan_file(tmp_path, *whole)
    with watched(80, 24, "task", "submit", "--plan", plan, "--local", "--wait") as seen:
        for prompt, keys in (
            (AHEAD, "\n"),
            (CHOICE, "p\n"),
            ("all of that (y/n): ", "n\n"),
            (CHOICE, "p\n"),
            ("all of that (y/n): ", "y\n"),
        ):
            seen.asked(prompt)
            seen.type(keys)
        code, shown = seen.end()
    assert code == 0
    assert lines_of(ledger) == ["0", "1", "2"]

    plan = plan_file(tmp_path, steps[3])
    with watched(80, 24, "task", "submit", "--plan", plan, "--local", "--wait") as seen:
        seen.asked(AHEAD)
        seen.type("n\n")
        seen.asked(CHOICE)
        seen.type("l\n")
        code, shown = seen.end()
    assert code == 3
    assert "next: replan intervention show I" in " ".join(shown)


@pytest.mark.usefixtures("short_looks")
@pytest.mark.parametrize("ahead", [True, False])
def test_one_word_for_a_whole_plan_counts_on_every_host(
    working: Cli, tmp_path: Path, *, ahead: bool
) -> None:
    """Also where another host has asked before the word was given."""
    ledger = tmp_path / "ledger"
    working.json("host", "add", "here", "--local")
    step = critical(f"echo $PWD >> {ledger}")
    plan = plan_file(tmp_path, {**step, "title": "First"}, {**step, "title": "Second"})
    words = ("task", "submit", "--plan", plan, "--local", "--host", "here", "--wait")
    first = [(AHEAD, "y\n")] if ahead else [(AHEAD, "n\n"), (CHOICE, "p\n"), (REST, "y\n")]
    with watched(100, 30, *words) as seen:
        for prompt, keys in (*first, *PASSPHRASE):
            seen.asked(prompt)
            seen.type(keys)
        code, _ = seen.end()
    assert code == 0
    assert seen.written.count(CHOICE) == (0 if ahead else 1)
    assert len(lines_of(ledger)) == 4


def test_the_rest_of_a_plan_answers_what_waits_for_nothing_else(
    working: Cli, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    working.json("host", "add", "here", "--local")
    plan = plan_file(tmp_path, critical(f"echo $PWD >> {ledger}"))
    words = ("task", "submit", "--plan", plan, "--local", "--host", "here")
    ref = working.json(*words)["details"]["ref"]

    def waiting() -> list[str]:
        found = working.json("intervention", "list", ref)["details"]["interventions"]
        return [f"I{each['id']}" for each in found]

    eventually(lambda: len(waiting()) == 2, "both questions")
    working.json("intervention", "approve", waiting()[0], "--plan")
    assert working.json("task", "watch", ref)["details"]["phase"] == "done"
    assert len(lines_of(ledger)) == 2


@pytest.mark.usefixtures("short_looks")
def test_what_a_plan_will_ask_is_approved_before_it_asks(working: Cli, tmp_path: Path) -> None:
    """Exactly that, and once: what fails, or is not of the plan, asks as ever."""
    ledger, fails = tmp_path / "ledger", tmp_path / "fails"
    steps: list[dict[str, object]] = [
        {"subtasks": [{"run": f"echo free >> {ledger}"}]},
        critical(f"echo one >> {ledger}"),
        critical(f"echo two >> {ledger}"),
        {**critical(f"test -e {fails}"), "planner": "human"},
    ]
    plan = plan_file(tmp_path, *steps[:3])
    with watched(80, 24, "task", "submit", "--plan", plan, "--local", "--wait") as seen:
        for prompt, keys in ((AHEAD, "y\n"), *PASSPHRASE):
            seen.asked(prompt)
            seen.type(keys)
        code, _ = seen.end()
    assert "T1 may ask you about 2 commands of its plan" in seen.written
    assert "note:" not in seen.written, "what is offered is not told twice"
    assert CHOICE not in seen.written
    assert code == 0
    assert lines_of(ledger) == ["free", "one", "two"]

    plan = plan_file(tmp_path, steps[3])
    with watched(80, 24, "task", "submit", "--plan", plan, "--local", "--wait") as seen:
        seen.asked(AHEAD)
        seen.type("y\n")
        if seen.asks(CHOICE):
            seen.type("l\n")
        code, _ = seen.end()
    assert code == 3
    assert working.rows("SELECT count(*) AS n FROM approvals WHERE task_id = 2")[0].n == 1

    plan = plan_file(tmp_path, steps[0])
    with watched(80, 24, "task", "submit", "--plan", plan, "--local", "--wait") as seen:
        assert seen.end()[0] == 0
    assert AHEAD not in seen.written
