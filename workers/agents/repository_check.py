"""Checks a repository before anybody works in it, as a pass would find it, and keeps nothing."""

from shared.domain.errors import Transient
from shared.domain.repository_faults import branch_names
from shared.domain.target import Repository, RepositoryFault, RepositoryNotice, RepositoryReport
from shared.settings.server import WORKSPACES
from workers.agents.workspaces.notices import links_out, notices
from workers.agents.workspaces.script import Fields, parse, script, value, values
from workers.shells.ports import Call, Shell

CHECK_TIMEOUT = 45.0
"""Seconds for the whole check; git may have to reach another machine."""

MOST_BRANCHES = 20
"""How many branches are named."""

_REFUSED = 3


def check_repository(
    shell: Shell, repository: Repository, *, root: str = WORKSPACES
) -> RepositoryReport:
    """What git on the host says about the repository. Raises what `run` raises, and Transient."""
    call = ("check_source", repository.url or "", repository.branch or "")
    parts = ("source", "check")
    variables = {"most": MOST_BRANCHES, "remote": repository.remote}
    text = script(parts, repository, root, call, variables)
    result = shell.run(Call(text, CHECK_TIMEOUT))
    if result.exit_code not in {0, _REFUSED}:
        ending = f"no answer in {CHECK_TIMEOUT:.0f} s" if result.timed_out else "no answer"
        raise Transient(f"git on {repository.host} gave {ending}", stage="repository")
    return report_of(parse(result.stdout))


def report_of(fields: Fields) -> RepositoryReport:
    """The report in what the check has told."""
    found = notices(fields)
    counts = {each.kind: each.count for each in found}
    fault = value(fields, "error")
    return RepositoryReport(
        git=value(fields, "git") or None,
        branch=value(fields, "branch") or None,
        commit=value(fields, "commit") or None,
        branches=branch_names(values(fields, "branches")),
        uncommitted=counts.get(RepositoryNotice.UNCOMMITTED, 0),
        notices=tuple(each.kind for each in found),
        links_out=links_out(fields),
        fault=RepositoryFault(fault) if fault else None,
        detail=value(fields, "detail").strip(),
    )
