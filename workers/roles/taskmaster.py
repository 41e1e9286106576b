"""The taskmaster: improves the prompt before planning (S0.2, S0.18)."""

from shared.domain.facts import Fact, PromptRefined, QuestionAsked
from shared.domain.question import Question
from shared.store.database import Database
from workers.planning import PlanRequest
from workers.process.leases import Hold
from workers.roles.backends import Backends
from workers.store import task_brief


class Taskmaster:
    """Answers refinement jobs."""

    def __init__(self, database: Database, backends: Backends) -> None:
        self._database = database
        self._backends = backends

    def perform(self, hold: Hold) -> Fact:
        """The improved prompt, stored beside the original, or a question for a person."""
        with self._database.begin() as connection:
            task = task_brief(connection, hold.job.task_id)
        backend = self._backends.get(task.policy.taskmaster)
        request = PlanRequest(task.prompt, task.targets, task.policy, replies=task.replies)
        answer = backend.refine(request)
        if isinstance(answer, Question):
            return QuestionAsked(answer)
        return PromptRefined(answer)
