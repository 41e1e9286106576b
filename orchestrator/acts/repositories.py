"""What a person may do with repositories: add them, check them, remove them."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.access import audit
from orchestrator.access.audit import Act
from orchestrator.acts.caller import Caller
from orchestrator.acts.done import Done, Note
from orchestrator.acts.hosts import LABEL_SHAPE
from orchestrator.acts.remotes import check_remote, check_url, is_branch, refusal
from orchestrator.acts.trust import check_trust
from orchestrator.acts.verbs import act
from orchestrator.probes import repositories as probes
from orchestrator.words.repositories import explain_report, notices
from shared.contracts.complaints import unknown
from shared.domain.agent import RUNNERS
from shared.domain.errors import Rejected, Transient
from shared.domain.next_step import NextStep, ShellCommand
from shared.domain.target import Repository, RepositoryFault, RepositoryReport
from shared.guard import Guard, load_site
from shared.secrets.expansion import to_environment
from shared.store import hosts, repositories

NAME_SHAPE = r"[A-Za-z0-9](?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9_.-]{0,63}(?<!\.)"


@dataclass(frozen=True, slots=True)
class RepositoryCheck:
    """A repository and what git said about it; the report is None where there was no check."""

    repository: Repository
    report: RepositoryReport | None


@dataclass(frozen=True, slots=True)
class NamedRepository:
    """A repository by its name alone."""

    name: str


@act("repo.add")
def add(
    caller: Caller, repository: Repository, *, replaced: bool = False, check: bool = True
) -> Done[RepositoryCheck]:
    """Add a repository, once git on its host can read it; `replaced` lets it replace one.

    Raises Rejected for what cannot be used, for an unknown host and a name that is taken, and for a
    fault of the repository; Transient if it cannot be reached, and Misconfigured for its host.
    """
    _check_words(repository)
    _check_commands(caller, repository)
    with caller.database.begin() as connection:
        repositories.require_place(connection, repository, replace=replaced)
    report = _look(caller, repository) if check else None
    if report is not None and report.fault is not None:
        raise _error(repository, report)
    details = {"host": repository.host, "source": repository.source, "replaced": replaced}
    with caller.database.begin() as connection:
        repositories.save(connection, repository, replace=replaced)
        audit.record(connection, caller.actor, Act("repo.add", repository.name, details))
    return Done(RepositoryCheck(repository, report), notes=_notes(report))


@act("repo.check")
def check(caller: Caller, name: str) -> Done[RepositoryCheck]:
    """Ask git on its host about a repository. Raises Rejected, Transient and Misconfigured."""
    repository = show(caller, name)
    report = _look(caller, repository)
    with caller.database.begin() as connection:
        usable = report.fault is None
        audit.record(connection, caller.actor, Act("repo.check", name, {"usable": usable}))
    return Done(RepositoryCheck(repository, report), notes=_notes(report))


@act("repo.remove")
def remove(caller: Caller, name: str) -> Done[NamedRepository]:
    """Remove a repository; the work of its agents stays on its host, which is told.

    Raises Rejected while a run works in it.
    """
    with caller.database.begin() as connection:
        found = repositories.get(connection, name)
        used = repositories.was_used(connection, name)
        repositories.remove(connection, name)
        audit.record(connection, caller.actor, Act("repo.remove", name))
    return Done(NamedRepository(name), notes=_left_on_host(caller, found) if used else ())


@act("repo.list")
def list_repositories(caller: Caller) -> tuple[Repository, ...]:
    """Every repository, by name."""
    with caller.database.begin() as connection:
        return repositories.all_repositories(connection)


@act("repo.show")
def show(caller: Caller, name: str) -> Repository:
    """The repository of that name. Raises Rejected."""
    with caller.database.begin() as connection:
        return repositories.get(connection, name)


def _left_on_host(caller: Caller, repository: Repository) -> tuple[Note, ...]:
    folder = f"{caller.settings.server.workspaces}/{repository.name}"
    told = (
        f"its workspaces, and every tree that agents left, stay on {repository.host} in {folder}; "
        "once you need none of them, remove that folder there"
    )
    return (Note(told, ShellCommand(f"rm -rf {_word(folder)}")),)


def _word(folder: str) -> str:
    """The folder as a word of the shell, whose home may stand before it."""
    home, rest = ("~/", folder[2:]) if folder.startswith("~/") else ("", folder)
    return home + shlex.quote(rest)


def _look(caller: Caller, repository: Repository) -> RepositoryReport:
    with caller.database.begin() as connection:
        host = hosts.get(connection, repository.host)
        hosts.require_trusted(host)
        host = hosts.with_route(connection, host)
    return probes.check(host, repository)


def _error(repository: Repository, report: RepositoryReport) -> Rejected | Transient:
    reason, step = explain_report(repository, report)
    kind = Transient if report.fault is RepositoryFault.UNREACHABLE else Rejected
    return kind(reason, stage="repository", next_step=step)


def _notes(report: RepositoryReport | None) -> tuple[Note, ...]:
    return () if report is None else tuple(map(Note, notices(report)))


def _check_words(repository: Repository) -> None:
    """Raise Rejected for a name, a place or a word that cannot be used."""
    if not re.fullmatch(NAME_SHAPE, repository.name):
        raise refusal(
            f"{repository.name!r} is not a valid name of a repository: use up to 64 letters, "
            "digits, '_', '-' and '.', but not two dots in a row, one at the end, or '.lock' there"
        )
    if (repository.path is None) is (repository.url is None):
        raise refusal("a repository has either a path or a URL: give one of --path and --url")
    if repository.path is not None and not repository.path.startswith("/"):
        raise refusal(f"{repository.path!r} is not a path from the root: begin it with /")
    if repository.url is not None:
        check_url(repository.url)
    if repository.branch is not None and not is_branch(repository.branch):
        raise refusal(f"{repository.branch!r} is not a valid name of a branch")
    check_remote(repository)
    check_trust(repository)
    _check_lists(repository)


def _check_lists(repository: Repository) -> None:
    for label in repository.labels:
        if not re.fullmatch(LABEL_SHAPE, label):
            raise refusal(f"{label!r} is not a valid label: write it as env=test or as one word")
    for runner in repository.runners or ():
        if runner not in RUNNERS:
            raise refusal(f"the runner {runner!r} is {unknown(runner, RUNNERS)}")
    for pattern in repository.copied:
        parts = pattern.split("/")
        if not pattern.strip() or pattern.startswith(("/", "~")) or {"..", ".git"} & {*parts}:
            raise refusal(
                f"{pattern!r} is not a valid pattern of ignored files: write it from the folder of "
                "the repository, without '..' and '.git'"
            )


def _check_commands(caller: Caller, repository: Repository) -> None:
    """Raise Rejected for a setup command or a check that the guard of its host denies."""
    settings = caller.settings
    site = load_site(settings.server.guard_policy)
    guard = Guard(site.for_host(repository.host, settings.agent.forbidden_commands))
    for text in _commands(repository):
        if not text.strip():
            raise refusal("a command of the repository is empty: leave the option out")
        verdict = guard.judge(to_environment(text)[0])
        if verdict.denied:
            raise Rejected(
                f"{text!r} is forbidden and could never run: {verdict.reason} (rule "
                f"{verdict.rule})",
                stage="guard",
                next_step=NextStep.of("guard check", text),
            )


def _commands(repository: Repository) -> Iterable[str]:
    return (*(() if repository.setup is None else (repository.setup,)), *repository.checks)
