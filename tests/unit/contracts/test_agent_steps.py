"""What the work of an agent needs: a repository, a runner that it allows, and a check."""

from dataclasses import replace

import pytest

from shared.contracts.agent_steps import settle
from shared.domain.agent import AgentWork, RunnerChoice
from shared.domain.errors import Rejected
from shared.domain.plan import Subtask, SubtaskKind
from shared.domain.target import Repository
from shared.guard import Guard, load_site

APP = Repository("app", "localhost", path="/srv/app", checks=("npm test",))
SITE = Repository("site", "localhost", path="/srv/site", runners=("claude-code",))
MEND = Subtask(1, "mend", "Mend it", "mend it", kind=SubtaskKind.AGENT, agent=AgentWork())


def with_runner(*choices: RunnerChoice) -> Subtask:
    return replace(MEND, agent=AgentWork(runners=choices))


def only_with_tools(runner: str) -> Subtask:
    return replace(MEND, agent=AgentWork(runner=runner, allowed_tools=("Edit",)))


def test_a_list_of_tools_is_for_a_runner_that_keeps_to_it() -> None:
    assert settle(only_with_tools("claude-code"), {"app": APP}).agent is not None


def test_an_agent_without_a_check_gets_that_of_its_repository() -> None:
    assert settle(MEND, {"app": APP}).check == "npm test"
    own = replace(MEND, check="make check")
    assert settle(own, {"app": APP}) == own
    command = Subtask(1, "look", "Look", "ls")
    assert settle(command, {"app": APP}) == settle(command, {"web1": None}) == command


@pytest.mark.parametrize(
    ("checks", "check"),
    [
        ((), None),
        (("a  ; b",), "a  ; b"),
        (("npm test -- --ci", "ruff check ."), "npm test -- --ci && ruff check ."),
        (("make x # all", "a || b"), "{ make x # all\n} && { a || b\n}"),
    ],
)
def test_several_checks_are_one_that_is_green_if_all_are(
    checks: tuple[str, ...], check: str | None
) -> None:
    assert replace(APP, checks=checks).check == check


def test_the_guard_reads_a_check_of_several_as_what_it_is() -> None:
    both = replace(APP, checks=("true; true", "shutdown now")).check or ""
    verdict = Guard(load_site(None).for_host()).explain(both).verdict
    assert verdict.denied


@pytest.mark.parametrize(
    ("subtask", "places", "words"),
    [
        (MEND, {"web1": None}, "name one as the `repository` of the step, or as the target"),
        (MEND, {"site": SITE}, "has no check, nor has repository 'site': give it a `check`"),
        (MEND, {"app": APP, "site": SITE}, "repositories 'app' and 'site' have different ones"),
        (with_runner(RunnerChoice("codex", 1)), {"site": SITE}, "allows claude-code"),
        (with_runner(RunnerChoice("codx", 1)), {"app": APP}, "did you mean 'codex'"),
        (with_runner(RunnerChoice("acp", 1)), {"app": APP}, "without the `command`"),
        (only_with_tools("codex"), {"app": APP}, "the runner 'codex' cannot keep to"),
        (MEND, {"app": replace(APP, runners=("acp",))}, "names no runner, and those that"),
    ],
)
def test_what_nobody_could_do_is_refused_in_its_place(
    subtask: Subtask, places: dict[str, Repository | None], words: str
) -> None:
    with pytest.raises(Rejected, match=r"^step 'one': subtask 'mend' ") as refused:
        settle(subtask, places, where="step 'one'")
    assert words in refused.value.reason
    assert refused.value.next_step is not None


def test_a_file_of_tasks_has_no_checks() -> None:
    """S4.59: it is older than they are."""
    assert settle(MEND, {"site": SITE}, needs_check=False) == MEND
