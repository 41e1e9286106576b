"""A person's answer to a question: checked against its options, posted where it was asked."""

from typing import TYPE_CHECKING

from orchestrator.cli.approving import too_late
from orchestrator.cli.invocation import Invocation
from orchestrator.cli.reply import Result
from orchestrator.cli.task_commands import outcome
from shared.domain.errors import Rejected
from shared.domain.facts import QuestionAnswered
from shared.domain.ids import Ref
from shared.domain.question import Question, chosen

if TYPE_CHECKING:  # the views bring SQLAlchemy along: `--help` is quick
    from orchestrator.views.interventions import InterventionView


def answer_question(call: Invocation, asked: "InterventionView", given: str | None) -> Result:
    """Answer what an intervention of kind `question` asks.

    Raises Rejected for no answer, for one that is no option, and when it was answered already.
    """
    from orchestrator.access.audit import Act
    from orchestrator.acts.posting import post
    from orchestrator.views.interventions import intervention

    if asked.closed_at is not None:
        raise too_late(asked)
    if given is None:
        raise Rejected(
            f"{asked.name} asks: {asked.reason}", stage="input", next_step_cmd=asked.next_step_cmd
        )
    question = Question(asked.reason, asked.options)
    answer = chosen(question, given, next_step_cmd=asked.next_step_cmd)
    ref = asked.ref
    run_id, fact = _fact(call, ref, asked, answer)
    act = Act("intervention.answer", str(asked.ref), {"intervention": asked.name})
    taken = post(call.database, [(ref.task, run_id, fact)], call.actor, act)
    with call.database.begin() as connection:
        after = intervention(connection, asked.name)
    if taken and after.answer != answer:
        raise too_late(after)
    details = {
        "ref": str(asked.ref),
        "phase": _phase(call, ref),
        "intervention": asked.name,
        "answer": answer,
    }
    return outcome("intervention.answer", details, taken=taken)


def _fact(
    call: Invocation, ref: Ref, asked: "InterventionView", answer: str
) -> tuple[int | None, QuestionAnswered]:
    """The fact, and the run that it is about; before there are runs it is the task's."""
    from orchestrator.views.places import require_step
    from orchestrator.views.steps import step_view

    fact = QuestionAnswered(ref.step, asked.reason, answer, asked.id, call.actor.name)
    if ref.target is None or ref.step is None:
        return None, fact
    with call.database.begin() as connection:
        place, _ = require_step(connection, ref)
        step = step_view(connection, ref).step
    at = QuestionAnswered(
        ref.step, asked.reason, answer, asked.id, call.actor.name, step.revision, step.pass_no
    )
    return place.run_id, at


def _phase(call: Invocation, ref: Ref) -> str:
    from orchestrator.views.steps import step_view
    from orchestrator.views.tasks import task_view

    with call.database.begin() as connection:
        if ref.target is None or ref.step is None:
            return task_view(connection, ref.of_task()).phase
        return step_view(connection, ref).step.phase
