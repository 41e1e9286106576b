"""The work of an agent in words: who does it, within which limits, and what came of it."""

from collections.abc import Iterator

from orchestrator.words.quantities import count_of
from shared.domain.agent import AgentWork, RunnerChoice, StuckStrategy, Trigger
from shared.domain.attempt import AgentResult
from shared.domain.target import Repository

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
    yield "limits", f"{_span(work.time_budget)} an attempt, {mode}"
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


def describe_result(result: AgentResult) -> Iterator[tuple[str, str]]:
    """What an agent did, as pairs of a name and a text."""
    who = " ".join(filter(None, (result.runner, result.version)))
    if who or result.model:
        yield "agent", who + (f" with {result.model}" if result.model else "")
    cost = "cost unknown" if result.cost is None else f"${result.cost:.4f}"
    yield "spent", f"{count_of(result.tokens, 'token')}, {cost}"
    yield "changed", ", ".join(result.changed_files) or "no file"
    if result.tree:
        yield "tree", result.tree
    if result.session:
        yield "session", result.session
    if result.stuck:
        yield "stuck", f"found without progress {count_of(result.stuck, 'time')}"
    for violation in result.violations:
        yield "violation", f"{violation.rule.value} ({violation.severity}): {violation.details}"
    if result.question is not None:
        yield "asks", result.question.text


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
