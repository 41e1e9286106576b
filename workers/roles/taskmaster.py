"""The taskmaster: improves the prompt before planning (S0.2, S0.18)."""

from shared.domain.facts import Fact, PromptRefined, QuestionAsked
from shared.domain.question import Question
from shared.store.database import Database
from workers.planning import PlanRequest
from workers.process.leases import Hold
from workers.roles.backends import Backends
from workers.roles.briefings import Briefings
from workers.store import task_brief


class Taskmaster:
    """Answers refinement jobs."""

    def __init__(self, database: Database, backends: Backends, briefings: Briefings) -> None:
        self._database = database
        self._backends = backends
        self._briefings = briefings

    def perform(self, hold: Hold) -> Fact:
        """The improved prompt, stored beside the original, or a question for a person."""
        with self._database.begin() as connection:
            task = task_brief(connection, hold.job.task_id)
        backend = self._backends.get(task.policy.taskmaster)
        briefing = self._briefings.of(task.targets, task_id=task.id, look=backend.uses_facts)
        request = PlanRequest(
            task.prompt,
            briefing.targets,
            task.policy,
            facts=briefing.facts,
            rules=briefing.rules,
            replies=task.replies,
        )
        answer = backend.refine(request)
        if isinstance(answer, Question):
            return QuestionAsked(answer)
        return PromptRefined(answer)
