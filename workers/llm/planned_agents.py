"""What a model has planned with agents, held against what was offered to it."""

from collections.abc import Sequence
from dataclasses import replace

from shared.contracts.agent_steps import settle
from shared.contracts.answers import PlanAnswer
from shared.domain.agent import HOLDS_TOOLS, AgentWork, RunnerChoice, Watchdog
from shared.domain.author import Author
from shared.domain.errors import Rejected
from shared.domain.plan import Plan, Subtask
from shared.domain.work_before import require_rows
from workers.llm.review import AnswerFault, AnswerFaultKind
from workers.planning import AgentOffer, ReplanRequest


def planned(answer: PlanAnswer, author: Author, offer: AgentOffer) -> Plan:
    """The plan. Raises Rejected for steps that do not fit together or are nowhere."""
    plan = answer.plan(author, repositories=offer.names)
    require_rows(plan.steps, offer.targets, offer.names.__contains__)
    return plan


def replanned(answer: PlanAnswer, author: Author, request: ReplanRequest) -> Plan:
    """The new steps. Raises Rejected for those that do not fit to one another or to the rest."""
    offer = request.agents
    plan = answer.plan(author, repositories=offer.names)
    require_rows(
        request.run_with(plan.steps),
        offer.targets,
        offer.names.__contains__,
        known=max(request.phases),
    )
    return plan


def settle_agents(
    subtasks: Sequence[Subtask], offer: AgentOffer, before: Sequence[Subtask] = ()
) -> tuple[tuple[Subtask, ...], tuple[AnswerFault, ...]]:
    """The subtasks as agents can do them, and what is wrong with those that they cannot do.

    `before` are the subtasks that they replace, the newest first: the limits that the newest agent
    among them had hold for these, too.
    Without an offer, nothing is said of agents here: the review refuses them.
    """
    if not offer.runners:
        return tuple(subtasks), ()
    places = {place.name: place for place in offer.repositories}
    settled, faults = [], []
    for subtask in subtasks:
        try:
            settled.append(settle(_within_offer(subtask, offer, before), places))
        except Rejected as error:
            settled.append(subtask)
            faults.append(AnswerFault(AnswerFaultKind.UNUSABLE, error.reason))
    return tuple(settled), tuple(faults)


def _within_offer(subtask: Subtask, offer: AgentOffer, before: Sequence[Subtask]) -> Subtask:
    work = subtask.agent
    if work is None:
        return subtask
    known = {choice.name: choice for choice in offer.choices}
    for choice in work.chain:
        if choice.name not in offer.runners:
            raise Rejected(
                f"subtask {subtask.key!r} names the agent {choice.name!r}, which does not work in "
                f"this repository; those that do: {', '.join(offer.runners)}",
                stage="plan",
            )
    if any(choice.name in known for choice in work.chain):
        chain = tuple(_as_known(choice, known) for choice in work.chain)
        work = replace(work, runner=None, runners=chain)
    work = _limited(work, subtask.key, before)
    _require_tool_lists(work, subtask.key, offer)
    return replace(subtask, agent=work)


def _require_tool_lists(work: AgentWork, key: str, offer: AgentOffer) -> None:
    """Raise Rejected for a runner that cannot keep to the tools that a person has allowed."""
    if work.allowed_tools is None:
        return
    usual = (place.usual_runner for place in offer.repositories)
    runners = [choice.runner for choice in work.chain] or [each for each in usual if each]
    unfit = [runner for runner in runners if runner not in HOLDS_TOOLS]
    if unfit:
        raise Rejected(
            f"subtask {key!r} may use only the tools that a person has allowed, and {unfit[0]!r} "
            f"has no list of allowed tools; agents that have one: {', '.join(HOLDS_TOOLS)}",
            stage="plan",
        )


def _as_known(choice: RunnerChoice, known: dict[str, RunnerChoice]) -> RunnerChoice:
    """The choice with what its plan so far says of that runner."""
    if choice.name not in known:
        return choice
    return replace(known[choice.name], priority=choice.priority, trigger=None, timeout=None)


def _limited(work: AgentWork, key: str, before: Sequence[Subtask]) -> AgentWork:
    """The work within the limits that the newest agent of its key had, or else the newest one."""
    earlier = [s for s in before if s.agent is not None]
    model = next((s.agent for s in earlier if s.key == key), None)
    model = model or next((s.agent for s in earlier), None)
    if model is None:
        return work
    watchdog = work.watchdog if model.watchdog == Watchdog() else model.watchdog
    return replace(
        work,
        mode=model.mode,
        allowed_tools=model.allowed_tools,
        cost_budget=min(filter(None, (work.cost_budget, model.cost_budget)), default=None),
        watchdog=watchdog,
        compliance=model.compliance,
    )
