"""What git says about a repository, in words."""

from collections.abc import Iterator

from orchestrator.words.quantities import count_of
from shared.domain.agent import NEEDS_COMMAND
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
    there = {each.runner for each in usable}
    needed = [name for name in repository.runners or () if name not in NEEDS_COMMAND]
    if lacking := [name for name in needed if name not in there]:
        yield f"not installed on {repository.host}: {', '.join(lacking)}"
