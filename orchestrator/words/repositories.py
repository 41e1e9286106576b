"""What git says about a repository, in words."""

from collections.abc import Iterator

from orchestrator.words.quantities import count_of
from shared.domain.agent import NEEDS_COMMAND
from shared.domain.containment import MISSING_WORDS, AgentContainment, Networks
from shared.domain.next_step import Advice
from shared.domain.repository_faults import explain_fault, first_of
from shared.domain.target import Repository, RepositoryFault, RepositoryNotice, RepositoryReport


def explain_report(repository: Repository, report: RepositoryReport) -> tuple[str, Advice]:
    """Why nobody can work in the repository, and what to type next. The report has a fault."""
    fault = report.fault or RepositoryFault.GIT
    return explain_fault(repository, fault, report.detail, report.branches)


def notices(report: RepositoryReport) -> Iterator[str]:
    """What one should know about a repository in which one can work all the same."""
    words = {
        RepositoryNotice.UNCOMMITTED: f"{count_of(report.uncommitted, 'uncommitted file')} there: "
        "only commits count, so agents do not see what is not committed",
        RepositoryNotice.BARE: "it is a bare repository: it has no ignored files to copy",
        RepositoryNotice.SHALLOW: "it is a shallow clone: agents see the end of its history only",
        RepositoryNotice.LFS: "it keeps files with Git LFS: agents see pointers in their place",
        RepositoryNotice.LINKS_OUT: "it has symbolic links that lead out of it, which agents can "
        f"follow: {first_of(chr(10).join(report.links_out))}",
    }
    return (words[each] for each in report.notices)


def describe_programs(repository: Repository, report: RepositoryReport) -> Iterator[str]:
    """The runners that its host has, and those that it names and its host does not have."""
    usable = [each for each in report.programs if repository.allows(each.runner)]
    listed = (
        " ".join(filter(None, (each.runner, each.version, f"({each.path})"))) for each in usable
    )
    yield f"agents on {repository.host}: {', '.join(listed) or 'none of those that replan knows'}"
    if report.agents is not None:
        yield describe_containment(repository.host, report.agents)
    there = {each.runner for each in usable}
    needed = [name for name in repository.runners or () if name not in NEEDS_COMMAND]
    if lacking := [name for name in needed if name not in there]:
        yield f"not installed on {repository.host}: {', '.join(lacking)}"


def describe_containment(host: str, found: AgentContainment) -> str:
    """Whether agents run contained on a host, what they reach, and what it lacks for more."""
    why = "" if found.missing is None else MISSING_WORDS[found.missing]
    why = f"{why} ({found.said})" if found.said else why
    if found.networks is None:
        return f"agents do not run contained on {host}: {why}"
    reach = f"reach {_REACH[found.networks]}"
    return f"agents run contained on {host}, and {reach}{f': {why}' if why else ''}"


_REACH = {
    Networks.ALL: "every network of their account",
    Networks.GATEWAY: "no network but the gateway",
}
