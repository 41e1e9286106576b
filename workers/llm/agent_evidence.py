"""What the evidence of a step says of the work of agents: as planned, and as it was done."""

from collections.abc import Iterator

from shared.domain.agent import AgentWork
from shared.domain.bundle import LoggedAgent

_MINUTE = 60.0
_MOST_FILES = 60


def describe_work(work: AgentWork) -> Iterator[str]:
    """What belongs to the goal of an agent, a line each."""
    runners = ", then ".join(choice.name for choice in work.chain)
    yield f"done by: {runners or 'any agent that the repository allows'}"
    if work.context:
        yield f"reads first: {', '.join(work.context)}"
    yield from (f"must hold: {text}" for text in work.acceptance)


def describe_agent(agent: LoggedAgent) -> Iterator[str]:
    """What an agent did, a line each."""
    cost = "unknown" if agent.cost is None else f"${agent.cost}"
    model = f" ({agent.model})" if agent.model else ""
    who = " ".join(filter(None, ("the agent", agent.runner)))
    yield f"done by {who}{model}, which says {agent.status}; {agent.tokens} tokens, cost {cost}"
    if agent.seconds is not None:
        budget = agent.time_budget
        of = "" if budget is None else f" of the {_minutes(budget)} that it had"
        ended = "" if agent.ended_by is None else f"; it was ended ({agent.ended_by})"
        yield f"it took {_minutes(agent.seconds)}{of}{ended}"
    if agent.stuck:
        yield f"its watchdog found it without progress: {agent.stuck}x"
    yield from (f"broke the rule {violation}" for violation in agent.violations)
    if agent.question:
        yield f"it asked: {agent.question}"
    yield f"files that differ now: {_files(agent.changed_files)}"
    if agent.tree is not None:
        yield f"its work is kept as tree {agent.tree}; the next attempt goes on from there"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _MINUTE else f"{seconds / _MINUTE:.0f} min"


def _files(names: tuple[str, ...]) -> str:
    left = len(names) - _MOST_FILES
    more = f" and {left} more" if left > 0 else ""
    return (", ".join(names[:_MOST_FILES]) + more) or "none"
