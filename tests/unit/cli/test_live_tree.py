"""The live view of a task: whatever the size of the terminal, what runs is on it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from orchestrator.cli.live_rows import Page
from orchestrator.cli.live_tree import draw
from orchestrator.cli.streams import as_written
from orchestrator.core.intervention_kind import InterventionKind
from orchestrator.views.interventions import InterventionView
from orchestrator.views.live import LiveTask, OpenJob
from shared.domain.ids import Ref
from shared.domain.jobs import JobKind
from shared.domain.next_step import NextStep
from shared.domain.task import StepPhase
from tests.unit.cli.live_tasks import BEGAN, NOW, Step, live

P = StepPhase
DONE = [Step(f"Step number {number}", P.DONE) for number in range(1, 21)]
TO_COME = [Step(f"Later {number}", P.NOT_STARTED) for number in range(1, 21)]
WRITING = Step(
    "Install nginx",
    running=[("Unpack it", "apt-get install -y nginx", [f"part {n}" for n in range(1, 31)])],
    failed=[("Refresh", "apt update", "E: Unable to locate package nginx")],
)
STOPPED = Step(
    "Configure",
    P.WAITING,
    failed=[
        ("Link", "ln -s /a /b", "ln: File exists"),
        ("Start", "systemctl start nginx", "Job for nginx.service failed."),
    ],
)
ASKS = InterventionView(
    id=18,
    ref=Ref(7, 2, target="web1"),
    kind=InterventionKind.APPROVAL,
    stage="guard",
    reason="logrotate --state: the option is not allowed",
    next_steps=(NextStep.of("intervention approve", "I18"),),
    opened_at=BEGAN,
    closed_at=None,
)


def lines(shown: LiveTask, width: int = 80, height: int = 23, encoding: str = "utf-8") -> list[str]:
    """The lines that are drawn."""

    class Stream:
        def __init__(self) -> None:
            self.encoding = encoding

    stream = Stream()
    page = Page(width, height, written=lambda text: as_written(text, stream))
    return [line.plain for line in draw(shown, page)]


def test_what_is_done_or_to_come_is_folded_and_what_runs_is_not() -> None:
    assert lines(live({"web1": [*DONE, WRITING, STOPPED, *TO_COME]}), height=10) == [
        "T7 running on web1  set up the hosts        20 of 42 steps done, 3 errors, 9.0 s",
        "✓ 20 steps done",
        "⠋ 21 Install nginx                              1 of 3 done, 1 error of 4, 9.0 s",
        "  ✗ E: Unable to locate package nginx  Refresh, exit code 100: apt update",
        "  ⠋ Unpack it  apt-get install -y nginx                                    2.0 s",
        "    │ part 30",
        "! 22 Configure                                                     2 errors of 4",
        "  ✗ ln: File exists  Link, exit code 100: ln -s /a /b",
        "  ✗ Job for nginx.service failed.  Start, exit code 100: systemctl start nginx",
        "· 20 steps to come",
    ]


def test_a_tall_terminal_shows_each_step_that_is_done_and_more_output() -> None:
    shown = lines(live({"web1": [*DONE, WRITING]}), 200, 49)
    done = [line.split("  ")[0] for line in shown if line.startswith("✓")]
    assert done == [f"✓ {number} Step number {number}" for number in range(1, 21)]
    assert sum("│ part" in line for line in shown) == 8


def test_each_target_has_a_line_and_those_that_are_done_are_folded() -> None:
    hosts = {f"web{number}": [Step("All", P.DONE)] for number in range(1, 31)}
    shown = lines(live({**hosts, "db1": [WRITING], "db2": TO_COME}), height=12)
    assert shown[1].startswith("db1 ")
    assert shown[2].startswith("  ⠋ 1 Install nginx")
    assert shown[-2:] == ["✓ 30 targets done", "· 1 target to come"]


def test_what_waits_for_a_person_says_why_and_its_name() -> None:
    steps = [WRITING, Step("Rotate", P.WAITING)]
    shown = lines(live({"web1": steps}, interventions=[ASKS]), height=7)
    assert "  ! logrotate --state: the option is not allowed" in shown
    assert shown[-2].endswith("I18 waits for you")
    shortest = lines(live({"web1": steps}, interventions=[ASKS]), height=4)
    assert shortest[-1].startswith("! 2 logrotate --state: the option is not allowed")
    assert shortest[-1].endswith("I18")


def test_planners_are_seen_at_work() -> None:
    planning = [OpenJob(JobKind.PLAN, Ref(7), held=True, since=BEGAN)]
    assert lines(live({}, jobs=planning))[1] == f"⠋ its planner plans{'9.0 s':>61}"
    revising = [OpenJob(JobKind.REVISE, Ref(7, 1, target="web1"), held=True, since=BEGAN)]
    (_, step, *_) = lines(live({"web1": [Step("Mend", P.REPLANNING)]}, jobs=revising))
    assert step.startswith("⠋ 1 Mend  its planner revises it")
    waiting = [OpenJob(JobKind.EXECUTE, Ref(7, 1, target="web1"), held=False, since=BEGAN)]
    (_, step, *_) = lines(live({"web1": [Step("Go", P.READY)]}, jobs=waiting))
    assert step.startswith("⠋ 1 Go  waits for a worker")
    later = [replace(waiting[0], until=NOW + timedelta(seconds=2))]
    (_, step, *_) = lines(live({"web1": [Step("Go", P.READY)]}, jobs=later))
    assert step.startswith("⠋ 1 Go  runs in 2 s")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_that_lacks_the_signs_gets_others_and_the_lines_still_fit(encoding: str) -> None:
    shown = lines(live({"web1": [*DONE, WRITING, STOPPED]}), encoding=encoding)
    assert "ok 20 steps done" in shown
    assert any(line.startswith("| 21 Install nginx") for line in shown)
    assert all(len(line.encode(encoding)) <= 80 for line in shown)


def test_more_than_a_screen_at_work_is_counted() -> None:
    many = live({f"web{number}": [Step(f"Step of {number}")] for number in range(1, 31)})
    *shown, rest = lines(many, height=5)
    assert [line.split("  ")[0] for line in shown] == [
        f"⠋ web{number} 1 Step of {number}" for number in range(1, 5)
    ]
    assert rest == "· and 26 more at work"


TITLES = st.sampled_from(
    ["Go", "x" * 90, "漢字 🙂 wide " * 9, "\x1b[2Jclear\u202e", "a\nb\tc", "é…✓", "", " "]
)
RUNNING = st.tuples(TITLES, TITLES, st.lists(TITLES, max_size=9))
STEPS = st.builds(
    Step,
    TITLES,
    st.sampled_from(P),
    st.just(()),
    st.lists(st.tuples(TITLES, TITLES, TITLES), max_size=3),
    TITLES,
) | st.builds(Step, TITLES, st.just(P.RUNNING), st.lists(RUNNING, min_size=1, max_size=3))
TASKS = st.lists(st.lists(STEPS, max_size=5), max_size=3)


@given(TASKS, st.integers(1, 120), st.integers(1, 60), st.sampled_from(["utf-8", "latin-1"]))
def test_nothing_is_ever_larger_than_the_terminal(
    runs: Sequence[Sequence[Step]], width: int, height: int, encoding: str
) -> None:
    shown = live({f"web{number}": steps for number, steps in enumerate(runs, start=1)})
    drawn = lines(shown, width, height, encoding)
    assert len(drawn) <= height
    assert all(cell_len(line) <= width and "\n" not in line for line in drawn)


@given(
    st.lists(st.lists(STEPS, max_size=5), max_size=3).map(
        lambda runs: [
            [numbered(step, f"{r}-{s}") for s, step in enumerate(steps)]
            for r, steps in enumerate(runs)
        ]
    ),
    st.integers(1, 60),
)
def test_whatever_runs_is_on_the_screen_if_it_has_a_line_for_each(
    runs: Sequence[Sequence[Step]], height: int
) -> None:
    expected = [title for steps in runs for step in steps for title, _, _ in step.running]
    at_work = sum(
        max(1, len(step.running))
        for steps in runs
        for step in steps
        if step.phase in {P.RUNNING, P.READY, P.DETAILING, P.REPLANNING, P.ACCEPTING}
    )
    shown = live({f"web{number}": steps for number, steps in enumerate(runs, start=1)})
    drawn = "\n".join(lines(shown, 80, max(height, at_work, 1)))
    assert all(title in drawn for title in expected)


def numbered(step: Step, number: str) -> Step:
    """The same step, with titles that tell what runs apart."""
    running = [
        (f"<{number}-{at}>", command, output)
        for at, (_, command, output) in enumerate(step.running)
    ]
    return Step(step.title, step.phase, running, step.failed, step.reason)
