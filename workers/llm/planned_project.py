"""What a model has planned as a project, held against what was offered to it."""

from dataclasses import replace

from shared.contracts.project_answer import ProjectAnswer
from shared.domain.author import Author
from workers.llm.judged import Judged, Review, judged
from workers.llm.planned_agents import settle_agents
from workers.llm.review import AnswerFault, AnswerFaultKind
from workers.planning import PlanRequest, ProjectDraft


def planned_project(
    answer: ProjectAnswer, author: Author, request: PlanRequest, review: Review
) -> Judged[ProjectDraft]:
    """The project with its steps as agents can do them, and all that is wrong with it."""
    most = request.policy.max_delivery_attempts
    found = judged(lambda: ProjectDraft(answer.project(request.prompt, most), answer.plan(author)))
    if found.value is None:
        return found
    if answer.analysis is None:
        told = "the analysis is missing: say first what is there"
        return Judged(None, (AnswerFault(AnswerFaultKind.UNUSABLE, told),))
    steps, faults = [], []
    for step in found.value.plan.steps:
        subtasks, unfit = settle_agents(step.subtasks, request.agents)
        steps.append(replace(step, subtasks=subtasks))
        faults += [*unfit, *review(subtasks)]
    plan = replace(found.value.plan, steps=tuple(steps))
    return Judged(replace(found.value, plan=plan), tuple(dict.fromkeys(faults)))
