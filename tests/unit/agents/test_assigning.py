"""What an agent reads about the attempt before it."""

from dataclasses import replace

from shared.domain.agent import AgentWork
from shared.domain.attempt import AgentResult, AgentStatus, Attempt
from shared.domain.plan import SubtaskKind
from tests.unit.passes.given import NOON, attempt, order, subtask
from workers.agents.assigning import Assigning, earlier_work
from workers.passes.means import Try


def made(summary: str, changed: tuple[str, ...]) -> Attempt:
    """An attempt of an agent whose reason repeats its summary."""
    result = AgentResult(AgentStatus.ERROR, summary, NOON, NOON, changed, runner="codex")
    return replace(attempt(reason=f"the agent says error: {summary}"), result=result)


def test_the_next_runner_reads_what_the_last_one_did() -> None:
    assert earlier_work(made("half of it", ("a.py", "b.py"))) == (
        "It was made by codex. It ended so: the agent says error: half of it\n"
        "Its own summary: half of it\n"
        "It changed: a.py, b.py"
    )


def test_much_work_is_told_in_part() -> None:
    """The task must fit into the script that starts the runner, whatever came before."""
    names = tuple(f"generated/{number:06}.py" for number in range(20_000))
    told = earlier_work(made("ö" * 50_000, names))
    assert len(told.encode()) < 40_000
    ended, summary, changed = told.splitlines()
    assert ended.endswith("… (46022 more characters)")
    assert summary.endswith("… (46000 more characters)")
    listed = changed.removeprefix("It changed: ").split(", ")
    assert listed[:-1] == list(names[: len(listed) - 1])
    assert listed[-1] == f"{len(names) - len(listed) + 1} more"


def test_a_name_that_is_too_long_is_counted_only() -> None:
    assert earlier_work(made("", ("x" * 5000, "b.py"))).endswith("It changed: 2 more")


def test_a_task_knows_what_agents_did_at_it_in_this_revision() -> None:
    """Each attempt once, also those that this driver has made."""
    before = replace(made("1", ()), key="a", pass_no=1)
    own = replace(made("2", ()), key="b", pass_no=2)
    new = replace(made("3", ()), key="c", pass_no=2)
    others = (replace(before, key="d", revision=1), replace(before, key="e", subtask=2))
    undone = replace(before, key="f", rollback=True)
    work = subtask("mend it", kind=SubtaskKind.AGENT, agent=AgentWork(runner="codex"))
    what = order(work, earlier=(before, *others, undone, own), pass_no=2)
    assigning = Assigning(what, runner="codex")
    assigning.note(new)
    task = assigning.task(what.subtasks[0], Try("mend it"))
    assert task.earlier == (before.result, own.result, new.result)


def test_a_revised_goal_goes_on_from_the_last_agent_of_the_step_whatever_its_number() -> None:
    """The workspace holds its work; an agent beside it in the same revision does other work."""
    old = replace(made("of revision 0", ()), key="a", subtask=1)
    beside = replace(made("other work", ()), key="b", subtask=1, revision=1)
    own = replace(made("of revision 1", ()), key="c", subtask=2, revision=1)
    work = subtask("mend it", "s2", kind=SubtaskKind.AGENT, agent=AgentWork(runner="codex"))
    revised = order("first", work, earlier=(old, beside), revision=1)

    def told(assigning: Assigning) -> str:
        return assigning.task(revised.subtasks[1], Try("mend it")).assignment.earlier

    first = Assigning(revised, runner="codex")
    assert "Its own summary: of revision 0" in told(first)
    first.note(own)
    assert "Its own summary: of revision 1" in told(first)
