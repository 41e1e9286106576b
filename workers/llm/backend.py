"""The planning roles, played by a model."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from shared.contracts.answers import (
    AdviceAnswer,
    DetailAnswer,
    PlanAnswer,
    RefineAnswer,
    RevisionAnswer,
)
from shared.contracts.complaints import Document, told
from shared.contracts.schemas import schema_of
from shared.domain.errors import Rejected
from shared.domain.plan import Author, Plan, Role, Subtask
from shared.domain.question import Question as Asked
from workers.llm import prompts
from workers.llm.calls import Model, Question
from workers.llm.model import AnthropicModel, OnCall
from workers.llm.parsing import NotAnAnswer, object_in
from workers.llm.prompts import PromptTexts
from workers.llm.settings import LlmSettings
from workers.llm.texts import prompt_texts
from workers.ports import (
    DetailRequest,
    NotAsPlanned,
    PlanRequest,
    ReplanRequest,
    RetryAdvice,
    ReviseRequest,
    RevisionDraft,
)
from workers.repetition import refuse_repetition

BACKEND = "anthropic"

Answer = TypeVar("Answer", bound=Document)
Value = TypeVar("Value")


class AnthropicBackend:
    """Asks a model and lets only what is really a plan pass.

    An answer that cannot be used is sent back once with what is wrong about it. A second one ends
    in Rejected, and so does the model's own word that the task cannot or must not be done.
    """

    def __init__(
        self,
        model: Model,
        settings: LlmSettings | None = None,
        *,
        texts: PromptTexts | None = None,
    ) -> None:
        self._model = model
        self._settings = settings or LlmSettings()
        self._texts = texts or prompt_texts()

    def refine(self, request: PlanRequest) -> str | Asked:
        """The improved prompt (S0.2), or what only the person can say (S3.57)."""
        question = prompts.refine_question(
            self._texts,
            request,
            model=self._settings.model_for_refining(),
            schema=schema_of("refine-answer"),
        )
        return self._answered(
            question, RefineAnswer, lambda answer: answer.question or answer.prompt
        )

    def plan(self, request: PlanRequest) -> Plan:
        """The main steps, without subtasks (S0.26)."""
        question = prompts.plan_question(
            self._texts,
            request,
            model=self._settings.model_of(Role.PLANNER),
            schema=schema_of("plan-answer"),
        )
        author = Author(Role.PLANNER, BACKEND)
        return self._answered(question, PlanAnswer, lambda answer: answer.plan(author))

    def detail(self, request: DetailRequest) -> tuple[Subtask, ...]:
        """The subtasks of a step (S0.28)."""
        question = prompts.detail_question(
            self._texts,
            request,
            model=self._settings.model_of(Role.SUBTASK_PLANNER),
            schema=schema_of("detail-answer"),
        )
        return self._answered(question, DetailAnswer, lambda answer: answer.listed())

    def revise(self, request: ReviseRequest) -> RevisionDraft:
        """New subtasks from the evidence, by the model that planned the step (S0.54–S0.57)."""
        question = prompts.revise_question(
            self._texts,
            request,
            model=self._settings.model_of(request.step.author.role),
            schema=schema_of("revision-answer"),
            limit=self._settings.evidence_chars,
        )
        return self._answered(question, RevisionAnswer, lambda answer: _draft(answer, request))

    def replan(self, request: ReplanRequest) -> Plan:
        """Other steps, without subtasks, in the place of what remains of a plan."""
        question = prompts.replan_question(
            self._texts,
            request,
            model=self._settings.model_of(Role.PLANNER),
            schema=schema_of("plan-answer"),
            limit=self._settings.evidence_chars,
        )
        author = Author(Role.PLANNER, BACKEND)
        return self._answered(question, PlanAnswer, lambda answer: answer.plan(author))

    def advise(self, request: ReviseRequest) -> RetryAdvice:
        """Whether another try of the same subtasks is worth it (S1.35)."""
        question = prompts.advise_question(
            self._texts,
            request,
            model=self._settings.model_of(Role.SUBTASK_PLANNER),
            schema=schema_of("advice-answer"),
            limit=self._settings.evidence_chars,
        )
        return self._answered(
            question, AdviceAnswer, lambda a: RetryAdvice(a.retry, a.delay_seconds, a.reason)
        )

    def _answered(
        self, question: Question, kind: type[Answer], value: Callable[[Answer], Value]
    ) -> Value:
        text = self._model.ask(question).text
        try:
            return _read(text, question, kind, value)
        except _Unusable as error:
            repair = prompts.complaint(self._texts, str(error))
        second = self._model.ask(question.again(text, repair)).text
        try:
            return _read(second, question, kind, value)
        except _Unusable as error:
            raise Rejected(
                f"the model gave two answers that cannot be used; the second: {error}",
                stage=question.purpose,
                next_step_cmd=question.next_step_cmd,
            ) from error


class _Unusable(Exception):
    """What is wrong with an answer, in words for the model."""


def _read(
    text: str, question: Question, kind: type[Answer], value: Callable[[Answer], Value]
) -> Value:
    try:
        answer = kind.model_validate(object_in(text))
    except NotAnAnswer as error:
        raise _Unusable(str(error)) from error
    except ValidationError as error:
        raise _Unusable(told(error)) from error
    why_not = getattr(answer, "impossible", "").strip()
    if why_not:
        raise NotAsPlanned(
            f"the model says that it cannot be done: {why_not}",
            stage=question.purpose,
            next_step_cmd=question.next_step_cmd,
        )
    try:
        return value(answer)
    except Rejected as error:
        raise _Unusable(error.reason) from error


def _draft(answer: RevisionAnswer, request: ReviseRequest) -> RevisionDraft:
    draft = RevisionDraft(answer.listed(), answer.diagnosis, tuple(answer.rollback))
    refuse_repetition(draft.subtasks, draft.rollback, request.earlier)
    return draft


def anthropic_backend(
    settings: LlmSettings, *, on_call: OnCall | None = None, mask: Callable[[str], str] = str
) -> AnthropicBackend:
    """The backend on the real API; nothing is imported or connected before the first question.

    What is asked goes through `mask` first.
    """
    return AnthropicBackend(AnthropicModel(settings, on_call=on_call, mask=mask), settings)
