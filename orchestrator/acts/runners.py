"""What a person may ask about the runners of this machine."""

from collections.abc import Iterable, Iterator

from orchestrator.acts.caller import Caller
from orchestrator.doctor import Finding
from orchestrator.probes.runners import try_runners
from orchestrator.words.runners import INSTALL, describe_missing, describe_runner
from shared.domain.errors import ReplanError
from shared.domain.host import LOCALHOST
from shared.domain.next_step import NextStep, ShellCommand
from shared.domain.runner_report import RunnerReport, RunnerState
from shared.domain.target import Repository
from shared.store import repositories

_WRONG = frozenset({RunnerState.FAILS, RunnerState.SILENT})


def has_repository_here(caller: Caller) -> bool:
    """Whether agents may have to work on this machine; False if the database cannot say it."""
    return bool(_here(caller))


def examine_runners(caller: Caller) -> Iterator[Finding]:
    """Try the runners of this machine; never raises for what it finds.

    A missing one is wrong only if a repository on this machine allows no runner that is there.
    """
    try:
        reports = try_runners()
    except ReplanError as error:
        again = NextStep.of("doctor", runners=True)
        yield Finding("runners", False, error.reason, error.next_step or again)
        return
    for each in reports:
        if each.state is not RunnerState.MISSING:
            wrong = each.state in _WRONG
            step = ShellCommand(INSTALL[each.program]) if wrong else None
            yield Finding(f"runner {each.name}", not wrong, describe_runner(each), step)
    missing = [each for each in reports if each.state is RunnerState.MISSING]
    if missing:
        lacking = tuple(_lacking(_here(caller), reports))
        told = describe_missing(missing)
        if lacking:
            told += f"; {', '.join(lacking)} can be worked in by none that is there"
        step = ShellCommand(INSTALL[missing[0].program]) if lacking else None
        yield Finding("runners", not lacking, told, step)


def _lacking(here: Iterable[Repository], reports: Iterable[RunnerReport]) -> Iterator[str]:
    """The repositories that allow only known runners, of which none is there."""
    there = {each.runner: each.state is not RunnerState.MISSING for each in reports}
    there["acp"] = True  # any program may be one
    for repository in here:
        allowed = there if repository.runners is None else repository.runners
        if not any(there.get(runner, True) for runner in allowed):
            yield repository.name


def _here(caller: Caller) -> tuple[Repository, ...]:
    try:
        with caller.database.begin() as connection:
            listed = repositories.all_repositories(connection)
    except ReplanError:
        return ()
    return tuple(each for each in listed if each.host == LOCALHOST.name)
