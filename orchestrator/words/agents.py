"""The work of an agent in words: who does it, within which limits, and what came of it."""

from collections.abc import Iterator

from orchestrator.views.agent_figures import BudgetSuggestion
from orchestrator.views.agents import AgentAttempt, AgentLine, CostSource
from orchestrator.words.quantities import count_of
from orchestrator.words.spending import amount
from shared.domain.agent import AgentWork, RunnerChoice, StuckStrategy, Trigger
from shared.domain.attempt import AgentResult, EndedBy
from shared.domain.spending import exact
from shared.domain.target import Repository, RepositoryNotice
from shared.domain.workspace import Notice, Why, WorkspaceRemarks

_TRIGGERS = {Trigger.ON_FAILURE: " if that fails", Trigger.ON_TIMEOUT: " if that takes too long"}
_STUCK = {
    StuckStrategy.NOTIFY: "a warning",
    StuckStrategy.KILL_AND_RETRY: "another try",
    StuckStrategy.NEXT_RUNNER: "the next runner",
}


def describe_work(work: AgentWork) -> Iterator[tuple[str, str]]:
    """Everything that belongs to the goal, as pairs of a name and a text."""
    yield "agent", ", then ".join(map(_runner, work.chain)) or "any that the repository allows"
    mode = "must not ask a person" if work.is_autonomous else "may ask a person"
    limits = f"{_span(work.time_budget)} an attempt"
    if work.cost_budget is not None:
        limits += f", ${exact(work.cost_budget)} in all"
    yield "limits", f"{limits}, {mode}"
    if work.allowed_tools is not None:
        yield "tools", ", ".join(work.allowed_tools) or "none"
    if work.context:
        yield "reads first", ", ".join(work.context)
    if work.acceptance:
        yield "accepted when", "; ".join(work.acceptance)
    watchdog = work.watchdog
    if watchdog.enabled:
        yield "when stuck", f"{_STUCK[watchdog.strategy]} after {_span(watchdog.check_interval)}"
    if work.is_autonomous and work.compliance.fail_on_violation:
        yield "protocol", "an attempt that breaks it fails"


def describe_agent(agent: AgentLine, *, looks: bool = False) -> str:
    """What an agent is, did and cost, on one line; one that only `looks` changes no file."""
    counted = agent.status is not None and not looks
    told = (
        _program(agent.runner, agent.version, agent.model),
        "" if agent.status is None else f"says {agent.status.value.replace('_', ' ')}",
        spent(agent),
        count_of(agent.changed_files, "changed file") if counted else "",
        f"stuck {count_of(agent.stuck, 'time')}" if agent.stuck else "",
    )
    return ", ".join(filter(None, told))


def describe_attempt(attempt: AgentAttempt) -> str:
    """What an agent did in an attempt, and who ended it, on one line."""
    ended = "" if attempt.ended_by is None else f"ended by {_ENDED_BY[attempt.ended_by]}"
    told = describe_agent(attempt.agent)
    kept = (f"session {attempt.agent.session}" if attempt.agent.session else "",)
    tree = (f"tree {attempt.agent.tree[:12]}" if attempt.agent.tree else "",)
    return ", ".join(filter(None, (told, ended, *kept, *tree)))


def spent(agent: AgentLine) -> str:
    """Its tokens and cost, and whose count that is."""
    cost = "cost unknown" if agent.cost is None else amount(agent.cost, estimated=agent.estimated)
    calls = (count_of(agent.calls, "call"),) if agent.calls else ()
    told = ", ".join((*calls, count_of(agent.tokens, "token"), cost))
    by_itself = agent.source is CostSource.RUNNER and agent.tokens
    return f"{told} by its own count" if by_itself else told


