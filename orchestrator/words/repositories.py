"""What git says about a repository, in words."""

from collections.abc import Iterator

from orchestrator.words.quantities import count_of
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