def describe_result(
    result: AgentResult, agent: AgentLine | None = None
) -> Iterator[tuple[str, str]]:
    """What an agent did, as pairs of a name and a text; without `agent`, what it says it cost."""
    program = _program(result.runner, result.version, result.model)
    if program:
        contained = "" if result.networks is None else f", contained, networks: {result.networks}"
        yield "agent", f"{program}{contained}"
    ended = "" if result.ended_by is None else f", ended by {_ENDED_BY[result.ended_by]}"
    yield "status", f"{result.status.value.replace('_', ' ')}{ended}"
    if result.summary:
        yield "summary", result.summary
    cost = "cost unknown" if result.cost is None else amount(float(result.cost))
    yield "spent", spent(agent) if agent else f"{count_of(result.tokens, 'token')}, {cost}"
    files = result.changed_files
    yield "changed", f"{count_of(len(files), 'file')}: {', '.join(files)}" if files else "no file"
    if result.steering:
        told = ", ".join(result.steering)
        yield "look first", f"{told}: what agents, CI or git do next follows these files"
    if result.tree:
        yield "tree", result.tree
    if result.session:
        yield "session", result.session
    if result.unpaid is not None:
        yield "could not pay", result.unpaid.reason
    if result.stuck:
        yield "stuck", f"found without progress {count_of(result.stuck, 'time')}"
    for violation in result.violations:
        yield "violation", f"{violation.rule.value} ({violation.severity}): {violation.details}"
    if result.question is not None:
        yield "asks", result.question.text
    yield from describe_remarks(result.workspace)


def describe_remarks(remarks: WorkspaceRemarks) -> Iterator[tuple[str, str]]:
    """What is worth knowing about a workspace, as pairs of a name and a text."""
    for notice in remarks.notices:
        yield "note", _notice(notice)
    if remarks.missing:
        yield "not there", f"{', '.join(remarks.missing)}: the repository has none to copy"
    for why in Why:
        paths = [each.path for each in remarks.left_out if each.why is why]
        if paths:
            yield "not kept", f"{', '.join(paths)}: {_LEFT_OUT[why]}"
    if remarks.more:
        yield "not kept", f"{remarks.more} more"


def _notice(notice: Notice) -> str:
    words = {
        RepositoryNotice.UNCOMMITTED: f"{count_of(notice.count, 'uncommitted file')}: only "
        "commits count",
        RepositoryNotice.BARE: "it is a bare repository: it has no ignored files to copy",
        RepositoryNotice.SHALLOW: "it is a shallow clone: the agent saw the end of its "
        "history only",
        RepositoryNotice.LFS: "it keeps files with Git LFS: the agent saw pointers in their place",
        RepositoryNotice.LINKS_OUT: f"symbolic links lead out of it: {', '.join(notice.names)}",
    }
    return words[notice.kind]


_LEFT_OUT = {
    Why.EMPTY: "an empty folder, which git cannot hold",
    Why.IGNORED: ".gitignore names it, so later steps do not find it",
    Why.LARGE_OR_UNREADABLE: "too large or unreadable, so later steps do not find it",
    Why.NESTED: "a repository of its own: its files are kept, its history is not",
    Why.HISTORY: "commits of the agent that are too large or cannot be read",
}
_ENDED_BY = {
    EndedBy.TIMEOUT: "its time limit",
    EndedBy.CANCEL: "a cancellation",
    EndedBy.OPERATOR: "a person",
    EndedBy.SPENDING: "its spending limit",
    EndedBy.WATCHDOG: "its watchdog",
}


def _program(runner: str, version: str, model: str) -> str:
    # A runner of the Agent Client Protocol says its name with its version.
    who = version if version.startswith(f"{runner} ") else " ".join(filter(None, (runner, version)))
    return who + (f" with {model}" if model else "")


def describe_suggestion(found: BudgetSuggestion) -> str:
    """A time budget that fits what was done before."""
    who = f" by {found.runner}" if found.runner else ""
    return (
        f"{_span(found.seconds)} for {found.kind or 'any work'}{who}, from "
        f"{count_of(found.attempts, 'attempt')} that succeeded"
    )


def describe_repository(repository: Repository) -> str:
    """Where it is."""
    branch = f", branch {repository.branch}" if repository.branch else ""
    return f"{repository.name} ({repository.source}{branch}) on {repository.host}"


def _runner(choice: RunnerChoice) -> str:
    limit = "" if choice.timeout is None else f" (at most {_span(choice.timeout)})"
    started = f" as `{choice.command}`" if choice.command else ""
    return f"{choice.name}{started}{limit}{_TRIGGERS[choice.trigger] if choice.trigger else ''}"


def _span(seconds: float) -> str:
    if seconds >= 60:  # noqa: PLR2004 - a minute
        return f"{seconds / 60:g} min"
    return f"{seconds:g} s"
